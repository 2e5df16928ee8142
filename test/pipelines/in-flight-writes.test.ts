import test from "ava";
import type { ExecutionContext } from "ava";
import type { LogKey } from "../../src/events/event.ts";
import { until } from "../support/until.ts";
import {
  accept,
  addSubscriber,
  alertsOf,
  caughtUp,
  classFilter,
  makeLog,
  overBus,
  post,
  rows,
  start,
} from "./fixture.ts";
import type { Ports } from "./fixture.ts";
import { ENGINE_KINDS } from "./engine-kinds.ts";

const SLICE = 10;
const SLICES = 8;
const COUNT = SLICE * SLICES;
/** The limit of concurrent writes. The log is in one partition, which gets all of them. */
const MOST = 4;

/**
 * Creates a log whose events are delivered as one batch of several writes, each of which raises an
 * alert.
 */
async function fill(ports: Ports): Promise<{ log: LogKey; ids: string[]; alerts: () => Promise<string[]> }> {
  const { log } = await makeLog(ports.catalog);
  await ports.catalog.createClassFilter(log, classFilter("every", { text: "something" }));
  const reader = await addSubscriber(ports.catalog, log, "every");
  const events = Array.from({ length: COUNT }, () => accept(log));
  await post(ports.bus, events, COUNT);
  return {
    log,
    ids: events.map(({ id }) => id),
    alerts: async () => (await alertsOf(ports.store, log, reader)).map(({ id }) => id),
  };
}

/**
 * Wraps the engines so that each write of events passes `pass` first, and records what happened.
 */
function gated(ports: Ports, pass: (write: number) => Promise<void> | void) {
  const seen = { writes: 0, done: 0, underWay: 0, most: 0, acks: 0, batches: 0 };
  const store: Ports["store"] = {
    ...ports.store,
    writeEvents: async (events, position) => {
      if (events.length === 0) return ports.store.writeEvents(events, position);
      const write = seen.writes++;
      seen.underWay += 1;
      seen.most = Math.max(seen.most, seen.underWay);
      try {
        await pass(write);
        const outcomes = await ports.store.writeEvents(events, position);
        seen.done += 1;
        return outcomes;
      } finally {
        seen.underWay -= 1;
      }
    },
  };
  const bus = overBus(ports.bus, {
    subscribe: (options, handler) =>
      ports.bus.subscribe(options, (batch) => {
        seen.batches += 1;
        return handler({ ...batch, ack: () => batch.ack().finally(() => (seen.acks += 1)) });
      }),
  });
  return { ports: { ...ports, bus, store }, seen };
}

async function holdsAllOnce(t: ExecutionContext, ports: Ports, filled: Awaited<ReturnType<typeof fill>>) {
  t.deepEqual(
    (await rows(ports.store, filled.log)).map(({ id }) => id),
    filled.ids,
  );
  t.deepEqual(await filled.alerts(), filled.ids);
}

for (const { name, open } of ENGINE_KINDS) {
  test(`${name}: writes that finish before an earlier one do not acknowledge their batch`, async (t) => {
    const opened = await open(t);
    const filled = await fill(opened);
    const held = Promise.withResolvers<void>();
    const { ports, seen } = gated(opened, (write) => (write === 0 ? held.promise : undefined));
    const pipeline = await start(t, ports, { maxEvents: SLICE, maxInFlight: MOST, inOrder: false });
    await until(() => seen.done === SLICES - 1, { what: "all slices but the first to be written" });
    t.is(seen.acks, 0);
    t.is(pipeline.stats().batches.acked, 0);
    t.true((await pipeline.lag()).some(({ next, end }) => next < end));
    held.resolve();
    await caughtUp(pipeline);
    // The bus has the offset slightly before the pipeline knows it.
    await until(() => seen.acks > 0, { what: "the batch to be acknowledged" });
    t.is(seen.acks, 1);
    await holdsAllOnce(t, opened, filled);
  });

  test(`${name}: writes run concurrently up to the limit`, async (t) => {
    const opened = await open(t);
    const filled = await fill(opened);
    const held = Promise.withResolvers<void>();
    const { ports, seen } = gated(opened, () => held.promise);
    const pipeline = await start(t, ports, { maxEvents: SLICE, maxInFlight: MOST, inOrder: false });
    await until(() => seen.underWay === MOST, { what: "slices to fill their room" });
    t.is(pipeline.stats().events.decoded, MOST * SLICE, "nothing more is decoded meanwhile");
    held.resolve();
    await caughtUp(pipeline);
    t.is(seen.most, MOST);
    await holdsAllOnce(t, opened, filled);
  });

  test(`${name}: closed while an earlier write is blocked and later ones are done, all is redelivered and stored once`, async (t) => {
    const opened = await open(t);
    const filled = await fill(opened);
    const held = Promise.withResolvers<void>();
    const { ports, seen } = gated(opened, async (write) => {
      if (write !== 1) return;
      await held.promise;
      throw new Error("cut off");
    });
    const pipeline = await start(t, ports, { maxEvents: SLICE, maxInFlight: MOST, inOrder: false });
    await until(() => seen.done === SLICES - 1, { what: "all slices but the second to be written" });
    const closed = pipeline.close(5_000);
    held.resolve();
    await closed;
    t.is(seen.acks, 0);
    await caughtUp(await start(t, opened, { maxEvents: SLICE }));
    await holdsAllOnce(t, opened, filled);
  });

  test(`${name}: a batch with a write that throws is redelivered only after its other writes have ended`, async (t) => {
    const opened = await open(t);
    const filled = await fill(opened);
    let broken = false;
    let underWayAtDelivery = -1;
    const { ports, seen } = gated(opened, () => {});
    const bus = overBus(ports.bus, {
      subscribe: (options, handler) =>
        ports.bus.subscribe(options, (batch) => {
          if (broken) underWayAtDelivery = Math.max(underWayAtDelivery, seen.underWay);
          return handler(batch);
        }),
    });
    const catalog = {
      ...ports.catalog,
      subscribers: (...given: Parameters<Ports["catalog"]["subscribers"]>) => {
        // An unexpected failure, after two writes have started.
        if (!broken && seen.writes >= 2) {
          broken = true;
          throw new Error("unexpected");
        }
        return ports.catalog.subscribers(...given);
      },
    };
    const pipeline = await start(
      t,
      { bus, store: ports.store, catalog },
      { maxEvents: SLICE, maxInFlight: 2, inOrder: false },
    );
    await caughtUp(pipeline);
    t.true(broken);
    t.is(underWayAtDelivery, 0);
    t.is(pipeline.stats().batches.failed, 1);
    await holdsAllOnce(t, opened, filled);
  });

  test(`${name}: in order, each write starts after those before it, however long these take`, async (t) => {
    const opened = await open(t);
    const filled = await fill(opened);
    const { ports, seen } = gated(opened, () => {});
    const written: string[] = [];
    let alerts = 0;
    const store: Ports["store"] = {
      ...ports.store,
      writeAlerts: async (some) => {
        // The alerts of the first write take longest.
        if (alerts++ === 0) await until(() => alerts === MOST, { what: "the alerts of later slices" });
        return ports.store.writeAlerts(some);
      },
      writeEvents: async (events, position) => {
        written.push(...events.ids());
        return ports.store.writeEvents(events, position);
      },
    };
    const pipeline = await start(t, { ...ports, store }, { maxEvents: SLICE, maxInFlight: MOST });
    await caughtUp(pipeline);
    t.deepEqual(written, filled.ids);
    t.is(seen.most, 1);
    await holdsAllOnce(t, opened, filled);
  });
}
