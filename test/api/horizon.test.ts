import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { watchHorizon } from "../../src/api/horizon.ts";
import { openSqliteBus } from "../../src/bus/sqlite.ts";
import { createSteadyClock } from "../../src/events/clock.ts";
import { acceptedAt } from "../../src/events/id.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const log = pino({ level: "silent" });
const ACCEPT_MS = 200;

test("the horizon stands still while something on the bus is not indexed, and goes on once it is", async (t) => {
  const bus = await openSqliteBus({ file: join(temporaryFolder(t), "bus.sqlite"), log });
  t.teardown(() => bus[Symbol.asyncDispose]());
  const now = createSteadyClock();
  const horizon = watchHorizon({ bus, group: "pipeline", now, accept_ms: ACCEPT_MS, refresh_ms: 100, log });
  t.teardown(() => horizon[Symbol.asyncDispose]());
  const complete_ms = (): number => acceptedAt(horizon.current()) + ACCEPT_MS;
  const started_ms = Date.now();
  await until(() => complete_ms() > started_ms, { what: "the horizon of an empty topic moves with the clock" });

  await bus.append("events", [{ key: "shop", value: Buffer.from("waits") }]);
  const appended_ms = Date.now();
  const gate = Promise.withResolvers<void>();
  const subscription = await bus.subscribe(
    { topic: "events", group: "pipeline", maxRecords: 10, maxBytes: 1_000 },
    async (batch) => {
      await gate.promise;
      await batch.ack();
    },
  );
  t.teardown(() => subscription.close());
  const before_ms = complete_ms();
  await until(() => Date.now() > appended_ms + 1_500, { what: "a second and a half has gone by" });
  t.true(complete_ms() <= appended_ms, `${complete_ms() - appended_ms} ms past an event that nobody has indexed`);
  t.true(complete_ms() >= before_ms);

  gate.resolve();
  const released_ms = Date.now();
  await until(() => complete_ms() > released_ms, { what: "the horizon passes what was indexed" });
});
