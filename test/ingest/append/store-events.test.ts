import test from "ava";

import { ClientGone } from "../../../src/errors.ts";
import { HOST_CLOCK } from "../../../src/events/clock.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { type EventId, firstIdAt } from "../../../src/events/id.ts";
import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import type { ReadEvent } from "../../../src/ingest/kit/endpoint.ts";
import { PENDING } from "../../../src/ingest/kit/steps.ts";
import { RecentIds } from "../../../src/ingest/append/recent-ids.ts";
import { storeEvents } from "../../../src/ingest/append/store-events.ts";
import { FairTurns } from "../../../src/scheduling/fair-turns.ts";
import { until } from "../../support/until.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const LARGE = 1024 * 1024;
const producer = { log: parseLogKey("a")!, owner: "ann", apiKey: "", tags: [], sent_bytes: 10_000, repeat: null };
const accepted = () => ({ status: 200, type: null, body: "" });

function optionsOf(store: () => EventId) {
  return {
    coalescer: { submitLines: () => Promise.resolve(store()) },
    idempotency: { post: () => Promise.reject(new Error("not asked for")) },
    recent: new RecentIds(),
    limits: DEFAULT_LIMITS,
    clock: HOST_CLOCK,
    memory: { turns: new FairTurns() },
    scheduler: new Scheduler(),
  };
}

test("once its client has left, a large body is decoded no further, and the next one's turn comes", async (t) => {
  let stored = 0;
  const options = optionsOf(() => firstIdAt((stored += 1)));
  const left = new AbortController();
  let decoded = 0;
  function* endless(): Generator<ReadEvent> {
    for (;;) {
      decoded += 1;
      yield PENDING;
    }
  }
  const begin = (items: Iterable<ReadEvent>) => () => ({ items, accepted });
  const first = storeEvents({ ...producer, gone: left.signal }, LARGE, begin(endless()), options);
  const second = storeEvents(producer, LARGE, begin([{ fault: "none" }]), options);
  await until(() => Promise.resolve(decoded > 0 || null), { what: "the first to be decoded" });
  left.abort();
  await t.throwsAsync(first, { instanceOf: ClientGone });
  t.is((await second).stored.rejected, 1);
  t.is(stored, 0);
});

test("requests that arrive together are each read in a turn of the event loop of their own", async (t) => {
  let turns = 0;
  const readIn: number[] = [];
  const over = new AbortController();
  const count = (): void => {
    turns += 1;
    if (!over.signal.aborted) setImmediate(count);
  };
  count();
  const begin = () => {
    readIn.push(turns);
    return { items: [], accepted };
  };
  const options = optionsOf(() => firstIdAt(1));
  await Promise.all(Array.from({ length: 20 }, () => storeEvents(producer, 40_000, begin, options)));
  over.abort();
  t.is(new Set(readIn).size, 20);
});
