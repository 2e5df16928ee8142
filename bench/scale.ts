import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { interleaved, median, show, time_ms } from "./frame.ts";
import type { Bench, Benchmark, Unit } from "./frame.ts";
import { batchesOf } from "./support/batches.ts";
import { ask, holds } from "./support/client.ts";
import { batchRequest, createRandom, DAY_MS, DAYS, END_MS, RARE_SOURCE, RARE_TAG } from "./support/events.ts";
import { clearPlace, startService } from "./support/places.ts";
import type { ServiceProcess } from "./support/processes.ts";
import { atRest } from "./support/rest.ts";

/** How many events are loaded; a hundredth of them is the other end of growth. */
const { SCALE_EVENTS = "10000000" } = process.env;
const MB = 1_000_000;
/** Events of a request, and of what is made and sent at a time. */
const BATCH = 1_000;
const CHUNK = 100_000;
const CHUNK_TIMEOUT_MS = 300_000;
/** All are to be found so long after the last was taken, or as long as they take at this rate. */
const PATIENCE_MS = 120_000;
const LEAST_PER_MS = 2;
const TAGS = ["http", "cart", "login", "cache", "db", "mail", "search", "batch", "error", "slow", "deploy", RARE_TAG];
const USERS = 5_000;

/** What is measured, and what it is to come to at ten million events. */
type Row = { readonly name: string; readonly unit: Unit; readonly goal: string };
type Question = Row & { readonly paths: (random: (below: number) => number, count: number) => Path[] };
type Path = readonly [path: string, parameters: Readonly<Record<string, string>>];

const NEWEST = { order: "desc", pagesize: "100" };
const BY_DAY = "GROUPBY DAY COLUMNS(KEY, COUNT, SUM, MIN, MAX)";

const QUESTIONS: readonly Question[] = [
  {
    name: "one event by a word of its text",
    unit: "ms",
    goal: "10",
    paths: (random, count) => [["/events", { ...NEWEST, text: requestOf(random(count)) }]],
  },
  {
    name: "a word that no text has",
    unit: "ms",
    goal: "",
    paths: (random) => [["/events", { ...NEWEST, text: requestOf(-1 - random(1e9)) }]],
  },
  {
    name: "newest 100 of a tag and a source",
    unit: "ms",
    goal: "20",
    paths: () => [["/events", { ...NEWEST, tags: RARE_TAG, source: RARE_SOURCE }]],
  },
  {
    name: "expression, first 1,000 (two pages)",
    unit: "ms",
    goal: "400",
    paths: () =>
      ["1", "2"].map((pagenum): Path => ["/events", { pagesize: "500", pagenum, text: "timeout.*id=9[0-9]{3}" }]),
  },
  {
    name: `newest 100 of one user of ${USERS.toLocaleString("en-US")}`,
    unit: "ms",
    goal: "50",
    paths: (random) => [["/events", { ...NEWEST, user: `user-${random(USERS)}` }]],
  },
  { name: "newest 100", unit: "ms", goal: "10", paths: () => [["/events", NEWEST]] },
  {
    name: "count, sum, min, max by day",
    unit: "ms",
    goal: "70",
    paths: () => [["/query", { query: `GET events ${BY_DAY}` }]],
  },
  {
    name: "the same of a tag",
    unit: "ms",
    goal: "100",
    paths: () => [["/query", { query: `GET events WHERE tags = 'error' ${BY_DAY}` }]],
  },
  {
    name: "top 10 of the users by sum",
    unit: "ms",
    goal: "100",
    paths: () => [["/query", { query: "GET events GROUPBY user COLUMNS(KEY, SUM) SORT SUM DESC TAKE 10" }]],
  },
];
const ACCEPTED: Row = { name: "accepted", unit: "/s", goal: "240,000" };
const FOUND: Row = { name: "until all are found", unit: "/s", goal: "150,000" };
const DISK: Row = { name: "on disk, all files", unit: "MB", goal: "524" };
const MEMORY: Row = { name: "resident memory, highest", unit: "MB", goal: "524" };

/** The id of a request, which one text has. */
function requestOf(i: number): string {
  return createHash("sha256").update(String(i)).digest("hex").slice(0, 12);
}

function eventOf(i: number, count: number, random: (below: number) => number): object {
  const what =
    random(100) === 0
      ? `timeout after ${random(3_000)} ms of payment-${random(9)} id=${random(500_000)} for customer ${random(90_000)}`
      : `GET /api/orders/${random(90_000)} answered 200 for customer ${random(5_000)} in ${random(3_000)} ms,`;
  const text = `${what} request=${requestOf(i)}`;
  return {
    created: END_MS - DAYS * DAY_MS + Math.floor((i / count) * DAYS * DAY_MS),
    text: text.padEnd(98, " ok"),
    tags: [TAGS[Math.min(random(TAGS.length), random(TAGS.length))]!, `host-${random(8)}`],
    source: `web-${String(random(50) + 1).padStart(2, "0")}`,
    user: `user-${random(USERS)}`,
    value: random(100_000) / 100,
  };
}

export const benchmark: Benchmark = {
  name: "scale",
  about: "ten million events of 98 characters (SCALE_EVENTS=1000000: so many) | a hundredth of them, and goals",
  kind: "embedded",
  isApart: true,
  async run(bench) {
    const count = bench.quick ? 100_000 : Number(SCALE_EVENTS);
    if (!(count >= 100 * BATCH)) throw new RangeError(`SCALE_EVENTS is ${SCALE_EVENTS}; ${100 * BATCH} is the least`);
    const counts = [count / 100, count];
    const columns: Map<string, number>[] = [];
    for (const each of counts) columns.push(await measure(bench, each));
    bench.report.table([
      ["", ...counts.map((each) => each.toLocaleString("en-US")), "growth", "goal at 10,000,000"],
      ...[...QUESTIONS, ACCEPTED, FOUND, DISK, MEMORY].map(({ name, unit, goal }) => {
        const [few = NaN, many = NaN] = columns.map((figures) => figures.get(name) ?? NaN);
        const shown = [few, many].map((figure) => `${show(figure, unit)} ${unit}`);
        return [name, ...shown, `${show(many / few, "×")} ×`, goal];
      }),
    ]);
  },
};

async function measure(bench: Bench, count: number): Promise<Map<string, number>> {
  const figures = new Map<string, number>();
  const place = await bench.world.place();
  if (place.kind !== "embedded") throw new TypeError("this is of embedded engines alone");
  {
    await using service = await startService(place);
    await load(bench, service, count, figures);
    // What was written last is not yet where it is to stay.
    await atRest(2_000);
    for (const question of QUESTIONS) figures.set(question.name, await time(bench, service, question, count));
    figures.set(MEMORY.name, highestResident(service.pid) / MB);
    figures.set(DISK.name, sizeOfFolder(place.folder) / MB);
  }
  await clearPlace(place);
  return figures;
}

/** Posts all events in batches, made a part at a time, and waits until a list counts all of them. */
async function load(
  { world }: Bench,
  service: ServiceProcess,
  count: number,
  figures: Map<string, number>,
): Promise<void> {
  const generator = await world.generator();
  const random = createRandom(11);
  let sending_ms = 0;
  for (let start = 0; start < count; start += CHUNK) {
    const length = Math.min(CHUNK, count - start);
    const lines = Array.from({ length }, (_, i) => JSON.stringify(eventOf(start + i, count, random)));
    const requests = batchesOf(lines, BATCH).map((batch) => batchRequest(batch.join("\n")));
    const job = { host: "127.0.0.1", port: service.postPort, connections: 4, requests, perSecond: null, once: true };
    sending_ms += (await generator.run({ ...job, duration_ms: CHUNK_TIMEOUT_MS, expect: 201 })).took_ms;
  }
  const rest_ms = await time_ms(() => holds(service.apiPort, count, Math.max(PATIENCE_MS, count / LEAST_PER_MS)));
  figures.set(ACCEPTED.name, count / (sending_ms / 1000));
  // While events are made here the service catches up, which this does not count.
  figures.set(FOUND.name, count / ((sending_ms + rest_ms) / 1000));
}

async function time({ quick }: Bench, service: ServiceProcess, question: Question, count: number): Promise<number> {
  const random = createRandom(count + question.name.length);
  const once = (): Promise<number> => {
    const paths = question.paths(random, count);
    return time_ms(async () => {
      for (const [path, parameters] of paths) await ask(service.apiPort, path, parameters);
    });
  };
  await once();
  const [figures] = await interleaved(
    [{ name: question.name, once }],
    quick ? { least: 3 } : { least: 7, most: 40, budget_ms: 5_000 },
  );
  return median(figures!.rounds);
}

/** In bytes, by what Linux kept. */
function highestResident(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes ?? NaN) * 1024;
}

function sizeOfFolder(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
