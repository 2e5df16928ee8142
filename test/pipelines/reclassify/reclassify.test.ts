import test from "ava";
import type { ExecutionContext } from "ava";

import { startReclassifying } from "../../../pipelines/reclassify/reclassify.ts";
import type { StartOptions } from "../../../pipelines/reclassify/reclassify.ts";
import { createReclassifications } from "../../../src/operations/reclassification.ts";
import type { Reclassification } from "../../../src/operations/reclassification.ts";
import type { LogKey } from "../../../src/events/event.ts";
import type { Store } from "../../../src/store/store.ts";
import { until } from "../../support/until.ts";
import {
  accept,
  addSubscriber,
  alertsOf,
  caughtUp,
  classFilter,
  makeLog,
  post,
  rows,
  SILENT,
  start,
} from "../fixture.ts";
import type { Ports } from "../fixture.ts";
import { ENGINE_KINDS } from "../engine-kinds.ts";
import { openOrders } from "./orders.ts";
import type { Orders } from "./orders.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

/** Runs orders in this process, as one of several. */
function carryOut(t: ExecutionContext, ports: Ports, documents: Orders, options: Partial<StartOptions> = {}) {
  const reclassifying = startReclassifying({
    ...ports,
    scheduler: new Scheduler(),
    documents,
    group: "pipeline",
    propagation_ms: 0,
    isHeld: () => false,
    now: Date.now,
    log: SILENT,
    poll_ms: 20,
    ...options,
  });
  t.teardown(() => reclassifying.close());
  return reclassifying;
}

async function ended(documents: Orders, log: LogKey): Promise<Reclassification> {
  const orders = createReclassifications(documents, Date.now);
  return until(
    async () => {
      const last = await orders.last(log);
      return last !== null && (last.state === "done" || last.state === "failed") ? last : null;
    },
    { what: "the end of a reclassification" },
  );
}

async function classesOf(store: Store, log: LogKey): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { class: cls } of await rows(store, log)) counts[cls ?? "none"] = (counts[cls ?? "none"] ?? 0) + 1;
  return counts;
}

for (const kind of ENGINE_KINDS) {
  test(`${kind.name}: stored events get the class of today's filters, without alerts`, async (t) => {
    t.timeout(300_000);
    const ports = await kind.open(t);
    const documents = await openOrders(t, kind.name);
    const { log } = await makeLog(ports.catalog);
    const pipeline = await start(t, ports, { notices: true });
    await post(ports.bus, [
      ...Array.from({ length: 30 }, (_, i) => accept(log, { text: `disk full ${i}`, created: 1_000 + i })),
      ...Array.from({ length: 20 }, (_, i) => accept(log, { text: `page read ${i}`, tags: ["web"] })),
    ]);
    await caughtUp(pipeline);
    t.deepEqual(await classesOf(ports.store, log), { none: 50 });
    await ports.catalog.createClassFilter(log, classFilter("full", { text: "FULL" }));
    await ports.catalog.createClassFilter(log, classFilter("web", { tag: "web" }));
    const reader = await addSubscriber(ports.catalog, log, "full");
    carryOut(t, ports, documents);
    const orders = createReclassifications(documents, () => 5);
    t.like(await orders.order(log, null), { state: "waiting", started: 5, total: null });
    t.like(await ended(documents, log), { state: "done", total: 50, done: 50, changed: 50, from: null, reason: null });
    t.deepEqual(await classesOf(ports.store, log), { full: 30, web: 20 });
    t.deepEqual(await alertsOf(ports.store, log, reader), []);
    await ports.catalog.deleteClassFilter(log, "full");
    await orders.order(log, 1_010);
    t.like(await ended(documents, log), { state: "done", from: 1_010, done: 40, changed: 20 });
    t.deepEqual(await classesOf(ports.store, log), { full: 10, none: 20, web: 20 });
    t.deepEqual(await ports.bus.last("alerts"), [], "nor a mail");
  });

  test(`${kind.name}: filters that change meanwhile apply to all events`, async (t) => {
    t.timeout(300_000);
    const ports = await kind.open(t);
    const documents = await openOrders(t, kind.name);
    const { log } = await makeLog(ports.catalog);
    const pipeline = await start(t, ports);
    await post(
      ports.bus,
      Array.from({ length: 2_500 }, (_, i) => accept(log, { text: `disk full ${i}` })),
      500,
    );
    await caughtUp(pipeline);
    await ports.catalog.createClassFilter(log, classFilter("first", { text: "disk" }));
    let pieces = 0;
    const store: Store = {
      ...ports.store,
      reclassify: async (piece) => {
        pieces += 1;
        // After the first piece has got the first class and while the second is being classified.
        if (pieces === 2)
          await ports.catalog.createClassFilter(log, classFilter("second", { text: "disk", weight: 9 }));
        return ports.store.reclassify(piece);
      },
    };
    carryOut(t, { ...ports, store }, documents);
    const orders = createReclassifications(documents, Date.now);
    await orders.order(log, null);
    t.like(await ended(documents, log), { state: "done", done: 2_500, changed: 3_500 });
    t.deepEqual(await classesOf(ports.store, log), { second: 2_500 });
  });

  test(`${kind.name}: one process runs an order, and another takes over from one that stalls`, async (t) => {
    t.timeout(300_000);
    const ports = await kind.open(t);
    const documents = await openOrders(t, kind.name);
    const { log } = await makeLog(ports.catalog);
    const pipeline = await start(t, ports);
    await post(
      ports.bus,
      Array.from({ length: 2_500 }, (_, i) => accept(log, { text: `disk full ${i}` })),
      500,
    );
    await caughtUp(pipeline);
    await ports.catalog.createClassFilter(log, classFilter("first", { text: "disk" }));
    const resume = Promise.withResolvers<void>();
    let pieces = 0;
    const heldUp: Store = {
      ...ports.store,
      reclassify: async (piece) => {
        pieces += 1;
        if (pieces === 2) await resume.promise;
        return ports.store.reclassify(piece);
      },
    };
    // Drops its writes, so that it appears dead.
    let isSilent = false;
    const silenced: Orders = {
      ...documents,
      replace: async (id, body, version) => {
        if (isSilent) await resume.promise;
        return documents.replace(id, body, version);
      },
    };
    const first = carryOut(t, { ...ports, store: heldUp }, silenced);
    const orders = createReclassifications(documents, Date.now);
    await orders.order(log, null);
    await until(() => pieces === 2, { what: "the second piece" });
    await until(async () => (await orders.last(log))?.done === 1_000, { what: "progress to be written" });
    t.is(first.running(), 1);
    let others = 0;
    const counting: Store = {
      ...ports.store,
      reclassify: (piece) => {
        others += 1;
        return ports.store.reclassify(piece);
      },
    };
    // Once the first is silent, a take-over's time passes for the second at each look at the clock.
    let elapsed_ms = 0;
    const elapsed = () => (isSilent ? (elapsed_ms += 5_000) : elapsed_ms);
    const versions = new Set<unknown>();
    const following: Orders = {
      ...documents,
      changes: async (since) => {
        const found = await documents.changes(since);
        for (const { id, version } of found.documents) if (id === log) versions.add(version);
        return found;
      },
    };
    const second = carryOut(t, { ...ports, store: counting }, following, { takeOver_ms: 5_000, elapsed });
    await until(() => versions.size > 0, { what: "the second to know the order" });
    const known = versions.size;
    elapsed_ms += 4_000;
    await until(() => versions.size > known, { what: "a heartbeat" });
    elapsed_ms += 4_000;
    // After many polls the first process still owns the order, because its heartbeats arrive.
    let looks = 0;
    const watching: Orders = { ...documents, changes: (since) => ((looks += 1), documents.changes(since)) };
    carryOut(t, ports, watching, { takeOver_ms: 600_000 });
    await until(() => looks > 20, { what: "many looks" });
    t.is(second.running(), 0);
    isSilent = true;
    t.like(await ended(documents, log), { state: "done", done: 2_500, changed: 2_500 });
    t.is(others, 2, "it goes on where the first one was");
    resume.resolve();
    await until(() => first.running() === 0, { what: "the first one to learn of it" });
    t.like(await orders.last(log), { state: "done", done: 2_500, changed: 2_500 });
    t.deepEqual(await classesOf(ports.store, log), { first: 2_500 });
  });
}
