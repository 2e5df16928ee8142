import test from "ava";
import { setImmediate as turn } from "node:timers/promises";
import { Scheduler } from "../../src/scheduling/scheduler.ts";
import { until } from "../support/until.ts";

// A process has one event loop, whose turns these tests count, so they run in sequence.

/** Blocks the thread for longer than one slice. */
function work(ms = 3): void {
  const end_ms = performance.now() + ms;
  while (performance.now() < end_ms);
}

/** Other work, which counts its turns. */
function countTurns(): AsyncDisposable & { readonly turns: number } {
  let turns = 0;
  const over = new AbortController();
  const counting = (async () => {
    for (; !over.signal.aborted; turns++) await turn();
  })();
  return {
    get turns() {
      return turns;
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      await counting;
    },
  };
}

test.serial("other work runs between two slices", async (t) => {
  const scheduler = new Scheduler();
  await using others = countTurns();
  for (let piece = 0; piece < 10; piece++) {
    const before = others.turns;
    await scheduler.yieldToRequests();
    t.true(piece === 0 || others.turns > before, `before piece ${piece}`);
    work();
  }
});

test.serial("one slice runs per turn, whoever owns it", async (t) => {
  const scheduler = new Scheduler();
  await using others = countTurns();
  const places: number[] = [];
  const doPieces = async () => {
    for (let piece = 0; piece < 5; piece++) {
      await scheduler.yieldToRequests();
      places.push(others.turns);
      work();
    }
  };
  await Promise.all([doPieces(), doPieces()]);
  t.is(new Set(places).size, 10, places.join(", "));
});

test.serial("short steps share a slice", async (t) => {
  const scheduler = new Scheduler();
  await using others = countTurns();
  let shared = 0;
  // A step that the machine delays is not short.
  for (let attempt = 0; attempt < 100 && shared === 0; attempt++) {
    work();
    await scheduler.yieldToRequests();
    const before = others.turns;
    for (let step = 0; step < 5; step++) await scheduler.yieldToRequests();
    if (others.turns === before) shared += 1;
  }
  t.is(shared, 1);
});

test.serial("after a request has arrived, the next slice starts after twice the time of the last one", async (t) => {
  const scheduler = new Scheduler();
  await scheduler.yieldToRequests();
  work(20);
  const ended_ms = performance.now();
  scheduler.noteRequest();
  await scheduler.yieldToRequests();
  // Timers are accurate to a millisecond.
  t.true(performance.now() - ended_ms > 35);
});

test.serial("if the work itself is awaited, other work gets no more than a turn", async (t) => {
  const scheduler = new Scheduler();
  await using others = countTurns();
  const waited = Promise.withResolvers<void>();
  scheduler.prioritizeUntil(waited.promise);
  await scheduler.yieldToRequests();
  work(50);
  scheduler.noteRequest();
  const before = others.turns;
  await scheduler.yieldToRequests();
  // In a tenth of a second there would be thousands.
  t.true(others.turns - before < 10);
  waited.resolve();
});

test.serial("the process is under load from a request until some time after a slice has noticed it", async (t) => {
  const scheduler = new Scheduler();
  const isQuiet = async () => {
    await scheduler.yieldToRequests();
    return !scheduler.isUnderLoad();
  };
  await until(isQuiet, { what: "a moment without requests" });
  scheduler.noteRequest();
  t.true(scheduler.isUnderLoad());
  await until(isQuiet, { what: "a moment without requests, behind it" });
});

test("a request concerns one scheduler only", (t) => {
  const [one, other] = [new Scheduler(), new Scheduler()];
  one.noteRequest();
  t.true(one.isUnderLoad());
  t.false(other.isUnderLoad());
});
