import test from "ava";

import type { EventRow } from "../../src/events/event.ts";
import type { ListPlan } from "../../src/query/plan.ts";
import type { Store } from "../../src/store/store.ts";
import { event, listPlan, MORNING, newLog, pageOf, row, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

/** Tests of pages and totals. */
export function pageContract({ name, open }: StoreAdapter): void {
  test(`${name}: walking a list page by page returns each event once, in every order`, async (t) => {
    const store = await open(t);
    const log = newLog();
    // Uneven in time: many events within one millisecond, and long gaps.
    const moments = Array.from({ length: 1203 }, (_, i) => MORNING + Math.floor(i / 100) ** 3 * 1000 + (i % 7));
    const events = moments.map((created, i) =>
      event(log, { created, text: String(i), value: i % 10, source: `source ${i % 3}` }),
    );
    await write(t, store, events);
    const plans: Partial<ListPlan>[] = [
      {},
      { sort: [{ field: "created", direction: "desc" }] },
      { sort: [{ field: "value", direction: "desc" }] },
      { where: { kind: "text", field: "source", op: "=", value: "source 1" } },
    ];
    for (const fields of plans) {
      const rows = await walk(store, listPlan(log, { ...fields, take: 100 }));
      const total = fields.where ? 401 : 1203;
      t.is(rows.length, total);
      t.is(new Set(rows.map(({ id }) => id)).size, total);
      t.deepEqual(await pageOf(store, listPlan(log, { ...fields, skip: total, take: 10 })), { rows: [], total });
      t.deepEqual(await pageOf(store, listPlan(log, { ...fields, skip: 10_000_000, take: 10 })), { rows: [], total });
    }
    const ascending = await walk(store, listPlan(log, { take: 250 }));
    const descending = await walk(store, listPlan(log, { take: 77, sort: [{ field: "created", direction: "desc" }] }));
    t.deepEqual(ascending, descending.toReversed());
    t.deepEqual(
      ascending,
      events.map(row).sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1)),
    );
  });

  test(`${name}: pages past 10,000 events work, and totals are exact`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = Array.from({ length: 12_000 }, (_, i) =>
      event(log, { created: MORNING + i * 50, text: String(i), value: i % 5 }),
    );
    for (let start = 0; start < events.length; start += 4000) await write(t, store, events.slice(start, start + 4000));
    const byTime = await store.list(listPlan(log, { skip: 11_990, take: 500 }));
    t.is(byTime.total, 12_000);
    t.deepEqual(byTime.rows, events.slice(11_990).map(row));
    const byValue = await store.list(
      listPlan(log, { skip: 11_995, take: 3, sort: [{ field: "value", direction: "asc" }] }),
    );
    t.deepEqual(
      byValue.rows.map(({ text }) => text),
      ["11979", "11984", "11989"],
    );
    t.is((await store.list(listPlan(log, { take: 0 }))).total, 12_000);
  });

  test(`${name}: a list with a bounded count has the same pages, and a total that reaches the bound`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const moments = Array.from({ length: 1203 }, (_, i) => MORNING + Math.floor(i / 100) ** 3 * 1000 + (i % 7));
    const events = moments.map((created, i) =>
      event(log, { created, text: `job ${i}`, value: i % 10, source: `source ${i % 3}` }),
    );
    await write(t, store, events);
    const descending: Partial<ListPlan> = { sort: [{ field: "created", direction: "desc" }] };
    const plans: Partial<ListPlan>[] = [
      {},
      descending,
      { sort: [{ field: "value", direction: "desc" }] },
      { where: { kind: "text", field: "source", op: "=", value: "source 1" } },
      { ...descending, where: { kind: "matches", field: "text", pattern: "^job [0-9]*[02468]$" } },
      { ...descending, where: { kind: "matches", field: "text", pattern: "^job 1[0-9]$" } },
    ];
    for (const fields of plans) {
      for (const [skip, take] of [
        [0, 10],
        [0, 100],
        [90, 20],
        [1190, 50],
      ] as const) {
        const plan = listPlan(log, { ...fields, skip, take });
        const whole = await pageOf(store, plan);
        const countUpTo = skip + take + 1;
        const { rows, total } = await store.list(plan, { countUpTo });
        t.deepEqual(rows, whole.rows);
        if (whole.total < countUpTo) t.is(total, whole.total);
        else t.true(total >= countUpTo && total <= whole.total, `${total} of ${whole.total}`);
      }
    }
  });
}

async function walk(store: Store, plan: ListPlan): Promise<EventRow[]> {
  const rows: EventRow[] = [];
  for (;;) {
    const page = await store.list({ ...plan, skip: rows.length });
    if (page.rows.length === 0) return rows;
    rows.push(...page.rows);
  }
}
