import test from "ava";
import * as fc from "fast-check";
import { randomBytes } from "node:crypto";

import { packValue, unpackedLength, unpackValue } from "../../../src/bus/sqlite/values.ts";

const MARKED = Buffer.from([0x00, 0x7a, 0x73, 0x74]);
const LINE = JSON.stringify({ id: "66361c9c000001b53f928e6e", text: "GET /orders answered 200", tags: ["http"] });

test("a value of any content and length is returned unchanged", (t) => {
  const part = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constant(Buffer.from(LINE)), fc.constant(MARKED));
  const values = fc
    .tuple(part, fc.nat(300))
    .map(([bytes, times]) => Buffer.concat(Array.from({ length: times }, () => bytes)));
  const marked = values.map((value) => Buffer.concat([MARKED, value]));
  const property = fc.property(fc.oneof(values, marked), (value) => {
    const packed = packValue(value);
    const unpacked = unpackValue(packed);
    return Buffer.from(unpacked).equals(value) && unpackedLength(packed) === value.length;
  });
  fc.assert(property, { numRuns: 1_000 });
  t.pass();
});

test("many events in one value are compressed; one event or random bytes do not grow", (t) => {
  const many = Buffer.from(Array.from({ length: 100 }, (_, i) => LINE.replace("200", String(i))).join("\n"));
  t.true(packValue(many).length < many.length / 5);
  for (const value of [Buffer.from(LINE), randomBytes(9_000)]) t.is(packValue(value), value);
});

test("a value that only looks compressed, or is damaged, is returned unchanged", (t) => {
  const packed = packValue(Buffer.from(LINE.repeat(200)));
  const wrongFrame = Buffer.from(packed);
  wrongFrame[20]! ^= 0xff;
  const wrongLength = Buffer.from(packed);
  wrongLength.writeUInt32LE(3_000_000_000, 4);
  for (const value of [
    Buffer.concat([MARKED, Buffer.from("without a frame")]),
    wrongFrame,
    wrongLength,
    packed.subarray(0, 30),
  ]) {
    t.deepEqual(unpackValue(value), value);
  }
});

test("a value has memory of its own, so that it can be transferred to another thread", (t) => {
  for (const times of [60, 2_000]) {
    const { buffer } = unpackValue(packValue(Buffer.from(LINE.repeat(times))));
    t.notThrows(() => structuredClone(buffer, { transfer: [buffer as ArrayBuffer] }));
    t.is(Buffer.from("still there").toString(), "still there");
  }
});
