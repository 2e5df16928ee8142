import test from "ava";

import { LateAppend, LoggiaError } from "../../../src/errors.ts";
import { HOST_CLOCK } from "../../../src/events/clock.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { firstIdAt } from "../../../src/events/id.ts";
import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import type { Append } from "../../../src/ingest/idempotency/idempotency.ts";
import type { ProducerEvent, BodyReading } from "../../../src/ingest/kit/endpoint.ts";
import { RecentIds } from "../../../src/ingest/append/recent-ids.ts";
import { storeEvents } from "../../../src/ingest/append/store-events.ts";
import { FairTurns } from "../../../src/scheduling/fair-turns.ts";
import type { StoreTimes } from "../../../src/ingest/append/store-events.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

/** Two and a half appends. */
const COUNT = 10_000;

const PRODUCER = { log: parseLogKey("a")!, owner: "ann", apiKey: "", tags: [], sent_bytes: COUNT, repeat: null };
const EVENT: ProducerEvent = {
  text: "a",
  severity: null,
  source: "",
  user: "",
  link: "",
  geo: null,
  tags: [],
  time: null,
  attributes: new Map(),
};

function read(): BodyReading {
  return { items: Array.from({ length: COUNT }, () => EVENT), accepted: () => ({ status: 200, type: null, body: "" }) };
}

/** Stores the events; `append` is called with the number of earlier appends. */
async function store(append: (n: number) => void, times?: StoreTimes): Promise<number> {
  let appends = 0;
  const options = {
    coalescer: {
      submitLines: async () => {
        append(appends++);
        return firstIdAt(0);
      },
    },
    idempotency: {
      post: async <B extends object>(batch: B, append: Append) => ({
        ...batch,
        first: await append({ first: firstIdAt(0), created: 0 }),
      }),
    },
    recent: new RecentIds(),
    limits: DEFAULT_LIMITS,
    clock: HOST_CLOCK,
    memory: { turns: new FairTurns() },
    scheduler: new Scheduler(),
    ...(times && { times }),
  };
  return (await storeEvents(PRODUCER, 1, read, options)).stored.accepted;
}

test("a request that waited too long for others is refused before any of it is stored", async (t) => {
  let appends = 0;
  const late = store(() => (appends += 1), { first_ms: -1, all_ms: 60_000 });
  const { code, retryAfter_s } = await t.throwsAsync(late, { instanceOf: LoggiaError, message: /in time/ });
  t.deepEqual([code, retryAfter_s, appends], ["overloaded", 2, 0]);
});

test("a request that takes too long is ended, and the answer says how much is stored", async (t) => {
  let appends = 0;
  const late = store(() => (appends += 1), { first_ms: 60_000, all_ms: -1 });
  const error = await t.throwsAsync(late, { instanceOf: LoggiaError });
  t.regex(error.message, /The first 4000 events of the request are stored, the rest is not; send the rest alone/);
  t.is(appends, 1);
  t.is(await store(() => {}), COUNT);
});

test("where a later append fails, the answer says how much is stored", async (t) => {
  const failing = (error: LoggiaError) =>
    store((n) => {
      if (n === 2) throw error;
    });
  const full = new LoggiaError("bus_unavailable", "The bus could not store this: its disk is full", {
    retryAfter_s: 5,
  });
  const { code, message, retryAfter_s } = await t.throwsAsync(failing(full), { instanceOf: LoggiaError });
  t.deepEqual([code, retryAfter_s], ["bus_unavailable", 5]);
  t.regex(message, /its disk is full\. The first 8000 events of the request are stored, the rest is not/);
  const late = new LateAppend("too late", { isStored: Promise.resolve(false) });
  await t.throwsAsync(failing(late), {
    message: /too late\. The first 8000 events .* stored, some of the next may be/,
  });
});
