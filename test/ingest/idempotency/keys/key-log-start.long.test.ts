import test from "ava";
import { pino } from "pino";

import { openKafkaBus } from "../../../../src/bus/kafka/kafka.ts";
import type { EventId } from "../../../../src/events/id.ts";
import { KeyLog } from "../../../../src/ingest/idempotency/keys/key-log.ts";
import { encodeKeyRecord, hashOfName, nameOfText } from "../../../../src/ingest/idempotency/key-record.ts";
import { SEGMENT_OFFSETS } from "../../../../src/ingest/idempotency/keys/key-segment.ts";
import { realEngines } from "../../../support/engine-kinds.ts";
import { kafkaBrokers } from "../../../support/engines.ts";
import { uniqueName } from "../../../support/temporary.ts";
import { longestHold_ms } from "../../../support/turns.ts";
import { until } from "../../../support/until.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

const log = pino({ level: "silent" });
const KEYS = Number(process.env["KEYS"] ?? 1_000_000);
const CHUNK = 5_000;
const MB = 1024 * 1024;

const hashOf = (number: number) => hashOfName(nameOfText(`${number}`));

/** Records of claims and of their outcomes, as a process under load writes them. */
function* chunks(): Generator<Buffer[]> {
  for (let number = 0, offset = 0; number < KEYS; number += CHUNK, offset += CHUNK + 1) {
    const claims = Array.from({ length: CHUNK }, (_, i) => {
      const first = (number + i).toString(16).padStart(24, "0") as EventId;
      const times = { created: 0, read_ms: 0, trusted_ms: 0 };
      const reservation = { first, count: 1, hash: nameOfText("body"), ...times };
      return encodeKeyRecord({ kind: "claim", hash: hashOf(number + i), replaces: null, reservation });
    });
    const offsets = Array.from({ length: CHUNK }, (_, i) => offset + i);
    yield [...claims, encodeKeyRecord({ kind: "done", offsets })];
  }
}

/** Returns the offset of a claim. */
const offsetOf = (number: number): number => number + Math.floor(number / CHUNK);

(realEngines ? test : test.skip)(
  "a process that starts knows a million keys, in little memory and short steps",
  async (t) => {
    t.timeout(900_000);
    await using bus = await openKafkaBus({ brokers: kafkaBrokers(), namespace: uniqueName("keys"), log });
    const [keys, index] = [bus.journal!("keys"), bus.journal!("keys-index")];
    for (const chunk of chunks()) await keys.append(chunk, { deadline_ms: 60_000 });
    const start = async () => {
      const begun_ms = performance.now();
      const keyLog = new KeyLog({ keys, index, scheduler: new Scheduler(), log });
      t.teardown(() => keyLog[Symbol.asyncDispose]());
      const { longest_ms } = await longestHold_ms(() => keyLog.loaded);
      const { size_bytes, ...counts } = keyLog.counts();
      t.log({ took_ms: Math.round(performance.now() - begun_ms), longest_ms, size_mb: size_bytes / MB, ...counts });
      t.is(counts.keys, KEYS);
      t.is(counts.forgotten, 0);
      t.true(size_bytes <= 64 * MB);
      for (let number = 0; number < KEYS; number += 9_973) {
        t.is(keyLog.standing(hashOf(number)), offsetOf(number));
        t.is(await keyLog.outcome(offsetOf(number), 0), "done");
      }
      t.is(keyLog.standing(hashOf(KEYS)), null);
      return longest_ms;
    };
    await start();
    const segments = Math.floor(offsetOf(KEYS) / SEGMENT_OFFSETS);
    await until(async () => (await index.bounds()).end >= segments, { what: "the summaries", timeout_ms: 60_000 });
    const longest_ms = await start();
    // In processor time; a step reads a quarter of a megabyte, or one summary.
    t.true(longest_ms < 30, `a step took ${longest_ms} ms`);
  },
);
