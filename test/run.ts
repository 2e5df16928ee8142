/**
 * Runs tests: `node test/run.ts [--fast | --long] [--repeat=N] [names] [options of ava]`. Names are
 * files or folders below `test/`. Starts the engines that the chosen files need, once for all of
 * them, runs ava, stops what it started, lists the slowest files and what failed, and ends with one
 * line, `N passed, N failed`.
 *
 * TEST_ENGINES=embedded: without Kafka and Elasticsearch. TEST_KAFKA_BROKERS and
 * TEST_ELASTICSEARCH_URL: with engines that are already running.
 */
import { constants } from "node:os";

import { startEngines } from "../infra/engines/start.ts";
import type { Engines } from "../infra/engines/start.ts";
import { StartError } from "../src/errors.ts";
import { runAva } from "./runner/ava.ts";
import { readArguments } from "./runner/arguments.ts";
import type { Arguments } from "./runner/arguments.ts";
import { repeat } from "./runner/repeat.ts";
import { selectFiles } from "./runner/selection.ts";
import type { Selection } from "./runner/selection.ts";
import type { Tally } from "./runner/tally.ts";
import { listSlowest } from "./runner/times.ts";

/**
 * Options of the engines' JVMs. They run for minutes, so code that is compiled faster uses less
 * processor time than code that runs faster.
 */
const JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

const UNABLE: Tally = { passed: 0, failed: 1, skipped: 0, failures: [] };

process.env["ENGINES_JVM_OPTIONS"] ??= JVM_OPTIONS;

const interruption = new AbortController();
let exitCodeOfSignal = 0;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    exitCodeOfSignal = 128 + constants.signals[signal];
    interruption.abort();
  });
}

const { passed, failed } = await runChosen(process.argv.slice(2));
console.log(`${passed} passed, ${failed} failed`);
process.exit(exitCodeOfSignal || (failed > 0 ? 1 : 0));

async function runChosen(args: readonly string[]): Promise<Tally> {
  let given: Arguments;
  let selection: Selection;
  try {
    given = readArguments(args);
    selection = selectFiles(process.cwd(), given.suite, given.names);
    const { files, leftOut } = selection;
    if (files.length === 0) throw new Error(["No test file is left to run.", ...leftOut].join(" "));
  } catch (error) {
    console.error((error as Error).message);
    return UNABLE;
  }
  for (const line of selection.leftOut) console.log(line);
  const tally = await runWithEngines(given, selection);
  for (const line of selection.leftOut) console.log(line);
  return tally;
}

async function runWithEngines(given: Arguments, { files, needs }: Selection): Promise<Tally> {
  const run = { args: [...given.options, ...files], signal: interruption.signal, isFast: needs.size === 0 };
  const needsCluster = needs.has("Kafka and Elasticsearch");
  if (process.env["TEST_ENGINES"] === "embedded") {
    const what = "TEST_ENGINES=embedded: tests that need Kafka or Elasticsearch";
    if (needsCluster) console.log(`${what} are left out.`);
    const tally = await runTests(given, { ...run, environment: {} });
    if (needsCluster) console.log(`${what} were left out (${tally.skipped} skipped).`);
    return tally;
  }
  if (!needsCluster) {
    console.log("Kafka and Elasticsearch are not started: none of these tests needs them.");
    return runTests(given, { ...run, environment: {} });
  }
  const engines = await startForTests();
  if (!engines) return UNABLE;
  try {
    const environment = {
      TEST_KAFKA_BROKERS: engines.kafkaBrokers.join(","),
      TEST_ELASTICSEARCH_URL: engines.elasticsearchUrl,
    };
    return await runTests(given, { ...run, environment });
  } finally {
    await engines.close();
  }
}

/** Returns null if they are unavailable; the reason was printed. */
async function startForTests(): Promise<Engines | null> {
  try {
    return await startEngines({ say: (line) => console.log(line), signal: interruption.signal });
  } catch (error) {
    if (interruption.signal.aborted) return null;
    console.error(error instanceof StartError ? error.message : error);
    console.error(
      "The engines for the tests could not be started. TEST_ENGINES=embedded runs the tests that need none.",
    );
    return null;
  }
}

async function runTests({ repetitions }: Arguments, run: Omit<Parameters<typeof runAva>[0], "print">): Promise<Tally> {
  if (repetitions > 1) return repeat(repetitions, run);
  const { times, ...tally } = await runAva({ ...run, print: (line, stream) => stream.write(`${line}\n`) });
  if (times.length > 1) console.log(["The slowest files:", ...listSlowest(times)].join("\n  "));
  // Repeated below ava's report, which may be long.
  if (tally.failures.length > 0) console.log(["Failed:", ...tally.failures].join("\n  "));
  return tally;
}
