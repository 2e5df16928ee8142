import test from "ava";

import { pagesOfEvents } from "../../src/api/export/events.ts";
import type { LogKey } from "../../src/events/event.ts";
import type { ListPlan } from "../../src/query/plan.ts";
import { EVERYTHING } from "../../src/query/plan.ts";
import { WHOLE } from "../../src/query/planner.ts";
import { event } from "../contract/store-fixture.ts";
import { evaluateList } from "../reference/evaluate.ts";

const SHOP = "shop" as LogKey;
const ask = <T>(work: () => Promise<T>): Promise<T> => work();

/** Returns the pages in which a plan is read. */
async function pages(attributes: string, count: number, sort: ListPlan["sort"], skip = 0): Promise<number[]> {
  const events = Array.from({ length: count }, (_, i) => event(SHOP, { created: 1_700_000_000_000 + i, attributes }));
  const plan: ListPlan = {
    kind: "list",
    from: { kind: "events" },
    logs: [SHOP],
    where: EVERYTHING,
    sort,
    skip,
    take: WHOLE,
    columns: null,
  };
  const sizes: number[] = [];
  const store = {
    rows: async (page: ListPlan) => {
      const { rows } = evaluateList(page, events);
      sizes.push(rows.length);
      return rows;
    },
    list: async (page: ListPlan) => {
      const { rows, total } = evaluateList(page, events);
      sizes.push(rows.length);
      return { rows: rows, total };
    },
    annotations: async () => new Map(),
  };
  let found = 0;
  for await (const page of pagesOfEvents(store, plan, { ask, now_ms: Date.now() + 1_000_000 })) found += page.length;
  if (found !== count - skip) throw new Error(`${found} of ${count - skip} events`);
  return sizes;
}

test("an export reads large events in small pages, and small ones in large pages", async (t) => {
  const large = JSON.stringify({ a: "x".repeat(4_000), b: "y".repeat(4_000), c: "z".repeat(4_000) });
  for (const sort of [[], [{ field: "text", direction: "asc" }]] as ListPlan["sort"][]) {
    const [first, ...others] = await pages("{}", 7_000, sort, 20);
    t.true(first! <= 500 && others[0]! >= 1_000, `${first} ${others.join(" ")}`);
    const [, ...some] = await pages(large, 2_000, sort);
    t.true(
      some.every((size) => size <= 1_000),
      some.join(" "),
    );
  }
});
