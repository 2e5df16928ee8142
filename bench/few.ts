import { interleaved, time_ms } from "./frame.ts";
import type { Benchmark, Target } from "./frame.ts";
import { ask } from "./support/client.ts";
import { RARE_SOURCE, RARE_TAG, RARE_WORDS } from "./support/events.ts";

const NEWEST = { order: "desc" };

type Question = {
  readonly name: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly target?: Target;
};

/** Queries that cost an engine little show the overhead of a request. */
const QUESTIONS: readonly Question[] = [
  {
    name: "newest 10",
    path: "/events",
    parameters: { ...NEWEST, pagesize: "10" },
    target: { kind: "at most", value: 2.5 },
  },
  {
    name: "newest 100",
    path: "/events",
    parameters: { ...NEWEST, pagesize: "100" },
    target: { kind: "at most", value: 4 },
  },
  { name: "a word", path: "/events", parameters: { ...NEWEST, text: RARE_WORDS[0]! } },
  { name: "a tag and a source", path: "/events", parameters: { ...NEWEST, tags: RARE_TAG, source: RARE_SOURCE } },
  { name: "by day", path: "/query", parameters: { query: "GET events GROUPBY DAY" } },
];

const WARM_MS = 5_000;

export const benchmark: Benchmark = {
  name: "few",
  kind: "embedded",
  about: "queries of 20,000 events, measured at the socket | 2.5 ms for a list of 10, 4 ms for a list of 100",
  async run({ world, quick, report }) {
    const { service } = await world.dataset(20_000);
    const variants = QUESTIONS.map(({ name, path, parameters }) => ({
      name,
      once: () => time_ms(() => ask(service.apiPort, path, parameters)),
    }));
    if (!quick) await interleaved(variants, { least: 5, most: Infinity, budget_ms: WARM_MS });
    const busy_ms = service.cpuTime_ms();
    const figures = await interleaved(variants, quick ? { least: 3 } : { least: 5, most: 400, budget_ms: 10_000 });
    const asked = figures.reduce((sum, { rounds }) => sum + rounds.length, 0);
    for (const [i, { name, target }] of QUESTIONS.entries()) {
      report.figure({ name, unit: "ms", ours: figures[i]!, ...(target && { target }) });
    }
    const each_ms = ((service.cpuTime_ms() - busy_ms) / asked).toFixed(2);
    report.line(`  CPU time of the service per query: ${each_ms} ms`);
  },
};
