import test from "ava";

import type { LogKey } from "../../src/events/event.ts";
import { createReclassifications, storedReclassification } from "../../src/operations/reclassification.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { openOrders } from "../pipelines/reclassify/orders.ts";

const log = "shop" as LogKey;
const other = "other" as LogKey;

for (const kind of ["embedded", ...(realEngines ? ["cluster"] : [])]) {
  test(`${kind}: a running order is returned again, and no other is accepted`, async (t) => {
    const documents = await openOrders(t, kind);
    let now = 1;
    const orders = createReclassifications(documents, () => now++);
    t.is(await orders.last(log), null);
    t.like(await orders.order(log, 5_000), { state: "waiting", from: 5_000, started: 1, finished: null, total: null });
    t.like(await orders.order(log, 5_000), { state: "waiting", started: 1 }, "whoever has lost the answer asks again");
    const message = /^The log shop is being reclassified, events from 1970-01-01T00:00:05.000Z on: wait until it ends/;
    await t.throwsAsync(orders.order(log, null), { code: "conflict", message });
    t.like(await orders.order(other, null), { log: other, state: "waiting", from: null }, "of another log it is taken");
    t.like(await orders.last(log), { log, from: 5_000 });

    const found = (await documents.read(log))!;
    const done = { ...storedReclassification(found.body)!, state: "done", finished: 9, total: 3, done: 3, changed: 2 };
    await documents.replace(log, done, found.version);
    t.like(await orders.last(log), { state: "done", changed: 2 });
    t.like(await orders.order(log, null), { state: "waiting", from: null, done: 0, changed: 0, total: null });
  });

  test(`${kind}: of concurrent orders one is started`, async (t) => {
    const documents = await openOrders(t, kind);
    const orders = createReclassifications(documents, Date.now);
    const all = await Promise.allSettled([1, 2, 1, 2].map((from) => orders.order(log, from)));
    const { from } = (await orders.last(log))!;
    t.deepEqual(
      all.map(({ status }) => status),
      [1, 2, 1, 2].map((each) => (each === from ? "fulfilled" : "rejected")),
    );
  });
}
