import test from "ava";
import { setImmediate as turn } from "node:timers/promises";
import { yieldToRequests, hurryUntil, underLoad, noteRequest } from "../../src/scheduling/cooperative.ts";
import { until } from "../support/until.ts";

// There is one pace in a process: these take turns.

/** Keeps the thread busy, for longer than a piece that goes on. */
function work(ms = 3): void {
  const end_ms = performance.now() + ms;
  while (performance.now() < end_ms);
}

/** Somebody else, who counts the turns that he is given. */
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

test.serial("others have their turn between two pieces", async (t) => {
  await using others = countTurns();
  for (let piece = 0; piece < 10; piece++) {
    const before = others.turns;
    await yieldToRequests();
    t.true(piece === 0 || others.turns > before, `before piece ${piece}`);
    work();
  }
});

test.serial("one piece is done in a turn, whoever has it to do", async (t) => {
  await using others = countTurns();
  const places: number[] = [];
  const doPieces = async () => {
    for (let piece = 0; piece < 5; piece++) {
      await yieldToRequests();
      places.push(others.turns);
      work();
    }
  };
  await Promise.all([doPieces(), doPieces()]);
  t.is(new Set(places).size, 10, places.join(", "));
});

test.serial("short steps share a piece", async (t) => {
  await using others = countTurns();
  let shared = 0;
  // One that the machine holds up is no short one.
  for (let attempt = 0; attempt < 100 && shared === 0; attempt++) {
    work();
    await yieldToRequests();
    const before = others.turns;
    for (let step = 0; step < 5; step++) await yieldToRequests();
    if (others.turns === before) shared += 1;
  }
  t.is(shared, 1);
});

test.serial("where a request has arrived, the next piece comes after twice as long as the last one took", async (t) => {
  await yieldToRequests();
  work(20);
  const ended_ms = performance.now();
  noteRequest();
  await yieldToRequests();
  // Timers are kept to the millisecond.
  t.true(performance.now() - ended_ms > 35);
});

test.serial("where somebody waits for the work itself, others have no more than a turn", async (t) => {
  await using others = countTurns();
  const waited = Promise.withResolvers<void>();
  hurryUntil(waited.promise);
  await yieldToRequests();
  work(50);
  noteRequest();
  const before = others.turns;
  await yieldToRequests();
  // In a tenth of a second there would be thousands.
  t.true(others.turns - before < 10);
  waited.resolve();
});

test.serial("it is crowded from a request on, until some time after a piece has found it", async (t) => {
  const isQuiet = async () => {
    await yieldToRequests();
    return !underLoad();
  };
  await until(isQuiet, { what: "a moment without requests" });
  noteRequest();
  t.true(underLoad());
  await until(isQuiet, { what: "a moment without requests, behind it" });
});
