import type { estypes } from "@elastic/elasticsearch";

import { interleaved, time_ms } from "./frame.ts";
import type { Bench, Benchmark } from "./frame.ts";
import type { Dataset } from "./support/datasets.ts";
import { LOG, RARE_SOURCE, RARE_TAG } from "./support/events.ts";
import { askService, compareWithBare, isLog, ROW_COLUMNS, ROWS } from "./support/questions.ts";
import type { Question } from "./support/questions.ts";

const TARGET = { kind: "at most", value: 1.25 } as const;
const COUNTED = 10_000;
const DEEP_TARGET = { kind: "at most", value: 5 } as const;
const NEWEST_FIRST: estypes.SortCombinations[] = [{ created: "desc" }, { id: "desc" }];
const SOURCE: estypes.SearchSourceConfig = { excludes: ["data", "folded"] };

/** Lists of which the bare queries count as far as the service does. */
export const LISTS: readonly Question[] = [
  {
    name: "newest 100",
    path: "/events",
    parameters: { order: "desc", pagesize: "100" },
    sql: `select ${ROW_COLUMNS}, (select count(*) from (select 1 from events where log = '${LOG}' limit ${COUNTED}))
      from events where log = '${LOG}'
      order by created desc, id_hi desc, id_lo desc limit 100`,
    search: { query: isLog(), sort: NEWEST_FIRST, size: 100, track_total_hits: COUNTED, _source: SOURCE },
    sizes: ROWS,
    target: TARGET,
  },
  {
    name: "newest 100 of a tag and a source",
    path: "/events",
    parameters: { order: "desc", pagesize: "100", tags: RARE_TAG, source: RARE_SOURCE },
    sql: `select ${ROW_COLUMNS}, count(*) over () from events
      where log = '${LOG}' and list_contains(tags, '${RARE_TAG}') and source = '${RARE_SOURCE}'
      order by created desc, id_hi desc, id_lo desc limit 100`,
    search: {
      query: {
        bool: { filter: [isLog(), { term: { "folded.tags": RARE_TAG } }, { term: { "folded.source": RARE_SOURCE } }] },
      },
      sort: NEWEST_FIRST,
      size: 100,
      track_total_hits: COUNTED,
      _source: SOURCE,
    },
    sizes: ROWS,
    target: TARGET,
  },
];

export const benchmark: Benchmark = {
  name: "list",
  about:
    "newest 100; newest 100 of a tag and a source; page 1,000 of 500; 1,000,000 events " +
    "(by name also the lists of 100,000 with texts of 2 KB) | the bare engine's query; the first page",
  async run(bench) {
    const { world, quick, named } = bench;
    const dataset = await world.dataset(quick ? 10_000 : 1_000_000);
    for (const question of LISTS) await compareWithBare(bench, dataset, question);
    await compareDeepPage(bench, dataset);
    if (!named) return;
    const long = await world.dataset(quick ? 2_000 : 100_000, "long");
    for (const { target: _, ...question } of LISTS) {
      await compareWithBare(bench, long, { ...question, name: `${question.name}, texts of 2 KB` });
    }
  },
};

/** Compares the first page with the one in the middle, which is far from both ends. */
async function compareDeepPage({ report, quick }: Bench, dataset: Dataset): Promise<void> {
  const page = (number: number): (() => Promise<number>) => {
    const parameters = { pagesize: "500", pagenum: String(number) };
    return () => time_ms(() => askService(dataset, { ...LISTS[0]!, parameters }));
  };
  const number = dataset.count / 500 / 2;
  const [first, deep] = await interleaved(
    [
      { name: "page 1 of 500", once: page(1) },
      { name: `page ${number.toLocaleString("en-US")} of 500`, once: page(number) },
    ],
    quick ? { least: 3 } : { least: 5, most: 60, budget_ms: 3_000 },
  );
  const name = `a deep page relative to the first, ${dataset.storage.kind}`;
  report.ratio({ name, unit: "ms", ours: deep!, limit: first!, target: DEEP_TARGET });
}
