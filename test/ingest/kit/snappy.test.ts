import test from "ava";
import fc from "fast-check";
import { compress, uncompress } from "snappyjs";

import { decompress } from "../../../src/ingest/kit/inflate.ts";
import * as snappy from "../../../src/ingest/kit/snappy.ts";
import { resultOf } from "../../support/steps.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const { sizeOfSnappy } = snappy;
const decompressSnappy = (block: Buffer): Buffer => resultOf(snappy.decompressSnappy(block));
const decompressFramedSnappy = (bytes: Buffer, most: number): Buffer =>
  resultOf(snappy.decompressFramedSnappy(bytes, most));

/** Texts that repeat at every distance and length, so that copies of all kinds occur. */
const repeating = fc
  .array(fc.tuple(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 300 })), { maxLength: 12 })
  .map((parts) => Buffer.concat(parts.flatMap(([bytes, times]) => Array.from({ length: times }, () => bytes))));

test("blocks of snappyjs are decompressed unchanged", (t) => {
  fc.assert(
    fc.property(repeating, (bytes) => {
      const block = Buffer.from(compress(bytes));
      t.is(sizeOfSnappy(block), bytes.length);
      t.true(decompressSnappy(block).equals(bytes));
    }),
    { numRuns: 300 },
  );
});

test("any bytes are decompressed as by snappyjs, or refused", (t) => {
  const theirs = (block: Buffer): Buffer | null => {
    try {
      return Buffer.from(uncompress(block));
    } catch {
      return null;
    }
  };
  fc.assert(
    fc.property(repeating, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }), (bytes, changes) => {
      const block = Buffer.from(compress(bytes.subarray(0, 5_000)));
      for (const [at, byte] of changes) block[at % block.length] = byte;
      let ours: Buffer;
      try {
        ours = decompressSnappy(block);
      } catch (error) {
        t.regex((error as Error).message, /not a valid snappy block/);
        return;
      }
      // snappyjs accepts some blocks that ours refuses, and never the other way round.
      const expected = theirs(block);
      if (expected !== null) t.true(ours.equals(expected));
    }),
    { numRuns: 500 },
  );
});

test("blocks that give a wrong size or copy from before their start are refused at once", (t) => {
  const refused = (...bytes: number[]) => t.throws(() => decompressSnappy(Buffer.from(bytes)), { message: /snappy/ });
  refused();
  refused(0x80);
  refused(0xff, 0xff, 0xff, 0xff, 0xff);
  refused(0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, 0x41);
  refused(0x04, 0x00);
  refused(0x02, 0x00, 0x41);
  refused(0x05, 0x01, 0x01);
  refused(0x05, 0x00, 0x41, 0x01, 0x00);
  refused(0x05, 0x00, 0x41, 0x01, 0x02);
  refused(0x01, 0xfc, 0xff, 0xff, 0xff, 0xff);
  t.is(decompressSnappy(Buffer.from([0x00])).length, 0);
  // A copy that overlaps its own output.
  t.is(decompressSnappy(Buffer.from([0x08, 0x00, 0x61, 0x0d, 0x01])).toString(), "aaaaaaaa");
});

/** A chunk of framed snappy. */
const chunk = (type: number, bytes: Uint8Array) =>
  Buffer.concat([Buffer.from([type, bytes.length & 0xff, (bytes.length >> 8) & 0xff, bytes.length >> 16]), bytes]);
const BEGIN = chunk(0xff, Buffer.from("sNaPpY"));
const SUM = Buffer.alloc(4);

test("framed snappy, which the Collector calls snappy, is decompressed unchanged", async (t) => {
  const scheduler = new Scheduler();
  const text = Buffer.from("0123456789".repeat(10_000));
  const framed = Buffer.concat([
    BEGIN,
    chunk(0x00, Buffer.concat([SUM, Buffer.from(compress(text.subarray(0, 65_536)))])),
    chunk(0xfe, Buffer.alloc(10)),
    BEGIN,
    chunk(0x80, Buffer.from("skipped")),
    chunk(0x01, Buffer.concat([SUM, text.subarray(65_536)])),
  ]);
  for (const encoding of ["snappy", "x-snappy-framed"]) {
    t.true((await decompress(framed, encoding, 1_000_000, { scheduler })).equals(text), encoding);
    await t.throwsAsync(decompress(framed, encoding, text.length - 1, { scheduler }), {
      message: /exceeds the limit of/,
    });
  }
  t.true((await decompress(Buffer.from(compress(text)), "snappy", 1_000_000, { scheduler })).equals(text));
  t.is((await decompress(BEGIN, "snappy", 1_000, { scheduler })).length, 0);
});

test("framed snappy that is truncated, of an unknown kind or too large is refused", (t) => {
  const good = chunk(0x00, Buffer.concat([SUM, Buffer.from(compress(Buffer.from("good")))]));
  const refused = (bytes: Buffer) =>
    t.throws(() => decompressFramedSnappy(Buffer.concat([BEGIN, bytes]), 1_000), {
      message: /not a valid snappy block/,
    });
  for (let end = 1; end < good.length; end++) refused(good.subarray(0, end));
  refused(chunk(0x02, Buffer.alloc(8)));
  refused(chunk(0x00, Buffer.alloc(3)));
  refused(chunk(0x00, SUM));
  const large = chunk(0x00, Buffer.concat([SUM, Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f])]));
  t.throws(() => decompressFramedSnappy(Buffer.concat([BEGIN, large]), 1_000), { instanceOf: RangeError });
});
