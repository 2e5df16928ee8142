import test from "ava";

import { Frames } from "../../../src/ingest/listeners/frames.ts";
import type { FrameOptions } from "../../../src/ingest/listeners/frames.ts";
import { bestOf_ms, busy_ms } from "../../support/turns.ts";

const OPTIONS: FrameOptions = { most_bytes: 100, nulOnly: false, counted: true };

/** Returns the frames of a stream received in pieces of this many bytes. */
function framesOf(given: string | Buffer, size: number, options: FrameOptions = OPTIONS): [string, boolean][] {
  const frames = new Frames(options);
  const bytes = Buffer.from(given as string);
  const found: [string, boolean][] = [];
  for (let at = 0; at < bytes.length; at += size) {
    for (const { bytes: one, isCut } of frames.push(bytes.subarray(at, at + size))) found.push([String(one), isCut]);
  }
  for (const { bytes: one, isCut } of frames.end()) found.push([String(one), isCut]);
  return found;
}

const whole = (...texts: string[]): [string, boolean][] => texts.map((text) => [text, false]);

test("lines end with LF, CRLF or NUL, and counted frames by length, mixed and in any pieces", (t) => {
  const stream = "<1>a\n<2>b\r\n\n\n7 <3>c\nd\n<4>e\u00002 <5<6>f\n12 lines\n7 \nlast";
  const expected = whole("<1>a", "<2>b", "<3>c\nd", "<4>e", "<5", "<6>f", "12 lines", "7 ", "last");
  for (let size = 1; size <= stream.length; size++) t.deepEqual(framesOf(stream, size), expected, `by ${size}`);
});

test("only digits, a space and < are a length prefix", (t) => {
  for (const line of ["5", "5 ", "12 monkeys", "12a <x", " 3 <a>", "12345678901 <x", "0 <x", "-3 <a>", "3  <a>"]) {
    t.deepEqual(framesOf(`${line}\n`, 3), whole(line), line);
  }
});

test("a client that ends messages with NUL may send line breaks in them", (t) => {
  t.deepEqual(framesOf("<1>a\nb\0<2>c\n\0", 100), whole("<1>a\nb", "<2>c"));
  // Markup within a message, and a read that ends within the second one.
  t.deepEqual(framesOf("<1>a\n<p>\n<1 b\0<2>c\n<d>\0", 100), whole("<1>a\n<p>\n<1 b", "<2>c\n<d>"));
  t.deepEqual(framesOf("<1>a\nb\0<2>c\nd\0", 12), whole("<1>a\nb", "<2>c\nd"));
  t.deepEqual(framesOf("<1>a\0b\n<2>c\n", 100), whole("<1>a", "b", "<2>c"));
  t.deepEqual(framesOf("<1>a\0<2>b\n<3>c\n", 100), whole("<1>a", "<2>b", "<3>c"));
});

test("a frame above the limit is truncated, and the next one is complete", (t) => {
  const long = "x".repeat(250);
  for (let size = 1; size <= 300; size += 7) {
    const lines = framesOf(`${long}\nafter\n`, size);
    t.deepEqual(lines, [["x".repeat(100), true], ...whole("after")], `a line by ${size}`);
    const counted = framesOf(`251 <${long}5 <next`, size);
    t.deepEqual(counted, [[`<${"x".repeat(99)}`, true], ...whole("<next")], `counted, by ${size}`);
  }
});

test("an endless frame takes bounded memory and time", async (t) => {
  const one = Buffer.from("x");
  const took_ms = await bestOf_ms(5_000, () => {
    const frames = new Frames({ ...OPTIONS, most_bytes: 64 * 1024 });
    const piece = Buffer.from("9999999999 <");
    let count = 0;
    for (const _ of frames.push(piece)) count += 1;
    const began_ms = busy_ms();
    for (let i = 0; i < 300_000; i++) for (const _ of frames.push(one)) count += 1;
    const took_ms = busy_ms() - began_ms;
    t.is(count, 1);
    t.true(frames.hasPartialFrame);
    return took_ms;
  });
  t.true(took_ms < 5_000, `${took_ms} ms`);
});
