import test from "ava";

import { LoggiaError } from "../../src/errors.ts";
import type { LogKey } from "../../src/events/event.ts";
import type { Condition } from "../../src/query/plan.ts";
import { QueryTooSlow } from "../../src/store/duckdb/database/errors.ts";
import { runWithinTime } from "../../src/store/within-time.ts";
import { groupPlan, listPlan } from "../contract/store-fixture.ts";

const log = "shop" as LogKey;
const searched: Condition = { kind: "contains", field: "data", value: "pool" };
const [first, last] = [Date.UTC(2026, 10, 27, 8), Date.UTC(2026, 10, 27, 16) - 1];

function run(
  plan: Parameters<typeof runWithinTime>[0],
  error: Error,
  count: number | null = 100_000,
): Promise<unknown> {
  return runWithinTime(plan, {
    run: () => Promise.reject(error),
    isTooSlow: (some) => some instanceof QueryTooSlow,
    extentOf: async () => (count === null ? null : { count, first, last }),
  });
}

test("a search of data that takes too long names a shorter time", async (t) => {
  const slow = new QueryTooSlow(30_000, null);
  const message = (range: string) =>
    "The data of the events could not be searched in the time that a query has: " +
    `ask for a shorter time, or for whole words that the data contains, for example ${range}`;
  const plan = listPlan(log, { where: searched });
  await t.throwsAsync(run(plan, slow), { code: "too_wide", message: message("OCCURS('2026-11-27T14:00Z')") });
  const many = 32_000_000;
  await t.throwsAsync(run(plan, slow, many), { code: "too_wide", message: message("OCCURS('2026-11-27T15:45Z')") });
  const upTo: Condition = { kind: "number", field: "created", op: "<", value: Date.UTC(2026, 10, 27, 12) };
  const within = listPlan(log, { where: { kind: "and", conditions: [{ kind: "not", condition: searched }, upTo] } });
  await t.throwsAsync(run(within, slow), {
    code: "too_wide",
    message: message("OCCURS('2026-11-27T11:00Z', '2026-11-27T12:00Z')"),
  });
  const counted = groupPlan(log, { aggregates: [{ kind: "count", where: searched }] });
  await t.throwsAsync(run(counted, slow), { code: "too_wide" });
});

test("other queries and other errors are what they were", async (t) => {
  await t.throwsAsync(run(listPlan(log), new QueryTooSlow(30_000, null)), { code: "overloaded" });
  const unavailable = new LoggiaError("store_unavailable", "The store is away");
  await t.throwsAsync(run(listPlan(log, { where: searched }), unavailable), { is: unavailable });
});

test("a search of data stays unavailable while the engine does not answer what it holds", async (t) => {
  const slow = new QueryTooSlow(30_000, null);
  await t.throwsAsync(run(listPlan(log, { where: searched }), slow, null), { is: slow });
});
