import test from "ava";
import fc from "fast-check";

import type { EventId } from "../../../src/events/id.ts";
import {
  decodeKeyRecord,
  encodeKeyRecord,
  hashOfName,
  nameOfText,
  type KeyRecord,
} from "../../../src/ingest/idempotency/key-record.ts";
import { SealedSegment } from "../../../src/ingest/idempotency/keys/key-segment.ts";
import { baseOfSummary, decodeSummary, encodeSummary } from "../../../src/ingest/idempotency/keys/key-summary.ts";

const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const offset = fc.integer({ min: 0, max: 2 ** 52 });
const time = fc.integer({ min: 0, max: 2 ** 45 });
const record: fc.Arbitrary<KeyRecord> = fc.oneof(
  fc.record({
    kind: fc.constant("claim" as const),
    hash: fc.record({ high: word, low: word }),
    replaces: fc.option(offset),
    reservation: fc.record({
      first: fc.stringMatching(/^[0-9a-f]{24}$/).map((id) => id as EventId),
      created: time,
      count: word,
      read_ms: time,
      trusted_ms: time,
      hash: fc.string({ unit: "binary" }),
    }),
  }),
  fc.record({ kind: fc.constantFrom("done" as const, "void" as const), offsets: fc.array(offset) }),
);

test("records of the journal of keys are read as they were written", (t) => {
  fc.assert(fc.property(record, (written) => t.deepEqual(decodeKeyRecord(encodeKeyRecord(written)), written)));
});

test("any bytes are read as a record or as none", (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      decodeKeyRecord(Buffer.from(bytes));
      decodeSummary(Buffer.from(bytes));
      baseOfSummary(Buffer.from(bytes));
    }),
  );
  t.is(decodeKeyRecord(Buffer.from([9, 1, 2])), null);
  t.is(decodeSummary(Buffer.from("no summary")), null);
});

test("a key's hash is the beginning of its name", (t) => {
  const name = nameOfText("shop\none\nk");
  const { high, low } = hashOfName(name);
  t.is(
    Buffer.from(name, "base64url").toString("hex", 0, 8),
    [high, low].map((n) => n.toString(16).padStart(8, "0")).join(""),
  );
});

test("summaries are read as they were written", (t) => {
  const segment = new SealedSegment({
    base: 2 ** 40,
    end: 2 ** 40 + 20,
    hour: 490_000,
    highs: Uint32Array.of(1, 1, 7),
    lows: Uint32Array.of(2, 3, 2 ** 32 - 1),
    places: Uint16Array.of(19, 0, 5),
    done: Uint8Array.of(1, 2, 3),
  });
  const earlier = { done: [2 ** 40 - 1, 4], void: [0] };
  const value = encodeSummary({ segment, earlier });
  t.is(baseOfSummary(value), 2 ** 40);
  // As it lies in a fetched buffer, at an odd place.
  const fetched = Buffer.concat([Buffer.alloc(3), value]).subarray(3);
  const read = decodeSummary(fetched)!;
  t.deepEqual(read.segment.parts, segment.parts);
  t.deepEqual(read.earlier, earlier);
  t.is(decodeSummary(value.subarray(0, -1)), null);
});
