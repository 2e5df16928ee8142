import test from "ava";
import { setImmediate as turn } from "node:timers/promises";

import { runForCaller } from "../../src/caller-context.ts";
import { SearchSeats } from "../../src/elasticsearch/search-seats.ts";

const NODES = {
  nodes: {
    a: { roles: ["data_hot", "ingest"], thread_pool: { search: { size: 3 } } },
    b: { roles: ["master"], thread_pool: { search: { size: 7 } } },
    c: { roles: ["data"], thread_pool: { search: { size: "1" } } },
  },
};

async function seatsOf(answer: () => Promise<unknown>): Promise<SearchSeats> {
  const seats = new SearchSeats(answer);
  await runForCaller("eve", () => seats.run(() => Promise.resolve()));
  await turn();
  return seats;
}

/** Starts searches that end when told to, and counts those that run. */
function searchesOn(seats: SearchSeats) {
  const running: { readonly caller: string; readonly most: number | null; readonly end: () => void }[] = [];
  return {
    running,
    start: (caller: string, signal?: AbortSignal) =>
      runForCaller(caller, () =>
        seats.run((most) => new Promise<void>((end) => running.push({ caller, most, end })), signal),
      ),
  };
}

test("one caller leaves a search thread of the data nodes to others", async (t) => {
  const { running, start } = searchesOn(await seatsOf(() => Promise.resolve(NODES)));
  const searches = Array.from({ length: 8 }, () => start("ann"));
  await turn();
  t.is(running.length, 3);
  searches.push(start("bob"));
  await turn();
  t.deepEqual(
    running.map(({ caller, most }) => [caller, most]),
    [
      ["ann", 2],
      ["ann", 2],
      ["ann", 2],
      ["bob", 2],
    ],
  );
  for (let ended = 0; ended < searches.length; await turn())
    for (; ended < running.length; ended++) running[ended]!.end();
  await Promise.all(searches);
});

test("the wait for a thread ends with the time of the query", async (t) => {
  const { running, start } = searchesOn(await seatsOf(() => Promise.resolve(NODES)));
  const searches = Array.from({ length: 3 }, () => start("ann"));
  const over = new AbortController();
  const late = start("ann", over.signal);
  await turn();
  over.abort(new Error("the time is over"));
  await t.throwsAsync(late, { message: "the time is over" });
  running.forEach(({ end }) => end());
  await Promise.all(searches);
  t.is(running.length, 3);
});

test("searches of the service itself, and those of a cluster that tells nothing, do not wait", async (t) => {
  for (const answer of [() => Promise.resolve({}), () => Promise.reject(new Error("away"))]) {
    const { running, start } = searchesOn(await seatsOf(answer));
    const searches = Array.from({ length: 8 }, () => start("ann"));
    await turn();
    t.is(running.length, 8);
    running.forEach(({ end }) => end());
    await Promise.all(searches);
  }
  const seats = await seatsOf(() => Promise.resolve(NODES));
  let most: number | null | undefined;
  await seats.run((given) => Promise.resolve((most = given)));
  t.is(most, null);
});
