import test from "ava";
import { pino } from "pino";

import type { EventId } from "../../../../src/events/id.ts";
import { KeyLog } from "../../../../src/ingest/idempotency/keys/key-log.ts";
import { encodeKeyRecord } from "../../../../src/ingest/idempotency/key-record.ts";
import { baseOfSummary } from "../../../../src/ingest/idempotency/keys/key-summary.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { until } from "../../../support/until.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

const log = pino({ level: "silent" });
const HOUR_MS = 3_600_000;

const claim = (number: number): Buffer => {
  const times = { created: 0, read_ms: 0, trusted_ms: 0 };
  const reservation = { first: number.toString(16).padStart(24, "0") as EventId, count: 1, hash: "", ...times };
  return encodeKeyRecord({ kind: "claim", hash: { high: number, low: 0 }, replaces: null, reservation });
};

test("a summary that is there is not written again, and a starting process writes those that are missing", async (t) => {
  const clock = { now_ms: 490_000 * HOUR_MS };
  const now = (): number => clock.now_ms;
  const journals = { keys: new MemoryJournal(now), index: new MemoryJournal(now) };
  for (let hour = 0; hour < 3; hour++) {
    await journals.keys.append([claim(2 * hour), claim(2 * hour + 1)]);
    clock.now_ms += HOUR_MS;
  }
  const open = (): KeyLog => {
    const keyLog = new KeyLog({ ...journals, scheduler: new Scheduler(), log, summaryWait_ms: 50 });
    t.teardown(() => keyLog[Symbol.asyncDispose]());
    return keyLog;
  };
  const bases = (): (number | null)[] => journals.index.records.map(({ value }) => baseOfSummary(value));
  const [one] = [open(), await open().loaded];
  await one.loaded;
  await until(() => bases().length >= 2, { what: "the summaries of the hours that are over" });
  await journals.keys.append([claim(6)]);
  await until(() => bases().includes(4), { what: "the summary of the last hour" });
  t.deepEqual([...new Set(bases())], [0, 2, 4]);
  const written = bases().length;
  const late = open();
  await late.loaded;
  t.is(late.counts().keys, 7);
  for (let number = 0; number < 7; number++) t.is(late.standing({ high: number, low: 0 }), number);
  t.is(bases().length, written);
});
