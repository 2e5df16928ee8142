import test from "ava";
import type { ExecutionContext } from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { busyPolled_ms } from "../../../src/scheduling/busy-poll.ts";
import type { Bus, NewRecord } from "../../../src/bus/bus.ts";
import { openSqliteBus } from "../../../src/bus/sqlite/sqlite.ts";
import { LateAppend, LoggiaError } from "../../../src/errors.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { createIdSource, nthId } from "../../../src/events/id.ts";
import type { EventId } from "../../../src/events/id.ts";
import { decodeRecord, encodeFields } from "../../../src/events/record.ts";
import { recordLine } from "../../../src/ingest/append/record-lines.ts";
import { createWriteCoalescer } from "../../../src/ingest/append/write-coalescer.ts";
import type { PostedEvent } from "../../../src/events/event.ts";
import { ABSENT_FIELDS } from "../../../src/events/absent-fields.ts";
import { eventsOn } from "../../support/events-on.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const SHOP = parseLogKey("shop")!;
const ATTIC = parseLogKey("attic")!;
const EVENT: PostedEvent = { text: "x", ...ABSENT_FIELDS };
const VISIT = { user: "ann", email: "", page: "" };
const BOUNDS = {
  quotaOwnerOf: (log: string) => log,
  append_ms: 60_000,
  deadline_ms: 60_000,
  maxQueuedEvents: 1_000,
  maxQueuedBytes: 1_000_000,
};

function openBus(t: ExecutionContext): Promise<Bus> {
  return openSqliteBus({ file: join(temporaryFolder(t), "bus.sqlite"), log: pino({ level: "silent" }) });
}

test("events and visits that arrive together share one append and one record per log, with ids in order", async (t) => {
  await using bus = await openBus(t);
  const appended: (readonly NewRecord[])[] = [];
  const counting: Pick<Bus, "append"> = {
    append: (topic, records) => {
      appended.push(records);
      return bus.append(topic, records);
    },
  };
  const coalescer = createWriteCoalescer({ bus: counting, ids: createIdSource(), ...BOUNDS, maxQueuedEvents: 5 });
  const ids = await Promise.all([
    coalescer.submit(SHOP, EVENT),
    coalescer.submitVisit(SHOP, VISIT),
    coalescer.submitVisit(ATTIC, VISIT),
    coalescer.submit(SHOP, { ...EVENT, text: "y" }),
  ]);
  t.deepEqual(ids, ids.toSorted());
  t.is(appended.length, 1);
  const lines = appended[0]!.map(({ value }) => decodeRecord(value));
  t.deepEqual(
    lines.map((record) => record.map(({ kind }) => kind)),
    [["event", "visit", "event"], ["visit"]],
  );
  t.like(lines[0]![1], { kind: "visit", visit: { ...VISIT, log: SHOP, id: ids[1] } });

  const posts = Array.from({ length: 6 }, (_, i) =>
    i % 2 === 0 ? coalescer.submitVisit(SHOP, VISIT) : coalescer.submit(SHOP, EVENT),
  );
  const error = await t.throwsAsync(posts[5]!, { instanceOf: LoggiaError });
  t.is(error.code, "overloaded");
  await Promise.all(posts.slice(0, 5));
  await coalescer.drain();
});

test("each callback is called once: with the id when durable, at once when refused, or with a bus failure", async (t) => {
  await using bus = await openBus(t);
  const limiter = Promise.withResolvers<void>();
  let fails = false;
  const slow: Pick<Bus, "append"> = {
    append: async (topic, records) => {
      if (fails) throw new LoggiaError("bus_unavailable", "It is gone");
      await bus.append(topic, records);
      await limiter.promise;
    },
  };
  const coalescer = createWriteCoalescer({ bus: slow, ids: createIdSource(), ...BOUNDS, maxQueuedEvents: 2 });
  const told: [name: string, what: string][] = [];
  const submit = (name: string): void =>
    coalescer.submitWithCallbacks(
      SHOP,
      { ...EVENT, text: name },
      {
        resolve: (id) => told.push([name, id]),
        reject: (error) => told.push([name, (error as LoggiaError).code]),
      },
    );
  submit("first");
  submit("second");
  t.deepEqual(told, []);
  submit("third");
  t.deepEqual(told, [["third", "overloaded"]]);
  limiter.resolve();
  await coalescer.drain();
  const events = await eventsOn(bus);
  t.deepEqual(
    told.slice(1),
    events.map(({ text, id }) => [text, id]),
  );
  t.is(events.length, 2);
  fails = true;
  submit("fourth");
  await coalescer.drain();
  t.deepEqual(told.slice(3), [["fourth", "bus_unavailable"]]);
  // All reserved room is released.
  fails = false;
  submit("fifth");
  submit("sixth");
  await coalescer.drain();
  t.deepEqual(
    told.slice(4).map(([name]) => name),
    ["fifth", "sixth"],
  );
  t.true(told.slice(4).every(([, id]) => /^[0-9a-f]{24}$/.test(id)));
});

test("two appends run at a time; posts that arrive meanwhile share the next one", async (t) => {
  await using bus = await openBus(t);
  const sizes: number[] = [];
  const gates = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const slow: Pick<Bus, "append"> = {
    append: async (topic, records) => {
      const { promise } = gates[sizes.length]!;
      sizes.push(records.flatMap(({ value }) => decodeRecord(value)).length);
      await bus.append(topic, records);
      await promise;
    },
  };
  const coalescer = createWriteCoalescer({ bus: slow, ids: createIdSource(), ...BOUNDS });
  const first = coalescer.submit(SHOP, EVENT);
  await until(() => sizes.length === 1, { what: "the first append" });
  const second = coalescer.submit(SHOP, EVENT);
  await until(() => sizes.length === 2, { what: "the second append, while the first is under way" });
  const others = [coalescer.submit(SHOP, EVENT), coalescer.submit(SHOP, EVENT), coalescer.submit(SHOP, EVENT)];
  gates[1]!.resolve();
  await second;
  await until(() => sizes.length === 3, { what: "the third append" });
  gates[0]!.resolve();
  gates[2]!.resolve();
  await Promise.all([first, ...others, coalescer.drain()]);
  t.deepEqual(sizes, [1, 1, 3]);
});

test("drain waits until every post is answered, also those that arrive during the last append", async (t) => {
  await using bus = await openBus(t);
  const begun: PromiseWithResolvers<void>[] = [];
  const slow: Pick<Bus, "append"> = {
    append: async (topic, records) => {
      const limiter = Promise.withResolvers<void>();
      begun.push(limiter);
      await bus.append(topic, records);
      await limiter.promise;
    },
  };
  const coalescer = createWriteCoalescer({ bus: slow, ids: createIdSource(), ...BOUNDS });
  const ended: string[] = [];
  const note = (what: string, work: Promise<unknown>) => work.then(() => ended.push(what));
  const first = note("first", coalescer.submit(SHOP, EVENT));
  await until(() => begun.length === 1, { what: "the first append" });
  const drained = note("drained", coalescer.drain());
  const second = note("second", coalescer.submit(SHOP, EVENT));
  await until(() => begun.length === 2, { what: "the second append" });
  begun[0]!.resolve();
  await first;
  await new Promise(setImmediate);
  t.deepEqual(ended, ["first"]);
  begun[1]!.resolve();
  await Promise.all([second, drained]);
  t.deepEqual(ended, ["first", "second", "drained"]);
});

test("large posts share an append up to a limit, so that two appends fit the queue of the bus", async (t) => {
  await using bus = await openBus(t);
  const sizes: number[] = [];
  const noting: Pick<Bus, "append"> = {
    append: (topic, records) => {
      sizes.push(records.flatMap(({ value }) => decodeRecord(value)).length);
      return bus.append(topic, records);
    },
  };
  const coalescer = createWriteCoalescer({
    bus: noting,
    ids: createIdSource(),
    ...BOUNDS,
    maxQueuedBytes: 64 * 1024 * 1024,
  });
  const line = { fields: encodeFields({ ...EVENT, data: "d".repeat(20_000) }), created: null };
  const post = () =>
    coalescer.submitLines(
      SHOP,
      Array.from({ length: 150 }, () => line),
    );
  await Promise.all([post(), post(), post(), post(), post()]);
  t.deepEqual(sizes, [300, 300, 150]);
});

test("posts reach the bus in the order of their ids, also if one is reserved first", async (t) => {
  await using bus = await openBus(t);
  const appended: EventId[] = [];
  const noting: Pick<Bus, "append"> = {
    append: (topic, records) => {
      const lines = records.flatMap(({ value }) => decodeRecord(value));
      appended.push(...lines.flatMap((line) => (line.kind === "event" ? [line.event.id] : [])));
      return bus.append(topic, records);
    },
  };
  const coalescer = createWriteCoalescer({ bus: noting, ids: createIdSource(), ...BOUNDS });
  const reserving = Promise.withResolvers<void>();
  const reserved = Promise.withResolvers<void>();
  const line = { fields: encodeFields(EVENT), created: null };
  const batch = coalescer.submitLines(SHOP, [line, line], {
    reserve: () => {
      reserving.resolve();
      return reserved.promise;
    },
  });
  await reserving.promise;
  const post = coalescer.submit(SHOP, EVENT);
  await new Promise(setImmediate);
  t.deepEqual(appended, []);
  reserved.resolve();
  const [first, last] = await Promise.all([batch, post]);
  t.deepEqual(appended, [first, nthId(first, 1), last]);
  t.deepEqual(appended, appended.toSorted());
});

test("a log that fills the queue leaves room for others, not for itself", async (t) => {
  await using bus = await openBus(t);
  const coalescer = createWriteCoalescer({ bus, ids: createIdSource(), ...BOUNDS, maxQueuedEvents: 100 });
  const outcomes = (log: typeof SHOP, count: number) =>
    Array.from({ length: count }, () =>
      coalescer.submit(log, EVENT).then(
        () => "taken",
        ({ code }: LoggiaError) => code,
      ),
    );
  const [shop, attic] = [outcomes(SHOP, 120), outcomes(ATTIC, 10)];
  const taken = async (all: Promise<string>[]) => (await Promise.all(all)).filter((one) => one === "taken").length;
  t.is(await taken(shop), 100);
  t.is(await taken(attic), 5);
  t.deepEqual([...new Set(await Promise.all([...shop, ...attic]))], ["taken", "overloaded"]);
  // Appended events free their room.
  t.is(await taken(outcomes(SHOP, 100)), 100);
});

test("logs of one owner share the room left to those with few waiting events", async (t) => {
  await using bus = await openBus(t);
  const quotaOwnerOf = (log: string) => (log === ATTIC ? "other" : "one");
  const coalescer = createWriteCoalescer({ bus, ids: createIdSource(), ...BOUNDS, maxQueuedEvents: 100, quotaOwnerOf });
  const taken = (log: string, count: number) => {
    const posts = Array.from({ length: count }, () => coalescer.submit(log as typeof SHOP, EVENT));
    return Promise.allSettled(posts).then((all) => all.filter(({ status }) => status === "fulfilled").length);
  };
  const counts = await Promise.all([taken(SHOP, 120), taken("second", 10), taken("third", 10), taken(ATTIC, 5)]);
  t.deepEqual(counts, [100, 0, 0, 5]);
});

test.serial("the thread busy-polls while many posts wait for a short append", async (t) => {
  /**
   * Returns the share of time that the thread sleeps while this many posts wait for appends that
   * take this long.
   */
  const sleeping = async (posts: number, append_ms: number, usesBusyPoll: boolean): Promise<number> => {
    const bus = { append: () => new Promise<void>((resolve) => setTimeout(resolve, append_ms)) };
    const coalescer = createWriteCoalescer({ bus, ids: createIdSource(), ...BOUNDS, usesBusyPoll });
    const before = performance.eventLoopUtilization();
    for (let round = 0; round < Math.max(1, 40 / append_ms); round++) {
      await Promise.all(Array.from({ length: posts }, () => coalescer.submit(SHOP, EVENT)));
    }
    return 1 - performance.eventLoopUtilization(before).utilization;
  };
  let [usual, awake] = [0, 1];
  const before_ms = busyPolled_ms();
  // A process without a processor neither sleeps nor works, so one measurement on a busy machine
  // says little.
  const polled_ms = (): number => busyPolled_ms() - before_ms;
  for (let looks = 0; looks < 10 && (awake >= usual / 2 || polled_ms() <= 5); looks++) {
    [usual, awake] = [await sleeping(64, 1, false), await sleeping(64, 1, true)];
  }
  t.true(awake < usual / 2, `sleeps ${awake} of the time, ${usual} otherwise`);
  t.true(polled_ms() > 5);
  // Waits for the last turn of the posts before.
  await new Promise(setImmediate);
  for (const [posts, append_ms, most_ms, why] of [
    [8, 1, 0, "few are worth no waking"],
    [64, 400, 10, "nor is what takes long"],
  ] as const) {
    let asleep = 0;
    for (let looks = 0; looks < 10 && asleep <= usual / 2; looks++) {
      const idle_ms = busyPolled_ms();
      asleep = await sleeping(posts, append_ms, true);
      const busy_ms = busyPolled_ms() - idle_ms;
      t.true(busy_ms <= most_ms, `${busy_ms} ms`);
    }
    t.true(asleep > usual / 2, why);
  }
});

test.serial("ids are unsettled until the bus has them, and after a failure while they may still arrive", async (t) => {
  const now = performance.now.bind(performance);
  t.teardown(() => (performance.now = now));
  const appends: PromiseWithResolvers<void>[] = [];
  const held: Pick<Bus, "append"> = {
    append: () => {
      const append = Promise.withResolvers<void>();
      appends.push(append);
      return append.promise;
    },
  };
  const coalescer = createWriteCoalescer({ bus: held, ids: createIdSource(), ...BOUNDS });
  t.is(coalescer.firstUnsettled(), null);
  const first = coalescer.submit(SHOP, EVENT);
  await until(() => appends.length === 1, { what: "the first append" });
  const second = coalescer.submit(SHOP, EVENT);
  await until(() => appends.length === 2, { what: "the second append" });
  const unsettled = coalescer.firstUnsettled()!;
  appends[1]!.resolve();
  t.true((await second) > unsettled);
  t.is(coalescer.firstUnsettled(), unsettled, "the first is under way");
  appends[0]!.resolve();
  t.is(await first, unsettled);
  t.is(coalescer.firstUnsettled(), null);

  const lost = coalescer.submit(SHOP, EVENT);
  await until(() => appends.length === 3, { what: "the third append" });
  appends[2]!.reject(new LoggiaError("bus_unavailable", "It is gone"));
  await t.throwsAsync(lost, { instanceOf: LoggiaError });
  t.not(coalescer.firstUnsettled(), null, "it may still arrive");
  performance.now = () => now() + BOUNDS.append_ms + 1_000;
  t.is(coalescer.firstUnsettled(), null, "it cannot arrive any more");
});

test("lines that await the outcome of a late append settle by it, all others at once", async (t) => {
  await using bus = await openBus(t);
  for (const isStored of [true, false]) {
    const outcome = Promise.withResolvers<boolean>();
    const late: Pick<Bus, "append"> = {
      async append(topic, records) {
        if (isStored) await bus.append(topic, records);
        throw new LateAppend("late", { isStored: outcome.promise });
      },
    };
    const coalescer = createWriteCoalescer({ bus: late, ids: createIdSource(), ...BOUNDS });
    let isSettled = false;
    const line = recordLine(encodeFields(EVENT));
    const waiting = coalescer.submitLines(SHOP, [line], undefined, { awaitsOutcome: true });
    void waiting.catch(() => {}).finally(() => (isSettled = true));
    await t.throwsAsync(coalescer.submit(SHOP, EVENT), { instanceOf: LateAppend });
    await coalescer.drain();
    t.false(isSettled);
    outcome.resolve(isStored);
    if (isStored) t.is(await waiting, (await eventsOn(bus))[0]!.id);
    else await t.throwsAsync(waiting, { instanceOf: LateAppend });
  }
});

test("ids are released at once if the bus sent no record of their log before its deadline", async (t) => {
  const isStored = Promise.resolve(false);
  const late: Pick<Bus, "append"> = {
    append: () => Promise.reject(new LateAppend("late", { isStored, unsent: new Set([SHOP]) })),
  };
  const coalescer = createWriteCoalescer({ bus: late, ids: createIdSource(), ...BOUNDS });
  const released: string[] = [];
  const line = recordLine(encodeFields(EVENT));
  const posts = [SHOP, ATTIC].map((log) =>
    coalescer.submitLines(log, [line], { reserve: async () => {}, release: () => void released.push(log) }),
  );
  for (const post of posts) await t.throwsAsync(post, { instanceOf: LateAppend });
  t.deepEqual(released, [SHOP]);
});
