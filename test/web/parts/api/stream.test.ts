import fc from "fast-check";
import test from "ava";

import { readEvents } from "../../../../src/web/parts/api/stream.ts";

/** A text as a stream of pieces that end anywhere, also within a character. */
function streamOf(text: string, sizes: readonly number[] = [1_000]): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  let piece = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const size = sizes[piece % sizes.length]!;
      piece += 1;
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
      return undefined;
    },
  });
}

async function eventsOf(text: string, sizes?: readonly number[]) {
  const events = [];
  for await (const event of readEvents(streamOf(text, sizes))) events.push(event);
  return events;
}

const TEXT =
  ': open\n\nid: a1\nevent: event\ndata: {"text":"größer\u2028 als"}\n\nevent:skipped\r\ndata:1\r\ndata: 2\r\n\r\nid: a2\n\ndata: x\n\n';
const EVENTS = [
  { id: "a1", event: "event", data: '{"text":"größer\u2028 als"}' },
  { id: "a1", event: "skipped", data: "1\n2" },
  { id: "a2", event: "message", data: "x" },
];

test("events of a stream are parsed as the standard says, without comments", async (t) => {
  t.deepEqual(await eventsOf(TEXT), EVENTS);
});

test("the events are the same, wherever the pieces of a stream end", async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }), async (sizes) => {
      t.deepEqual(await eventsOf(TEXT, sizes), EVENTS);
    }),
    { numRuns: 50 },
  );
});

test("an incomplete event is not dispatched", async (t) => {
  t.deepEqual(await eventsOf("data: whole\n\ndata: cut\n"), [{ id: "", event: "message", data: "whole" }]);
});
