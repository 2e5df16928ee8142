/**
 * Fault-injection tests with an oracle: `node test/chaos/run.ts [NAME…]`; `--list` lists them,
 * `--short` runs their short forms. They run on engines of their own: those that need Kafka and
 * Elasticsearch, in parallel those that need neither, and the soak alone at the end. Prints a table
 * of figures for `docs/reliability.md`.
 */
import { type Chaos, createEnginePool, type Fault, type Figures, runFault } from "./chaos.ts";
import { FAULTS, LANES, LAST } from "./faults.ts";

/**
 * Duration of a whole run. The soak comes last and takes the rest; by itself it takes its full
 * time. On a machine so slow that time runs out, the remaining tests run in their short forms, and
 * the report says so.
 */
const RUN_MINUTES = 30;
const FULL_UNTIL_S = 25 * 60;
const SOAK_S = 20 * 60;
const SOAK_SHORT_S = 8;
const SOAK_LEAST_S = 3 * 60;
/** Time to read back everything that the soak has posted, and to end a run. */
const RESERVE_S = 5 * 60;

type Result = {
  readonly fault: Fault;
  readonly full: boolean;
  readonly took_s: number;
  readonly figures: Figures | null;
};

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith("--"));
const unknown = names.filter((name) => !FAULTS.some((fault) => fault.name === name));
if (unknown.length > 0) {
  console.error(`There is no test named ${unknown.join(", ")}; --list shows all.`);
  process.exitCode = 1;
} else if (args.includes("--list")) {
  for (const { name, passes } of FAULTS) console.log(`${name.padEnd(20)} ${passes}`);
} else {
  const chosen = names.length === 0 ? FAULTS : FAULTS.filter(({ name }) => names.includes(name));
  process.exitCode = (await runAll(chosen, !args.includes("--short"))) ? 0 : 1;
}

async function runAll(faults: readonly Fault[], full: boolean): Promise<boolean> {
  const start_ms = performance.now();
  await using engines = createEnginePool(console.log);
  const runLane = async (lane: readonly Fault[]): Promise<Result[]> => {
    const results: Result[] = [];
    for (const fault of lane.filter((each) => faults.includes(each))) {
      const elapsed_s = (performance.now() - start_ms) / 1000;
      const inFull = full && elapsed_s < FULL_UNTIL_S;
      const soak_s = !inFull ? SOAK_SHORT_S : faults.length === 1 ? SOAK_S : soakTime_s(elapsed_s);
      results.push(await runOne(fault, { full: inFull, engines, soak_s, say: (line) => say(fault, line) }));
    }
    return results;
  };
  const results = (await Promise.all(LANES.map(runLane))).flat();
  results.push(...(await runLane([LAST])));
  report(results);
  return results.every(({ figures }) => figures !== null);
}

/** Returns the rest of a whole run, in seconds. */
function soakTime_s(elapsed_s: number): number {
  return Math.max(SOAK_LEAST_S, Math.min(SOAK_S, RUN_MINUTES * 60 - RESERVE_S - elapsed_s));
}

function say({ name }: Fault, line: string): void {
  console.log(`  ${name}: ${line}`);
}

async function runOne(fault: Fault, chaos: Omit<Chaos, "stack" | "folder">): Promise<Result> {
  console.log(`${fault.name}: ${fault.passes}`);
  const start_ms = performance.now();
  const took_s = (): number => Math.round((performance.now() - start_ms) / 1000);
  try {
    const figures = await runFault(fault, chaos);
    say(fault, `passed after ${took_s()} s: ${describe(figures)}`);
    return { fault, full: chaos.full, took_s: took_s(), figures };
  } catch (error) {
    console.error(`  ${fault.name}: FAILED after ${took_s()} s:`, error);
    return { fault, full: chaos.full, took_s: took_s(), figures: null };
  }
}

function describe(figures: Figures): string {
  return Object.entries(figures)
    .map(([name, figure]) => `${name} ${typeof figure === "number" ? figure.toLocaleString("en-US") : figure}`)
    .join("; ");
}

function report(results: readonly Result[]): void {
  console.log("\n| test | form | took | figures |\n| --- | --- | --- | --- |");
  for (const { fault, full, took_s, figures } of results) {
    console.log(
      `| ${fault.name} | ${full ? "full" : "short"} | ${took_s} s | ${figures === null ? "**failed**" : describe(figures)} |`,
    );
  }
}
