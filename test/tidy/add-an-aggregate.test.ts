import test from "ava";

import { Scheduler } from "../../src/scheduling/scheduler.ts";
import type { EventRow } from "../../src/events/event.ts";
import type { PlannedGroups } from "../../src/query/planned-query.ts";
import type { planQuery } from "../../src/query/planner.ts";
import { fixedZone } from "../../src/query/zone.ts";
import type { aggregateComputation } from "../../src/store/elasticsearch/read/groups/aggregates.ts";
import type { groupsOfRows } from "../../src/store/elasticsearch/read/groups/group-rows.ts";
import type { completionContextAt } from "../../src/web/features/editor/completion-context.ts";
import { event, MORNING, newLog } from "../contract/store-fixture.ts";
import { eventsOf } from "../ingest/posting.ts";
import type { NUMBER_MEANINGS } from "../reference/number-aggregates.ts";
import { get, LOG, postOnce } from "../support/service.ts";
import { codeOfGuide, ServiceCopy } from "./guides.ts";

const NAMES = "src/query/plan.ts";
const ROWS = "src/store/number-aggregates.ts";
const MEANINGS = "test/reference/number-aggregates.ts";
const GROUPS = "src/store/elasticsearch/read/groups";

test("an aggregate that is added by the guide is computed by both stores and completed", async (t) => {
  const copy = new ServiceCopy(t);
  const code = codeOfGuide("Add an aggregate");
  t.deepEqual([...code.keys()], [NAMES, ROWS, MEANINGS]);
  copy.change(NAMES, /(NUMBER_AGGREGATES = \[)/, `$1${code.get(NAMES)!}`);
  copy.change(ROWS, /(NUMBER_AGGREGATIONS.* = \{\n)/, `$1${code.get(ROWS)!.replaceAll("$", "$$$$")}`);
  copy.change(MEANINGS, /(NUMBER_MEANINGS.* = \{\n)/, `$1${code.get(MEANINGS)!}`);
  await copy.checkTypes();
  const meanings = await copy.import<{ NUMBER_MEANINGS: typeof NUMBER_MEANINGS }>(MEANINGS);
  const { spread } = meanings.NUMBER_MEANINGS as unknown as Record<string, { compute(of: number[]): number }>;

  const service = await copy.start(t);
  await postOnce(service, [
    { text: "1", source: "web", value: 4, tags: ["a", "b"], attributes: { took: [1, "2.5"] } },
    { text: "2", source: "web", value: -1.5, tags: ["b"], attributes: { took: 9 } },
    { text: "3", source: "api", value: 7, tags: ["a", "c"], attributes: { took: 40 } },
    { text: "4", source: "job", tags: ["b"] },
  ]);
  await eventsOf(service, 4);
  const query = async (lql: string): Promise<unknown> =>
    (await get(service, `/1/logs/${LOG}/query?query=${encodeURIComponent(lql)}`)).body;
  t.deepEqual(await query("GET events COLUMNS(SPREAD, Spread(@took) AS took)"), [
    { spread: String(spread!.compute([-1.5, 4, 7])), took: String(spread!.compute([1, 2.5, 9, 40])) },
  ]);
  t.deepEqual(await query("GET events GROUPBY source COLUMNS(KEY, SPREAD(@took)) SORT SPREAD(@took) DESC"), [
    { key: "web", "spread(@took)": "8" },
    { key: "api", "spread(@took)": "0" },
    { key: "job", "spread(@took)": "0" },
  ]);
  t.deepEqual(await query("GET events GROUPBY source COLUMNS(KEY) HAVING SPREAD > 5"), [{ key: "web" }]);
  t.deepEqual(await query("GET events GROUPBY tags COLUMNS(KEY, SPREAD)"), [
    { key: "a", spread: "3" },
    { key: "b", spread: "5.5" },
    { key: "c", spread: "0" },
  ]);
  const usual = (await query("GET events GROUPBY source")) as object[];
  t.deepEqual(Object.keys(usual[0]!), ["key", "count", "avg", "sum", "min", "max"]);

  const log = newLog();
  const planner = await copy.import<{ planQuery: typeof planQuery }>("src/query/planner.ts");
  const context = { logs: [log], now_ms: MORNING, zone: fixedZone(0) };
  const lql = "GET events GROUPBY source COLUMNS(SPREAD, MAX, SPREAD(@took)) SORT SPREAD DESC TAKE 2";
  const { plan } = planner.planQuery(lql, context) as PlannedGroups;
  const elasticsearch = await copy.import<{ aggregateComputation: typeof aggregateComputation }>(
    `${GROUPS}/aggregates.ts`,
  );
  const { aggs, read } = elasticsearch.aggregateComputation(plan, {}, "estimated");
  t.deepEqual(aggs, {
    "stats of value": { stats: { field: "value" } },
    "stats of indexed.numbers.took": { stats: { field: "indexed.numbers.took" } },
  });
  const stats = { count: 2, sum: 2.5, min: -1.5, max: 4 };
  const none = { count: 0, sum: 0, min: null, max: null };
  const bucket = { key: "web", doc_count: 3, "stats of value": stats, "stats of indexed.numbers.took": none };
  t.deepEqual(read(bucket), [5.5, 4, null]);

  const rows = [4, null, -1.5].map((value): EventRow => {
    return { ...event(log, { source: "web", value }), hash: "", data: false };
  });
  const inMemory = await copy.import<{ groupsOfRows: typeof groupsOfRows }>(`${GROUPS}/group-rows.ts`);
  t.deepEqual(
    [...(await inMemory.groupsOfRows(plan, rows, new Scheduler().querying))],
    [{ keys: ["web"], values: [5.5, 4, null] }],
  );

  const page = await copy.import<{ completionContextAt: typeof completionContextAt }>(
    "src/web/features/editor/completion-context.ts",
  );
  t.true(page.completionContextAt("GET events COLUMNS(S", 20)!.words.includes("SPREAD("));
  t.is(page.completionContextAt("GET events COLUMNS(SPREAD(", 26)!.fields, "numbers");
});
