import { signal } from "@preact/signals";
import test from "ava";

import { LiveCounts } from "../../../../src/web/state/live/live-counts.ts";
import type { Arrival, Pause } from "../../../../src/web/state/live/tail.ts";
import type { Run } from "../../../../src/web/state/search.ts";

const FROM = 1_000_000;

function runOf(query: string): Run {
  const common = { number: 1, log: "shop", hidden: [], zone: "UTC", order: "desc" as const };
  const moments = { from: FROM, to: FROM + 500_000 };
  return { ...common, typed: query, query, moments, signal: new AbortController().signal, reading: signal(0) };
}

/** Counts whose tail, clock and reader a test drives. */
function driven(query = "GET events") {
  const run = runOf(query);
  const tail = { arrived: signal<readonly Arrival[]>([]), pause: signal<Pause | null>(null) };
  const state = { now_ms: FROM + 600_000, isInUse: false };
  const tasks: (() => void)[] = [];
  const counts = new LiveCounts({
    run,
    tail,
    isInUse: () => state.isInUse,
    now: () => state.now_ms,
    later: (task) => {
      tasks.push(task);
      return () => void tasks.splice(tasks.indexOf(task), 1);
    },
  });
  const arrive = (created = state.now_ms) => (tail.arrived.value = [{ created, class: null }]);
  const look = (passed_ms = 0) => {
    state.now_ms += passed_ms;
    for (const task of tasks.splice(0)) task();
    return counts.run.peek();
  };
  /** Simulates a read of the counts by the heading, the bars and the fields. */
  const read = (took_ms: number) => {
    const { reading } = counts.run.peek();
    reading.value = 1;
    state.now_ms += took_ms;
    reading.value = 0;
  };
  return { run, tail, state, counts, tasks, arrive, look, read };
}

test("new events are counted from the start of the tail up to now", (t) => {
  const { run, counts, state, arrive } = driven();
  t.is(counts.run.peek(), run);
  arrive();
  const counted = counts.run.peek();
  t.deepEqual(counted.moments, { from: FROM, to: state.now_ms + 1 });
  t.not(counted.reading, run.reading);
  t.is(counted.number, run.number);
});

test("an event whose producer's clock is ahead is counted too", (t) => {
  const { counts, state, arrive } = driven();
  arrive(state.now_ms + 90_000);
  t.is(counts.run.peek().moments.to, state.now_ms + 90_001);
});

test("a range, an order and a limit in the query do not apply to a tail", (t) => {
  const { counts } = driven("GET events WHERE text = 'a' OCCURS(TODAY) SORT created ASC SKIP 3 TAKE 5");
  t.is(counts.run.peek().query, "GET events WHERE text = 'a'");
});

test("counts are read again after 5 s, or after 4 times a long read", (t) => {
  const { arrive, look, read } = driven();
  arrive();
  const first = look();
  read(200);
  arrive();
  t.is(look(4_900), first);
  const second = look(200);
  t.not(second, first);
  read(3_000);
  arrive();
  t.is(look(11_900), second);
  t.not(look(200), second);
});

test("counts are not read during the last read", (t) => {
  const { arrive, look, counts } = driven();
  arrive();
  const first = counts.run.peek();
  first.reading.value = 2;
  arrive();
  t.is(look(30_000), first);
  first.reading.value = 0;
  t.is(look(119_000), first);
  t.not(look(2_000), first);
});

test("counts are not read without new events", (t) => {
  const { arrive, look, counts, read, tasks } = driven();
  arrive();
  const first = counts.run.peek();
  read(10);
  t.is(look(60_000), first);
  t.is(tasks.length, 0);
});

test("counts are frozen while the reader uses them, and follow afterwards", (t) => {
  const { run, state, arrive, look } = driven();
  state.isInUse = true;
  arrive();
  t.is(look(60_000), run);
  state.isInUse = false;
  t.not(look(500), run);
});

test("counts are frozen with the list while the tail is paused, and follow when it continues", (t) => {
  const { run, tail, arrive, look, counts } = driven();
  tail.pause.value = "opened";
  arrive();
  t.is(look(60_000), run);
  tail.pause.value = null;
  t.not(counts.run.peek(), run);
});

test("counts are not read after the tail has ended", (t) => {
  const { run, counts, state, arrive, look } = driven();
  state.isInUse = true;
  arrive();
  counts.stop();
  state.isInUse = false;
  arrive();
  t.is(look(60_000), run);
});

test("frozen counts say so as long as there is more to count", (t) => {
  const { arrive, look, state, counts } = driven();
  state.isInUse = true;
  t.false(counts.isHeld.peek());
  arrive();
  t.true(counts.isHeld.peek());
  state.isInUse = false;
  look(500);
  t.false(counts.isHeld.peek());
  state.isInUse = true;
  arrive();
  // Within 5 s nothing would be counted anyway.
  t.false(counts.isHeld.peek());
});
