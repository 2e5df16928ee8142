import { interleaved, median, quantile, show, time_ms } from "./frame.ts";
import type { Bench, Benchmark, Unit } from "./frame.ts";
import { jobOf, startPosting } from "./post.ts";
import { batchesOf } from "./support/batches.ts";
import { ask, waitForEvents } from "./support/client.ts";
import { sizeOf } from "./support/datasets.ts";
import { batchRequest, RARE_EXPRESSIONS, RARE_SOURCE, RARE_TAG, storedEvents } from "./support/events.ts";
import { clearStorage, startService } from "./support/storage.ts";
import type { ServiceProcess } from "./support/processes.ts";
import { waitUntilIdle } from "./support/idle.ts";

const MB = 1_000_000;
/** Number of events per request. */
const BATCH = 1_000;
const LOAD_TIMEOUT_MS = 300_000;

/**
 * A line of the table: the peers' figures for 500,000 events over 30 days on two cores, and how
 * Loggia is measured.
 */
type Line = { readonly name: string; readonly unit: Unit; readonly victoriaLogs: number; readonly loki: number };

const POSTS: Line = { name: "single posts", unit: "/s", victoriaLogs: 4_607, loki: 4_541 };
const P99: Line = { name: "single posts, p99", unit: "ms", victoriaLogs: 41, loki: 36 };
const ACCEPTED: Line = { name: "events accepted in batches", unit: "/s", victoriaLogs: 206_000, loki: 99_500 };
const SEARCHABLE: Line = {
  name: "events in batches, until all are found",
  unit: "/s",
  victoriaLogs: 144_000,
  loki: 12_000,
};
const RESIDENT: Line = {
  name: "resident memory (ours without the engines of a cluster)",
  unit: "MB",
  victoriaLogs: 588,
  loki: 488,
};
const DISK: Line = { name: "on disk", unit: "MB", victoriaLogs: 34, loki: 117 };

type Question = Line & {
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Expressions, a different one each time, so that no engine answers from a cache. */
  readonly texts?: readonly string[];
};

const DAYS = "GROUPBY DAY COLUMNS(KEY, COUNT, AVG, SUM, MIN, MAX)";
const QUESTIONS: readonly Question[] = [
  { name: "newest 100", unit: "ms", victoriaLogs: 12, loki: 334, path: "/events", parameters: { order: "desc" } },
  {
    name: "newest 100 of a tag and a source",
    unit: "ms",
    victoriaLogs: 16,
    loki: 30,
    path: "/events",
    parameters: { order: "desc", tags: RARE_TAG, source: RARE_SOURCE },
  },
  {
    name: "an expression with few matches",
    unit: "ms",
    victoriaLogs: 114,
    loki: 742,
    path: "/events",
    parameters: { order: "desc" },
    texts: RARE_EXPRESSIONS,
  },
  {
    name: "count, avg, sum, min, max by day",
    unit: "ms",
    victoriaLogs: 19,
    loki: 5_408,
    path: "/query",
    parameters: { query: `GET events ${DAYS}` },
  },
  {
    name: "the same of one tag",
    unit: "ms",
    victoriaLogs: 53,
    loki: 2_464,
    path: "/query",
    parameters: { query: `GET events WHERE tags = 'error' ${DAYS}` },
  },
];

export const benchmark: Benchmark = {
  name: "peers",
  about:
    "500,000 events over 30 days, compared with figures of VictoriaLogs and Loki " +
    "that were measured once on a two-core machine",
  async run(bench) {
    const { world, report } = bench;
    const ours = await measure(bench);
    report.table([
      ["", `Loggia, ${world.kind}`, "VictoriaLogs", "Loki"],
      ...[POSTS, P99, ACCEPTED, SEARCHABLE, ...QUESTIONS, RESIDENT, DISK].map(({ name, unit, victoriaLogs, loki }) => [
        name,
        ...[ours.get(name) ?? NaN, victoriaLogs, loki].map((figure) => `${show(figure, unit)} ${unit}`),
      ]),
    ]);
    report.line(
      "  VictoriaLogs and Loki were measured on an earlier day with a slower client (bare node:http: 9,277 posts/s, p99 13 ms):",
    );
    report.line(
      "  compare orders of magnitude only. On disk: the store, without the bus, which keeps the records of 7 days.",
    );
  },
};

async function measure(bench: Bench): Promise<Map<string, number>> {
  const { world, quick } = bench;
  const figures = new Map<string, number>();
  const generator = await world.generator();
  {
    await using posting = await startPosting(world);
    const rounds = [];
    for (let round = 0; round < (quick ? 1 : 4); round++) {
      const outcome = await generator.run(jobOf(posting.port, quick ? 500 : 3_000, null));
      await posting.settle(outcome.answered);
      if (round > 0 || quick) rounds.push(outcome);
    }
    figures.set(POSTS.name, median(rounds.map(({ perSecond }) => perSecond)));
    figures.set(P99.name, median(rounds.map(({ latencies_ms }) => quantile(latencies_ms, 0.99))));
  }
  const storage = await world.storage();
  {
    await using service = await startService(storage);
    const { accepted, searchable } = await load(bench, service, quick ? 10_000 : 500_000);
    figures.set(ACCEPTED.name, accepted);
    figures.set(SEARCHABLE.name, searchable);
    // The last writes are not in their final place yet.
    await waitUntilIdle(2_000);
    for (const question of QUESTIONS) figures.set(question.name, await time(bench, service, question));
    figures.set(RESIDENT.name, service.residentBytes() / MB);
  }
  figures.set(DISK.name, (await sizeOf(storage)) / MB);
  await clearStorage(storage);
  return figures;
}

/**
 * Posts a month of events with explicit times in batches, and waits until a list counts all of
 * them. Returns events per second.
 */
async function load(
  { world }: Bench,
  service: ServiceProcess,
  count: number,
): Promise<{ accepted: number; searchable: number }> {
  const lines = Array.from(storedEvents(count), ({ created, text, link, tags, source, user, value }) =>
    JSON.stringify({ created, text, link, tags, source, user, value }),
  );
  const requests = batchesOf(lines, BATCH).map((batch) => batchRequest(batch.join("\n")));
  const generator = await world.generator();
  const start_ms = performance.now();
  const job = { host: "127.0.0.1", port: service.postPort, connections: 4, requests, perSecond: null, once: true };
  const { took_ms } = await generator.run({ ...job, duration_ms: LOAD_TIMEOUT_MS, expect: 201 });
  const sending_ms = performance.now() - start_ms;
  await waitForEvents(service.apiPort, count);
  // The transfer of the requests to the generator is excluded.
  const found_ms = performance.now() - start_ms - (sending_ms - took_ms);
  return { accepted: count / (took_ms / 1000), searchable: count / (found_ms / 1000) };
}

async function time(
  { quick }: Bench,
  service: ServiceProcess,
  { name, path, parameters, texts }: Question,
): Promise<number> {
  let asked = 0;
  const text = (): object => (texts === undefined ? {} : { text: texts[asked++ % texts.length]! });
  const once = (): Promise<number> => time_ms(() => ask(service.apiPort, path, { ...parameters, ...text() }));
  await once();
  const [figures] = await interleaved(
    [{ name, once }],
    quick ? { least: 3 } : { least: 5, most: 40, budget_ms: 1_500 },
  );
  return median(figures!.rounds);
}
