import test from "ava";

import { LiveRows } from "../../../../src/web/state/live/live-rows.ts";
import { Tail } from "../../../../src/web/state/live/tail.ts";
import type { StreamEvents, StreamStart } from "../../../../src/web/state/live/tail.ts";
import { liveText } from "../../../../src/web/features/live/text.ts";
import type { RowSource } from "../../../../src/web/parts/rows/row-source.ts";
import { rowOf, rowsOf } from "../../support/rows.ts";

type Opened = StreamEvents & { readonly start: StreamStart; isClosed: boolean };

/** A tail whose streams and clock a test drives. */
function driven() {
  const streams: Opened[] = [];
  const tasks: { task: () => void; delay_ms: number }[] = [];
  const rows = new LiveRows({ order: "desc", older: () => ({}) as RowSource });
  const tail = new Tail({
    rows,
    isFinal: (fault) => fault === "gone",
    now: () => 0,
    open: (start, events) => {
      const stream = { ...events, start, isClosed: false };
      streams.push(stream);
      return () => {
        stream.isClosed = true;
      };
    },
    later: (task, delay_ms) => {
      const planned = { task, delay_ms };
      tasks.push(planned);
      return () => {
        if (tasks.includes(planned)) tasks.splice(tasks.indexOf(planned), 1);
      };
    },
  });
  const pass = (): number[] => tasks.splice(0).map(({ task, delay_ms }) => (task(), delay_ms));
  return { tail, rows, streams, pass };
}

test("rows are added in batches, and listeners are called for each batch", (t) => {
  const { tail, rows, streams, pass } = driven();
  t.deepEqual(streams[0]!.start, { last: 500 });
  streams[0]!.opened();
  streams[0]!.event(rowOf(1));
  streams[0]!.event(rowOf(2, { class: "error" }));
  t.is(rows.length.peek(), 0);
  t.deepEqual(pass(), [250]);
  t.is(rows.length.peek(), 2);
  t.deepEqual(tail.arrived.peek(), [
    { created: rowOf(1).created, class: null },
    { created: rowOf(2).created, class: "error" },
  ]);
});

test("a stream that ends is reopened after the last event, with growing delays", (t) => {
  const { tail, streams, pass } = driven();
  streams[0]!.event(rowOf(7));
  streams[0]!.ended(null);
  t.like(tail.connection.peek(), { kind: "waiting", at_ms: 1_000 });
  pass();
  t.deepEqual(streams[1]!.start, { after: rowOf(7).id });
  streams[1]!.ended(new Error("away"));
  t.deepEqual(pass(), [2_000]);
  streams[2]!.ended(new Error("away"));
  t.deepEqual(pass(), [4_000]);
  streams[3]!.event(rowOf(8));
  streams[3]!.ended(null);
  t.like(tail.connection.peek(), { kind: "waiting", at_ms: 1_000 }, "an event is a sign of health");
});

test("a delay requested by the service is kept, and the reader may retry at once", (t) => {
  const { tail, streams, pass } = driven();
  streams[0]!.ended({ retryAfter_s: 9 });
  t.like(tail.connection.peek(), { kind: "waiting", at_ms: 9_000 });
  tail.connect();
  t.is(streams.length, 2);
  pass();
  t.is(streams.length, 2, "the try that was planned is gone");
});

test("a log that is gone is not requested again", (t) => {
  const { tail, streams, pass } = driven();
  streams[0]!.ended("gone");
  t.is(tail.connection.peek().kind, "refused");
  t.deepEqual(pass(), []);
});

test("a pause keeps its first reason and the events that arrived before it", (t) => {
  const { tail, rows, streams } = driven();
  streams[0]!.event(rowOf(1));
  tail.hold("selected");
  tail.hold("scrolled");
  t.is(tail.pause.peek(), "selected");
  t.is(rows.length.peek(), 1);
  streams[0]!.event(rowOf(2));
  tail.resume();
  t.is(rows.length.peek(), 2);
  t.is(tail.pause.peek(), null);
});

test("skipped events are a gap, which a stream of its own fills", async (t) => {
  const { tail, rows, streams, pass } = driven();
  streams[0]!.event(rowOf(1));
  streams[0]!.skipped(2);
  streams[0]!.event(rowOf(4));
  pass();
  const [gap] = rows.skipped.peek();
  t.deepEqual(gap, { after: rowOf(1).id, before: rowOf(4).id, count: 2 });
  const filled = tail.fill(gap!);
  t.deepEqual(streams[1]!.start, { after: rowOf(1).id });
  for (const row of rowsOf(2, 5)) streams[1]!.event(row);
  await filled;
  t.true(streams[1]!.isClosed);
  t.deepEqual(
    Array.from({ length: 4 }, (_, index) => rows.idAt(index)),
    rowsOf(1, 5)
      .map(({ id }) => id)
      .toReversed(),
  );
});

test("a stopped tail opens no more streams", (t) => {
  const { tail, streams, pass } = driven();
  streams[0]!.event(rowOf(1));
  tail.stop();
  streams[0]!.ended(null);
  tail.connect();
  pass();
  t.true(streams[0]!.isClosed);
  t.is(streams.length, 1);
});

test("the bar shows the state of the tail and of new events", (t) => {
  const said = { connection: { kind: "open" } as const, pause: null, waiting: 0, now_ms: 0, explain: String };
  t.is(liveText(said).title, "Live");
  t.deepEqual(liveText({ ...said, pause: "selected", waiting: 1_251 }), {
    dot: "paused",
    title: "Paused, 1,251 new",
    note: "You selected text. Nothing moves until you resume, and nothing is lost.",
  });
  const waiting = { kind: "waiting", at_ms: 7_500, fault: null } as const;
  t.is(
    liveText({ ...said, connection: waiting, now_ms: 100 }).note,
    "The connection ended. Trying again in 8 s; nothing is lost.",
  );
});
