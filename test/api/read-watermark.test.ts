import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { watchReadWatermark } from "../../src/api/read-watermark.ts";
import { openSqliteBus } from "../../src/bus/sqlite/sqlite.ts";
import { openSqliteDocuments } from "../../src/catalog/documents/sqlite.ts";
import { createSteadyClock } from "../../src/events/clock.ts";
import { acceptedAt } from "../../src/events/id.ts";
import { registerPosting, watermarkReader } from "../../src/start/watermarks.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const log = pino({ level: "silent" });
const ACCEPT_MS = 200;

test("the read watermark stops at an event that is not indexed yet, and moves on afterwards", async (t) => {
  const bus = await openSqliteBus({ file: join(temporaryFolder(t), "bus.sqlite"), log });
  t.teardown(() => bus[Symbol.asyncDispose]());
  const now = createSteadyClock();
  const readWatermark = watchReadWatermark({
    bus,
    group: "pipeline",
    now,
    log,
    accept_ms: ACCEPT_MS,
    settledBefore: async () => null,
    refresh_ms: 100,
    refresh: async () => {},
  });
  t.teardown(() => readWatermark[Symbol.asyncDispose]());
  const complete_ms = (): number => acceptedAt(readWatermark.current()) + ACCEPT_MS;
  const started_ms = Date.now();
  await until(() => complete_ms() > started_ms, { what: "the read watermark of an empty topic moves with the clock" });

  await bus.append("events", [{ key: "shop", value: Buffer.from("waits") }]);
  const appended_ms = Date.now();
  const limiter = Promise.withResolvers<void>();
  const subscription = await bus.subscribe(
    { topic: "events", group: "pipeline", maxRecords: 10, maxBytes: 1_000 },
    async (batch) => {
      await limiter.promise;
      await batch.ack();
    },
  );
  t.teardown(() => subscription.close());
  const before_ms = complete_ms();
  await until(() => Date.now() > appended_ms + 1_500, { what: "a second and a half has gone by" });
  t.true(complete_ms() <= appended_ms, `${complete_ms() - appended_ms} ms past an event that nobody has indexed`);
  t.true(complete_ms() >= before_ms);

  limiter.resolve();
  const released_ms = Date.now();
  await until(() => complete_ms() > released_ms, { what: "the read watermark passes what was indexed" });
});

/** Longer than any test waits. */
const FOR_EVER_MS = 24 * 3_600_000;

test("the read watermark moves up to the watermarks of the posting processes and no further", async (t) => {
  const bus = await openSqliteBus({ file: join(temporaryFolder(t), "bus.sqlite"), log });
  t.teardown(() => bus[Symbol.asyncDispose]());
  const documents = await openSqliteDocuments({ file: join(temporaryFolder(t), "posting.sqlite"), name: "posting" });
  t.teardown(() => documents[Symbol.asyncDispose]());
  const readWatermark = watchReadWatermark({
    bus,
    group: "pipeline",
    now: createSteadyClock(),
    log,
    accept_ms: 60_000,
    settledBefore: watermarkReader(documents),
    refresh_ms: 0,
    refresh: async () => {},
  });
  t.teardown(() => readWatermark[Symbol.asyncDispose]());
  const complete_ms = (): number => acceptedAt(readWatermark.current());
  const started_ms = Date.now();
  const first = await registerPosting(documents, { now: Date.now, log });
  first.follow(Date.now);
  await until(() => complete_ms() >= started_ms, { what: "one process says that all is on the bus" });

  const second = await registerPosting(documents, { now: Date.now, log });
  t.true(second.floor_ms >= started_ms, "its ids are beyond what readers may have passed");
  const unsettled_ms = Date.now();
  second.follow(() => unsettled_ms);
  await until(() => Date.now() > unsettled_ms + 1_000, { what: "a second has gone by" });
  t.true(
    complete_ms() <= unsettled_ms,
    `${complete_ms() - unsettled_ms} ms past an event that is on its way to the bus`,
  );

  await second.close();
  await until(() => complete_ms() > unsettled_ms, { what: "a process that has ended holds nobody" });
  await first.close();
  t.is(await watermarkReader(documents)(Date.now()), null);
});

test("an indexed event is visible after the next refresh that started later, and not before", async (t) => {
  const bus = await openSqliteBus({ file: join(temporaryFolder(t), "bus.sqlite"), log });
  t.teardown(() => bus[Symbol.asyncDispose]());
  const refreshes: PromiseWithResolvers<void>[] = [];
  const readWatermark = watchReadWatermark({
    bus,
    group: "pipeline",
    now: createSteadyClock(),
    log,
    accept_ms: 0,
    settledBefore: async () => null,
    refresh_ms: FOR_EVER_MS,
    refresh: () => {
      const refresh = Promise.withResolvers<void>();
      refreshes.push(refresh);
      return refresh.promise;
    },
  });
  t.teardown(() => readWatermark[Symbol.asyncDispose]());
  const none = readWatermark.current();
  await until(() => refreshes.length === 1, { what: "the first refresh" });
  const begun_ms = Date.now();
  t.is(readWatermark.current(), none);
  refreshes[0]!.resolve();
  await until(() => readWatermark.current() > none, { what: "what was indexed before the refresh is seen" });
  t.true(acceptedAt(readWatermark.current()) <= begun_ms, "and nothing that was indexed after it had begun");
  await until(() => refreshes.length === 2, { what: "the next refresh" });
  refreshes[1]!.reject(new Error("a shard failed"));
  await until(() => refreshes.length > 2, { what: "a refresh that failed is tried again" });
  t.true(acceptedAt(readWatermark.current()) <= begun_ms);
  for (const { resolve } of refreshes) resolve();
});
