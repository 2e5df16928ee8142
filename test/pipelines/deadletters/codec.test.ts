import { randomBytes } from "node:crypto";
import test from "ava";
import type { BusRecord } from "../../../src/bus/bus.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { decodeRecord, encodeRecord } from "../../../src/events/record.ts";
import { decodeLetter, encodeLetters, deadLetterRecord } from "../../../pipelines/deadletters/codec.ts";
import type { DeadLetter } from "../../../pipelines/deadletters/codec.ts";

const SHOP = parseLogKey("shop")!;

function record(value: Buffer): BusRecord {
  return { key: "shop", value, position: { topic: "events", partition: 2, offset: 17 }, appended: 0 };
}

function letters(value: Buffer, line: number, reason = "why"): [DeadLetter, ...DeadLetter[]] {
  const encoded = encodeLetters([{ record: record(value), line, reason }], "index", 123);
  return encoded.map((letter) => decodeLetter(letter.value)!) as [DeadLetter, ...DeadLetter[]];
}

test("a dead letter contains what failed, its origin and the reason", (t) => {
  const [letter, ...others] = letters(encodeRecord(SHOP, ["one", "two", "three"]), 2, "no event");
  t.deepEqual(others, []);
  t.like(letter, { time: 123, stage: "index", reason: "no event", key: "shop", part: 1, parts: 1 });
  t.deepEqual(letter.origin, { topic: "events", partition: 2, offset: 17, line: 2 });
});

test("a line is redriven as a record of its own", (t) => {
  const value = encodeRecord(SHOP, ["one", "two", "three"]);
  for (const [i, line] of ["one", "two", "three"].entries()) {
    t.deepEqual(deadLetterRecord(letters(value, i + 1)), { key: "shop", value: encodeRecord(SHOP, [line]) });
  }
});

test("a dead letter is readable JSON if its content is text", (t) => {
  const [letter] = encodeLetters(
    [{ record: record(encodeRecord(SHOP, ["zwölf"])), line: 1, reason: "x" }],
    "decode",
    1,
  );
  t.like(JSON.parse(letter!.value.toString()), { v: 1, encoding: "utf8", content: '{"v":1,"log":"shop"}\nzwölf' });
});

test("binary content is restored unchanged", (t) => {
  for (const value of [Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0x80]), Buffer.alloc(0), Buffer.alloc(5_000, 1)]) {
    t.deepEqual(deadLetterRecord(letters(value, 0)).value, value);
  }
  const bad = Buffer.concat([encodeRecord(SHOP, ["a", ""]), Buffer.from([0xff, 0x80])]);
  t.deepEqual(
    deadLetterRecord(letters(bad, 2)).value,
    Buffer.concat([encodeRecord(SHOP, [""]), Buffer.from([0xff, 0x80])]),
  );
});

test("content too large for one record is split over several, whatever it contains", (t) => {
  for (const value of [randomBytes(1_000_000), Buffer.alloc(1_000_000, 0), Buffer.from('"'.repeat(1_000_000))]) {
    const parts = letters(value, 0, "r".repeat(100_000));
    t.is(parts.length, 4);
    t.deepEqual(
      parts.map(({ part, parts }) => [part, parts]),
      [
        [1, 4],
        [2, 4],
        [3, 4],
        [4, 4],
      ],
    );
    t.true(deadLetterRecord([parts[3]!, parts[0], parts[2]!, parts[1]!]).value.equals(value));
    for (const { value: letter } of encodeLetters(
      [{ record: record(value), line: 0, reason: "r".repeat(100_000) }],
      "decode",
      1,
    )) {
      t.true(letter.length < 400_000, `${letter.length} bytes`);
    }
  }
});

test("many failures of one record cost only their number", (t) => {
  const value = encodeRecord(
    SHOP,
    Array.from({ length: 20_000 }, (_, i) => `broken ${i}`),
  );
  const whole = record(value);
  const failures = Array.from({ length: 20_000 }, (_, i) => ({ record: whole, line: i + 1, reason: "x" }));
  const encoded = encodeLetters(failures, "decode", 1);
  const line = decodeRecord(decodeLetter(encoded[19_999]!.value)!.content)[0]!;
  t.is(line.kind === "broken" ? line.line : null, "broken 19999");
});

test("a malformed dead letter is ignored", (t) => {
  for (const text of ["", "null", "[]", "{}", '{"v":2,"content":"","encoding":"utf8"}'])
    t.is(decodeLetter(Buffer.from(text)), null);
});
