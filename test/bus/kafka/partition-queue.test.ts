import test from "ava";
import { pino } from "pino";

import type { NewRecord } from "../../../src/bus/bus.ts";
import { Append, PartitionQueue } from "../../../src/bus/kafka/partition-queue.ts";
import { LateAppend } from "../../../src/errors.ts";

const DEADLINE_MS = 20;

function recordOf(key: string): NewRecord {
  return { key, value: Buffer.from("an event") };
}

/** Queues records and returns the error of their append. */
function appended(queue: PartitionQueue, records: readonly NewRecord[]): Promise<unknown> {
  return new Promise((resolve) => {
    const append = new Append(records, DEADLINE_MS, () => resolve(null), resolve);
    for (const record of records) queue.push({ record, append });
  });
}

test("the error of an append that is late names the keys of which nothing was or will be sent", async (t) => {
  const released: string[] = [];
  const queue = new PartitionQueue({
    topic: "events",
    partition: 0,
    log: pino({ level: "silent" }),
    closing: new AbortController().signal,
    send: () => Promise.reject(new Error("nothing is sent here")),
    released: (items) => released.push(...items.map(({ record }) => record.key)),
  });
  const sent = appended(queue, [recordOf("a"), recordOf("b")]);
  t.is(queue.take().length, 2);
  const waiting = appended(queue, [recordOf("a"), recordOf("c")]);
  const [late, unsent] = await Promise.all([sent, waiting]);
  t.true(late instanceof LateAppend && late.unsent.size === 0);
  t.true(unsent instanceof LateAppend);
  t.deepEqual([...(unsent as LateAppend).unsent], ["a", "c"]);
  t.false(await (unsent as LateAppend).isStored);
  t.deepEqual(queue.take(), []);
  t.deepEqual(released, ["a", "c"]);
});
