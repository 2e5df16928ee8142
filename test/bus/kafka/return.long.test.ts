import test from "ava";
import { pino } from "pino";

import { openKafkaBus } from "../../../src/bus/kafka/kafka.ts";
import type { Batch } from "../../../src/bus/bus.ts";
import { startKafka } from "../../../infra/engines/start.ts";
import { record } from "../../contract/bus.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { until } from "../../support/until.ts";

const real = realEngines ? test : test.skip;
/** Session timeout of a consumer: how long the broker keeps members that vanished. */
const SESSION_MS = 10_000;

real("a group resumes when its broker is back, before the sessions of its lost members expire", async (t) => {
  t.timeout(600_000);
  const engine = await startKafka();
  t.teardown(() => engine.stop());
  const options = { brokers: [engine.address], namespace: "return", partitions: 2, log: pino({ level: "silent" }) };
  await using bus = await openKafkaBus(options);
  await using other = await openKafkaBus(options);
  const seen = new Set<string>();
  const handle = async (batch: Batch) => {
    for (const { value } of batch.records) seen.add(value.toString());
    await batch.ack();
  };
  const group = { topic: "events", group: "pipeline", maxRecords: 100, maxBytes: 100_000 } as const;
  const members = [await bus.subscribe(group, handle), await other.subscribe(group, handle)];
  const isThere = async (text: string) => {
    await bus.append(
      "events",
      ["a", "b", "c", "d"].map((key) => record(key, `${text} ${key}`)),
      // The time is judged below.
      { deadline_ms: 60_000 },
    );
    await until(() => ["a", "b", "c", "d"].every((key) => seen.has(`${text} ${key}`)), { what: `all of ${text}` });
  };
  await isThere("before");
  await until(() => members.every((member) => member.fault() === null), { what: "both to have joined" });

  let late_ms = Infinity;
  // A busy machine may delay one return.
  for (let attempt = 1; attempt <= 3 && late_ms >= SESSION_MS / 2; attempt++) {
    await engine.kill();
    // Each consumer fails, and those created after it find no broker.
    await until(() => members.every((member) => member.fault() !== null), { what: "both consumers to end" });
    await engine.restart();
    const back_ms = performance.now();
    await isThere(`after ${attempt}`);
    late_ms = performance.now() - back_ms;
    await until(() => members.every((member) => member.fault() === null), { what: "readiness to say so" });
  }
  t.true(late_ms < SESSION_MS / 2, `went on after ${Math.round(late_ms)} ms`);
  t.log(`went on after ${Math.round(late_ms)} ms`);
});
