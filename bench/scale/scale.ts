import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { show } from "../frame.ts";
import type { Bench, Benchmark } from "../frame.ts";
import { cpuTimeOfThreads } from "../support/processes.ts";
import { waitUntilIdle } from "../support/idle.ts";
import type { Contender } from "./contender.ts";
import { startLoggia } from "./loggia.ts";
import { ACCEPTED, countOf, FOUND, load, MB, time } from "./measure.ts";
import { QUESTIONS } from "./questions.ts";
import type { Row } from "./questions.ts";
import { startVictoriaLogs } from "./victoria-logs.ts";

/** Executable of a peer, and a setting of the service; empty for none. */
const { PEER_VICTORIALOGS = "", LOGGIA_BUS_KEEP = "" } = process.env;

const DISK: Row = { name: "on disk, all files", unit: "MB", goal: "524" };
const BUS: Row = { name: "of that, the bus", unit: "MB", goal: "" };
const STORE: Row = { name: "of that, everything else", unit: "MB", goal: "" };
const MEMORY: Row = { name: "resident memory, peak", unit: "MB", goal: "524" };
const OWN: Row = { name: "anonymous (RssAnon), peak", unit: "MB", goal: "" };
const MAPPED: Row = { name: "file-backed (RssFile), peak", unit: "MB", goal: "" };
const ROWS: readonly Row[] = [...QUESTIONS, ACCEPTED, FOUND, DISK, BUS, STORE, MEMORY, OWN, MAPPED];
/** Interval of memory samples. Linux records the peak only of the total, not of its parts. */
const POLL_MS = 50;

type Column = {
  readonly head: string;
  /** By name of the row. */
  readonly figures: Map<string, number>;
  /** Number of records in the first response to each query, by name. */
  readonly records: Map<string, number>;
};

export const benchmark: Benchmark = {
  name: "scale",
  about:
    "ten million events of 98 characters (SCALE_EVENTS: another number) | 1/100 of them, goals, " +
    "and VictoriaLogs if PEER_VICTORIALOGS names its program (LOGGIA_BUS_KEEP: as the service has it)",
  kind: "embedded",
  isOptIn: true,
  async run(bench) {
    const count = countOf(bench);
    if (LOGGIA_BUS_KEEP !== "") bench.report.line(`  the bus keeps LOGGIA_BUS_KEEP=${LOGGIA_BUS_KEEP}`);
    const columns: Column[] = [];
    for (const each of [count / 100, count]) columns.push(await measure(bench, await startLoggia(bench.world), each));
    if (PEER_VICTORIALOGS !== "") {
      const peer = await measure(bench, await startVictoriaLogs(PEER_VICTORIALOGS), count);
      compareRecords(bench, columns.at(-1)!, peer);
      columns.push(peer);
    }
    bench.report.table([
      ["", ...columns.map(({ head }) => head), "growth of Loggia", "goal at 10,000,000"],
      ...ROWS.map(({ name, unit, goal }) => {
        const of = columns.map(({ figures }) => figures.get(name) ?? NaN);
        return [name, ...of.map((each) => `${show(each, unit)} ${unit}`), `${show(of[1]! / of[0]!, "×")} ×`, goal];
      }),
    ]);
  },
};

/** Loads a contender, asks it all queries, and disposes of it. */
async function measure(bench: Bench, contender: Contender, count: number): Promise<Column> {
  await using _ = contender;
  using memory = watchMemory(contender.pid);
  const figures = new Map<string, number>();
  const records = new Map<string, number>();
  const before = cpuTimeOfThreads(contender.pid);
  await load(bench, contender, count, figures);
  const after = cpuTimeOfThreads(contender.pid);
  const perEvent = (ms: number): string => `${((ms * 1000) / count).toFixed(2)} µs`;
  bench.report.line(
    `  ${contender.name}: CPU time per event while loading: ` +
      `main thread ${perEvent(after.main_ms - before.main_ms)}, other threads ${perEvent(after.others_ms - before.others_ms)}`,
  );
  // The last writes are not in their final place yet.
  await waitUntilIdle(2_000);
  for (const question of QUESTIONS) {
    const [found, took_ms] = await time(bench, contender, question, count);
    records.set(question.name, found);
    figures.set(question.name, took_ms);
  }
  figures.set(MEMORY.name, memory.highest().VmHWM / MB);
  figures.set(OWN.name, memory.highest().RssAnon / MB);
  figures.set(MAPPED.name, memory.highest().RssFile / MB);
  const [bus, others] = sizesIn(contender);
  figures.set(DISK.name, (bus + others) / MB);
  figures.set(BUS.name, bus / MB);
  figures.set(STORE.name, others / MB);
  return { head: `${contender.name}, ${count.toLocaleString("en-US")}`, figures, records };
}

/** Reports queries that two contenders answer with different records, which voids their figures. */
function compareRecords({ report }: Bench, ours: Column, theirs: Column): void {
  for (const [name, records] of ours.records) {
    const others = theirs.records.get(name);
    if (others !== records)
      report.line(`  ANSWERS DIFFER, ${name}: ${ours.head} found ${records} records, ${theirs.head} ${others}`);
  }
}

type Memory = Record<"VmHWM" | "RssAnon" | "RssFile", number>;

/** Returns the memory of a process in bytes, as Linux reports it. */
function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (name: keyof Memory): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? NaN) * 1024;
  return { VmHWM: of("VmHWM"), RssAnon: of("RssAnon"), RssFile: of("RssFile") };
}

/** Records the maximum of each value until disposed of. */
function watchMemory(pid: number): Disposable & { readonly highest: () => Memory } {
  const highest = memoryOf(pid);
  const sample = (): Memory => {
    const now = memoryOf(pid);
    for (const name of ["VmHWM", "RssAnon", "RssFile"] as const) highest[name] = Math.max(highest[name], now[name]);
    return highest;
  };
  const timer = setInterval(sample, POLL_MS);
  return { highest: sample, [Symbol.dispose]: () => clearInterval(timer) };
}

/** Returns the sizes of the bus and of all other files in bytes. */
function sizesIn({ folder, isOfBus }: Contender): readonly [bus: number, others: number] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const sizeOf = (ofBus: boolean): number =>
    files
      .filter(({ name }) => isOfBus(name) === ofBus)
      .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  return [sizeOf(true), sizeOf(false)];
}
