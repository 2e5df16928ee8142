import { interleaved, median, show, time_ms } from "./frame.ts";
import type { Bench, Benchmark, Figures } from "./frame.ts";
import { GROUPS } from "./group.ts";
import { LISTS } from "./list.ts";
import { ask } from "./support/client.ts";
import type { Dataset } from "./support/datasets.ts";
import { END_MS, RARE_EXPRESSIONS, RARE_WORDS } from "./support/events.ts";

/** Maximum cost of a flat query at the largest size, relative to the smallest. */
const FLAT = { kind: "at most", value: 2 } as const;
const HOUR_MS = 3_600_000;

type Asked = { readonly name: string; readonly flat: boolean; readonly ask: (dataset: Dataset) => Promise<unknown> };

/** Queries whose results do not grow with the log, and that count no more than they show. */
const FLAT_QUESTIONS: readonly Asked[] = [
  {
    name: "one event by its id",
    flat: true,
    ask: async (dataset) => ask(dataset.service.apiPort, `/events/${await idOf(dataset)}`),
  },
  {
    name: "the last ten by sinceid",
    flat: true,
    ask: async (dataset) => askEvents(dataset, { sinceid: await idOf(dataset) }),
  },
  {
    name: "newest 100 of a span that holds 120",
    flat: true,
    ask: (dataset) => askEvents(dataset, { order: "desc", created: String(END_MS - spanOf(dataset)) }),
  },
];
const QUESTIONS: readonly Asked[] = [
  ...FLAT_QUESTIONS,
  ...LISTS.map(({ name, path, parameters }) => ({
    name,
    flat: false,
    ask: ({ service }: Dataset) => ask(service.apiPort, path, parameters),
  })),
  {
    name: "the middle page of 100",
    flat: false,
    ask: (dataset) => askEvents(dataset, { pagenum: String(dataset.count / 200) }),
  },
  {
    name: "500 by sinceid after the first event",
    flat: false,
    ask: async (dataset) => askEvents(dataset, { sinceid: await firstIdOf(dataset), pagesize: "500" }),
  },
  { name: "expression", flat: false, ask: (dataset) => askEvents(dataset, { text: anyOf(RARE_EXPRESSIONS) }) },
  { name: "word", flat: false, ask: (dataset) => askEvents(dataset, { text: anyOf(RARE_WORDS) }) },
  ...GROUPS.map(({ name, path, parameters }) => ({
    name,
    flat: false,
    ask: ({ service }: Dataset) => ask(service.apiPort, path, parameters),
  })),
];

/** Picks a random text, so that no engine answers from a cache. */
function anyOf(texts: readonly string[]): string {
  return texts[Math.floor(Math.random() * texts.length)]!;
}

/** Returns the span of time in which a data set has enough events for a page of 100. */
function spanOf({ count }: Dataset): number {
  return Math.ceil((30 * 24 * HOUR_MS * 120) / count);
}

function askEvents({ service }: Dataset, parameters: Readonly<Record<string, string>>): Promise<unknown> {
  return ask(service.apiPort, "/events", parameters);
}

/** Returns the id of the eleventh event from the end. */
const idOf = idAt({ order: "desc", pagenum: "11" });
const firstIdOf = idAt({ pagenum: "1" });

/** Requests an id once per data set. */
function idAt(place: Readonly<Record<string, string>>): (dataset: Dataset) => Promise<string> {
  const ids = new WeakMap<Dataset, Promise<string>>();
  return (dataset) => {
    let id = ids.get(dataset);
    if (id === undefined) {
      id = ask(dataset.service.apiPort, "/events", { ...place, pagesize: "1" }).then(
        ({ body }) => (JSON.parse(body) as { id: string }[])[0]!.id,
      );
      ids.set(dataset, id);
    }
    return id;
  };
}

export const benchmark: Benchmark = {
  name: "growth",
  about: "all queries at 10,000, 100,000 and 1,000,000 events | the time at 10,000 where it should not grow",
  run: tabulate,
};

async function tabulate({ world, report, quick }: Bench): Promise<void> {
  const { kind } = world;
  const datasets: Dataset[] = [];
  for (const count of quick ? [1_000, 10_000] : [10_000, 100_000, 1_000_000]) datasets.push(await world.dataset(count));
  const rows: string[][] = [];
  const flat: { name: string; smallest: Figures; largest: Figures }[] = [];
  for (const question of QUESTIONS) {
    for (const dataset of datasets) await question.ask(dataset);
    const variants = datasets.map((dataset) => ({
      name: `${dataset.count.toLocaleString("en-US")} events`,
      once: () => time_ms(() => question.ask(dataset)),
    }));
    const figures = await interleaved(variants, quick ? { least: 3 } : { least: 5, most: 30, budget_ms: 1_000 });
    rows.push([question.name, ...figures.map(({ rounds }) => show(median(rounds), "ms"))]);
    if (question.flat) flat.push({ name: question.name, smallest: figures[0]!, largest: figures.at(-1)! });
  }
  report.table([[`milliseconds, ${kind}`, ...datasets.map(({ count }) => count.toLocaleString("en-US"))], ...rows]);
  for (const { name, smallest, largest } of flat) {
    report.ratio({ name: `flat: ${name}, ${kind}`, unit: "ms", ours: largest, limit: smallest, target: FLAT });
  }
}
