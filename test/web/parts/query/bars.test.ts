import test from "ava";

import { KINDS } from "../../../support/engine-kinds.ts";
import { get, KEY, LOG, serviceOf } from "../../../support/service.ts";
import type { Service } from "../../../support/service.ts";
import { until } from "../../../support/until.ts";
import { readQuery, withClause } from "../../../../src/web/parts/query/compose.ts";
import { withRange } from "../../../../src/web/parts/query/range.ts";
import { barsOfRange } from "../../../../src/web/parts/query/steps.ts";
import type { QueryStep } from "../../../../src/web/parts/query/steps.ts";

const MINUTE_MS = 60_000;
/** The night in which Berlin's clock repeats the hour from 2 to 3. */
const RANGE = { from: Date.UTC(2026, 9, 24, 20, 30), to: Date.UTC(2026, 9, 25, 6, 10) };
const ZONE = "Europe/Berlin";
const STEPS: readonly QueryStep[] = [
  { unit: "minutes", count: 30, key: "MINUTES(30)", name: "" },
  { unit: "hours", count: 1, key: "HOUR", name: "" },
  { unit: "hours", count: 6, key: "HOURS(6)", name: "" },
  { unit: "days", count: 1, key: "DAY", name: "" },
];

type Group = { readonly key: string; readonly count: string };

async function ask(service: Service, query: string): Promise<readonly Group[]> {
  const response = await get(service, `/1/logs/${LOG}/query?${new URLSearchParams({ query, tz: ZONE }).toString()}`);
  return response.body as readonly Group[];
}

for (const kind of KINDS) {
  test(`${kind}: across a clock change each bar's count is that of the list behind it`, async (t) => {
    const service = await serviceOf(t, kind);
    // One every seven minutes, some of them outside the range.
    const events = Array.from({ length: 100 }, (_, i) => ({
      text: `event ${i}`,
      created: RANGE.from - 70 * MINUTE_MS + i * 7 * MINUTE_MS,
    }));
    const posted = await fetch(`${service.postUrl}/1/logs/${LOG}/events`, {
      method: "POST",
      headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify(events),
    });
    t.is(posted.status, 201, await posted.clone().text());
    await until(async () => (await ask(service, "GET events COLUMNS(COUNT)"))[0]?.count === "100", {
      what: "the events",
    });
    const query = readQuery("GET events // of the night")!;
    for (const step of STEPS) {
      const grouped = readQuery(withClause(query, "groupBy", `GROUPBY ${step.key} COLUMNS(KEY, COUNT) FILL`))!;
      const groups = new Map((await ask(service, withRange(grouped, RANGE))).map(({ key, count }) => [key, count]));
      const bars = barsOfRange(step, RANGE, ZONE);
      t.deepEqual(bars.map(({ key }) => key).sort(), [...groups.keys()].sort(), step.key);
      for (const bar of bars) {
        const list = await ask(service, withRange(readQuery("GET events TAKE 500")!, bar));
        t.is(String(list.length), groups.get(bar.key)!, `${step.key} ${bar.key}`);
      }
    }
  });
}
