import test from "ava";
import { LoggiaError } from "../../src/errors.ts";
import type { EventId } from "../../src/events/id.ts";
import type { Store, WriteOutcome } from "../../src/store/store.ts";
import { deadLetterRecord } from "../../pipelines/deadletters/codec.ts";
import { until } from "../support/until.ts";
import {
  accept,
  addSubscriber,
  alertsOf,
  caughtUp,
  classFilter,
  deadLetters,
  makeLog,
  overBus,
  post,
  rows,
  start,
  uniqueLog,
} from "./fixture.ts";
import { ENGINE_KINDS } from "./engine-kinds.ts";

/** The outcome of an item instead of a write; null: the item is written. */
type Fault<T> = (item: T) => WriteOutcome | null;

const HOUR_MS = 3_600_000;
const RETRY: WriteOutcome = { kind: "retry", reason: "busy" };
const REJECTED: WriteOutcome = { kind: "rejected", reason: "not to be had" };

/** Passes the items without a fault to `write` and merges the outcomes. */
async function around<T>(
  items: readonly T[],
  fault: Fault<T>,
  write: (items: readonly T[]) => Promise<WriteOutcome[]>,
): Promise<WriteOutcome[]> {
  const faults = items.map(fault);
  const outcomes = (await write(items.filter((_, i) => faults[i] === null))).values();
  return faults.map((outcome) => outcome ?? outcomes.next().value!);
}

/**
 * The real store with faults injected for single items. Like every store, it commits a position
 * only if all items are done.
 */
function overStore(
  store: Store,
  faults: { event?: Fault<EventId>; alert?: Fault<string>; seen?: (id: EventId) => void },
): Store {
  return {
    ...store,
    writeEvents: async (events, position) => {
      const { event: fault = () => null } = faults;
      let whole = true;
      const ids = events.ids();
      const judge: Fault<number> = (place) => {
        const id = ids[place]!;
        const outcome = fault(id);
        if (outcome === null) faults.seen?.(id);
        else whole = false;
        return outcome;
      };
      return around([...ids.keys()], judge, async (rest) =>
        store.writeEvents(rest.length === ids.length ? events : await events.pick(rest), whole ? position : undefined),
      );
    },
    writeAlerts: (alerts) =>
      around(
        alerts,
        ({ user }) => faults.alert?.(user) ?? null,
        (rest) => store.writeAlerts(rest),
      ),
  };
}

/** The real store with a callback for events before they are prepared. */
function preparing(store: Store, onPrepare: (ids: readonly EventId[]) => void): Store {
  return {
    ...store,
    prepareEvents() {
      const prepared = store.prepareEvents();
      const add = prepared.add.bind(prepared);
      prepared.add = async (events) => {
        onPrepare(events.map(({ id }) => id));
        await add(events);
      };
      return prepared;
    },
  };
}

function damaged(): never {
  throw new Error("the database is damaged");
}

for (const { name, open } of ENGINE_KINDS) {
  test(`${name}: a crash between store and acknowledgement loses and duplicates nothing`, async (t) => {
    const ports = await open(t);
    const { log } = await makeLog(ports.catalog);
    await ports.catalog.createClassFilter(log, classFilter("every", { text: "something" }));
    const reader = await addSubscriber(ports.catalog, log, "every");
    const events = Array.from({ length: 1_000 }, () => accept(log));
    await post(ports.bus, events);
    let cuts = 0;
    const bus = overBus(ports.bus, {
      subscribe: (options, handler) =>
        ports.bus.subscribe(options, (batch) =>
          handler({
            ...batch,
            ack: async () => {
              if (++cuts % 3 !== 0) throw new Error("cut off");
              await batch.ack();
            },
          }),
        ),
    });
    const pipeline = await start(t, { ...ports, bus }, { maxEvents: 40 });
    await until(() => pipeline.stats().batches.failed >= 2, { what: "two cuts" });
    await pipeline.close(5_000);
    t.true(cuts >= 2);

    await caughtUp(await start(t, ports, { maxEvents: 40 }));
    const ids = events.map(({ id }) => id);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      ids,
    );
    t.deepEqual(
      (await alertsOf(ports.store, log, reader)).map(({ id }) => id),
      ids,
    );
  });

  test(`${name}: retried items are written once, done ones not again, and reading pauses meanwhile`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const events = Array.from({ length: 300 }, () => accept(log));
    const tries = new Map(events.filter((_, i) => i % 7 === 0).map(({ id }) => [id, 4]));
    const seen: EventId[] = [];
    const store = overStore(ports.store, {
      seen: (id) => seen.push(id),
      event: (id) => {
        const left = tries.get(id) ?? 0;
        tries.set(id, left - 1);
        return left > 0 ? RETRY : null;
      },
    });
    let inFlight = 0;
    let most = 0;
    const partitions = new Set<number>();
    const bus = overBus(ports.bus, {
      subscribe: (options, handler) =>
        ports.bus.subscribe(options, async (batch) => {
          partitions.add(batch.partition);
          most = Math.max(most, ++inFlight);
          await handler(batch).finally(() => inFlight--);
        }),
    });
    await post(ports.bus, events, 1);
    const pipeline = await start(t, { ...ports, bus, store }, { maxEvents: 50 });
    await caughtUp(pipeline);
    t.deepEqual(
      seen.toSorted(),
      events.map(({ id }) => id),
    );
    t.true(most <= partitions.size);
    t.true(pipeline.stats().events.retried >= 43 * 4);
    t.is((await rows(ports.store, log)).length, 300);
    t.deepEqual(await deadLetters(ports.bus), []);
  });

  test(`${name}: an event that the store rejects becomes a dead letter, and later ones are stored`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const events = Array.from({ length: 30 }, () => accept(log));
    const bad = events[13]!.id;
    const store = overStore(ports.store, { event: (id) => (id === bad ? REJECTED : null) });
    await post(ports.bus, events, 10);
    const pipeline = await start(t, { ...ports, store });
    await caughtUp(pipeline);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      events.map(({ id }) => id).filter((id) => id !== bad),
    );
    const letters = await deadLetters(ports.bus);
    t.is(letters.length, 1);
    t.like(letters[0], { stage: "index", reason: "not to be had", key: log });
    t.is(letters[0]!.origin.line, 4);
    t.like(pipeline.stats(), { events: { done: 29 }, deadLetters: { index: 1 } });

    // The fault is fixed, so the redriven event is stored as posted.
    await pipeline.close();
    const again = await start(t, ports);
    await ports.bus.append("events", [deadLetterRecord([letters[0]!])]);
    await caughtUp(again);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      events.map(({ id }) => id),
    );
  });

  test(`${name}: an event with a rejected alert is not stored; redriven, it is stored with each alert once`, async (t) => {
    const ports = await open(t);
    const { log } = await makeLog(ports.catalog);
    await ports.catalog.createClassFilter(log, classFilter("failure", { tag: "error" }));
    const unlucky = await addSubscriber(ports.catalog, log, "failure");
    const lucky = await addSubscriber(ports.catalog, log, "failure");
    const events = [accept(log), accept(log, { tags: ["error"] }), accept(log)];
    const store = overStore(ports.store, { alert: (user) => (user === unlucky ? REJECTED : null) });
    await post(ports.bus, events);
    const pipeline = await start(t, { ...ports, store });
    await caughtUp(pipeline);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      [events[0]!.id, events[2]!.id],
    );
    const letters = await deadLetters(ports.bus);
    t.deepEqual(
      letters.map(({ stage, origin }) => [stage, origin.line]),
      [["alert", 2]],
    );
    t.regex(letters[0]!.reason, new RegExp(unlucky));

    await pipeline.close();
    const again = await start(t, ports);
    await ports.bus.append("events", [deadLetterRecord([letters[0]!])]);
    await caughtUp(again);
    t.is((await rows(ports.store, log)).length, 3);
    for (const user of [unlucky, lucky]) {
      t.deepEqual(
        (await alertsOf(ports.store, log, user)).map(({ id }) => id),
        [events[1]!.id],
      );
    }
  });

  test(`${name}: an event at which the store throws delays no other`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const events = Array.from({ length: 100 }, () => accept(log));
    const bad = events[42]!.id;
    const store: Store = {
      ...ports.store,
      writeEvents: (events, position) => {
        if (events.ids().includes(bad)) throw new RangeError("a bug of the store");
        return ports.store.writeEvents(events, position);
      },
    };
    await post(ports.bus, events);
    await caughtUp(await start(t, { ...ports, store }));
    t.is((await rows(ports.store, log)).length, 99);
    const letters = await deadLetters(ports.bus);
    t.deepEqual(
      letters.map(({ stage, reason }) => [stage, reason]),
      [["index", "RangeError: a bug of the store"]],
    );
  });

  test(`${name}: an event that the store cannot prepare delays no other`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const events = Array.from({ length: 100 }, () => accept(log));
    const bad = events[42]!.id;
    const store = preparing(ports.store, (ids) => {
      if (ids.includes(bad)) throw new RangeError("a bug of the store");
    });
    await post(ports.bus, events);
    const pipeline = await start(t, { ...ports, store });
    await caughtUp(pipeline);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      events.filter(({ id }) => id !== bad).map(({ id }) => id),
    );
    t.deepEqual(
      (await deadLetters(ports.bus)).map(({ stage, reason }) => [stage, reason]),
      [["index", "RangeError: a bug of the store"]],
    );
    t.is(pipeline.stats().events.done, 99);
  });

  test(`${name}: events that cannot be prepared because of a temporary fault wait for its end`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const events = Array.from({ length: 10 }, () => accept(log));
    let left = 4;
    const store = preparing(ports.store, () => {
      left -= 1;
      if (left >= 2) throw new LoggiaError("store_unavailable", "away");
      if (left >= 0) throw new Error("some node has gone");
    });
    await post(ports.bus, events);
    await caughtUp(await start(t, { ...ports, store }));
    t.is((await rows(ports.store, log)).length, 10);
    t.deepEqual(await deadLetters(ports.bus), []);
  });

  test(`${name}: an event at whose address the GeoIP database throws becomes a dead letter`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const events = [accept(log), accept(log, { geo: { ip: "::" } }), accept(log)];
    await post(ports.bus, events);
    await caughtUp(await start(t, ports, { locate: damaged }));
    t.is((await rows(ports.store, log)).length, 2);
    t.like(await deadLetters(ports.bus), [{ stage: "enrich", reason: "Error: the database is damaged" }]);
  });

  test(`${name}: the offset stays while dead letters cannot be written, and none is lost`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const good = accept(log);
    let away = true;
    let tries = 0;
    const bus = overBus(ports.bus, {
      append: async (topic, records, options) => {
        if (topic === "dead-letters" && away) {
          tries += 1;
          throw new LoggiaError("bus_unavailable", "away");
        }
        await ports.bus.append(topic, records, options);
      },
    });
    await ports.bus.append("events", [{ key: log, value: Buffer.from("no record") }]);
    await post(ports.bus, [good]);
    const pipeline = await start(t, { ...ports, bus });
    await until(() => tries >= 5, { what: "five tries" });
    t.is(pipeline.stats().batches.acked, 0);
    t.true((await pipeline.lag()).some(({ next, end }) => next < end));
    const [partition] = await pipeline.lag();
    t.is(await ports.store.nextOffset("events", partition!.partition), null, "nor did the store note a position");
    away = false;
    await caughtUp(pipeline);
    t.is((await deadLetters(ports.bus)).length, 1);
    t.is((await rows(ports.store, log)).length, 1);
  });

  test(`${name}: closing does not wait for an unreachable store, and the next start resumes`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const events = Array.from({ length: 50 }, () => accept(log));
    await post(ports.bus, events);
    let tries = 0;
    const store: Store = {
      ...ports.store,
      writeEvents: async () => {
        tries += 1;
        throw new LoggiaError("store_unavailable", "away");
      },
    };
    // A close that waits for the store lasts far longer than any machine needs without it.
    const pipeline = await start(t, { ...ports, store }, { retryFirst_ms: HOUR_MS, retryLast_ms: HOUR_MS });
    await until(() => tries > 0, { what: "a first try" });
    let isClosed = false;
    void pipeline.close(HOUR_MS).then(() => (isClosed = true));
    await until(() => isClosed, { what: "the pipeline to close" });
    await pipeline.done;
    t.is(pipeline.stats().batches.acked, 0);
    await caughtUp(await start(t, ports));
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      events.map(({ id }) => id),
    );
  });

  test(`${name}: the session is kept alive while the store is unreachable`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    await post(ports.bus, [accept(log)]);
    let beats = 0;
    const bus = overBus(ports.bus, {
      subscribe: (options, handler) =>
        ports.bus.subscribe(options, (batch) =>
          handler({
            ...batch,
            heartbeat: async () => {
              beats += 1;
              await batch.heartbeat();
            },
          }),
        ),
    });
    const store = overStore(ports.store, { event: () => (beats < 2 ? RETRY : null) });
    const pipeline = await start(t, { ...ports, bus, store }, { retryFirst_ms: 60_000, retryLast_ms: 60_000 });
    await until(() => beats >= 2, { what: "two heartbeats" });
    await pipeline.close();
    t.true(beats >= 2);
  });
}
