/**
 * `node bench/run.ts [--quick] [--embedded] [NAME…]`: runs all benchmarks or those named; `--list`
 * lists them.
 *
 * They run on embedded engines, then on a cluster. Some run only by name. Each measures Loggia and
 * a limit in the same run, in turns, so that noise of the machine affects both; the ratio counts.
 * The exit code is 1 if a target was missed or a benchmark failed, with --quick only if one failed.
 */
import { availableParallelism, constants, cpus, loadavg, totalmem } from "node:os";
import { parseArgs } from "node:util";

import { BENCHMARKS } from "./benchmarks.ts";
import { createReport } from "./frame.ts";
import type { Benchmark, Verdict } from "./frame.ts";
import type { Kind } from "./support/storage.ts";
import { World } from "./support/world.ts";

const KINDS: readonly Kind[] = ["embedded", "cluster"];

type Options = { readonly quick: boolean; readonly embedded: boolean; readonly named: boolean };

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { list: { type: "boolean" }, quick: { type: "boolean" }, embedded: { type: "boolean" } },
  });
  if (values.list) {
    for (const { name, about } of BENCHMARKS) console.log(`${name.padEnd(10)} ${about}`);
    return 0;
  }
  const unknown = positionals.filter((name) => !BENCHMARKS.some((benchmark) => benchmark.name === name));
  if (unknown.length > 0) {
    console.error(`Unknown benchmark: ${unknown.join(", ")}. Known: ${BENCHMARKS.map(({ name }) => name).join(", ")}`);
    return 2;
  }
  const chosen = BENCHMARKS.filter(({ name, isOptIn = false }) =>
    positionals.length === 0 ? !isOptIn : positionals.includes(name),
  );
  return runAll(chosen, {
    quick: values.quick ?? false,
    embedded: values.embedded ?? false,
    named: positionals.length > 0,
  });
}

async function runAll(chosen: readonly Benchmark[], { quick, embedded, named }: Options): Promise<number> {
  const report = createReport(console.log);
  const start_ms = performance.now();
  console.log(describeMachine(quick));
  if (embedded) {
    for (const { name } of chosen.filter(({ kind }) => kind === "cluster")) {
      report.line(`\n${name} is skipped: it runs on a cluster only`);
    }
  }
  const failed: string[] = [];
  // One after the other: embedded engines are measured before this run has started any others.
  for (const kind of embedded ? KINDS.slice(0, 1) : KINDS) {
    const world = new World(kind, console.log);
    const signals = endWith(world);
    for (const { name, about, run } of chosen.filter((benchmark) => (benchmark.kind ?? kind) === kind)) {
      const begin_ms = performance.now();
      report.line(`\n${name}, ${kind}: ${about}`);
      try {
        await run({ quick, named, world, report });
      } catch (error) {
        console.error(`  ${name} FAILED:`, error);
        failed.push(`${name}, ${kind}`);
      }
      report.line(`  (${((performance.now() - begin_ms) / 1000).toFixed(0)} s)`);
    }
    await world[Symbol.asyncDispose]().catch((error: unknown) => {
      console.error(`  cannot remove the data of the benchmarks from the ${kind} engines:`, error);
      failed.push(`clearing, ${kind}`);
    });
    signals[Symbol.dispose]();
  }
  const missed = report.verdicts.filter(({ reached }) => !reached);
  console.log(summary(report.verdicts, missed, failed, start_ms));
  return failed.length > 0 || (missed.length > 0 && !quick) ? 1 : 0;
}

function describeMachine(quick: boolean): string {
  const lines = [
    `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB, ` +
      `Node ${process.version}, load before: ${loadavg()[0]!.toFixed(1)}`,
    "The load generator, the service (a separate process) and the engines share these cores, " +
      "also while limits are measured.",
    "Figures: median of the rounds (10th to 90th percentile).",
  ];
  if (quick) lines.push("--quick: checks that the benchmarks work; the figures are not meaningful.");
  return lines.join("\n");
}

function summary(
  all: readonly Verdict[],
  missed: readonly Verdict[],
  failed: readonly string[],
  start_ms: number,
): string {
  const lines = [
    `\n${all.length - missed.length} of ${all.length} targets reached, in ${Math.round((performance.now() - start_ms) / 1000)} s`,
  ];
  for (const { name, text } of missed) lines.push(`  missed: ${name}: ${text}`);
  for (const name of failed) lines.push(`  failed: ${name}`);
  return lines.join("\n");
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Cleans up on a signal, so that an interrupted run leaves nothing behind. */
function endWith(world: World): Disposable {
  const end = (signal: NodeJS.Signals): void => {
    const code = 128 + constants.signals[signal];
    world[Symbol.asyncDispose]().then(
      () => process.exit(code),
      () => process.exit(code),
    );
  };
  for (const signal of SIGNALS) process.once(signal, end);
  return {
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.off(signal, end);
    },
  };
}

process.exitCode = await main();
