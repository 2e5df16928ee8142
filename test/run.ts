/**
 * Runs the tests: `node test/run.ts [arguments of ava]`. Starts the engines that the tests need,
 * once for all of them, runs ava, stops what it started, lists what failed, and ends with one line,
 * `N passed, N failed`.
 *
 * TEST_ENGINES=embedded: without Kafka and Elasticsearch. TEST_KAFKA_BROKERS and
 * TEST_ELASTICSEARCH_URL: with engines that are already running.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism, constants } from "node:os";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { killAfterExit } from "../infra/engines/guard.ts";
import { startEngines } from "../infra/engines/start.ts";
import type { Engines } from "../infra/engines/start.ts";
import { StartError } from "../src/errors.ts";
import { createTally } from "./support/tally.ts";
import type { Tally } from "./support/tally.ts";

const AVA = fileURLToPath(new URL("cli.js", import.meta.resolve("ava")));

/**
 * More concurrent test files than this only wait for each other, because they share one Kafka and
 * one Elasticsearch.
 */
const MOST_FILES_AT_ONCE = 4;

/**
 * Threads of libuv's pool for each test file, enough for two services. Files that run at once share
 * one process and its pool, so that queries of one would keep another's waiting.
 */
const POOL_THREADS_OF_FILE = 8;

/** Only the last line of a run may look like its result. */
const LOOKS_LIKE_RESULT = /^\s*\d+ passed, \d+ failed\s*$/;

const interruption = new AbortController();
let exitCodeOfSignal = 0;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    exitCodeOfSignal = 128 + constants.signals[signal];
    interruption.abort();
  });
}

const { passed, failed } = await runTests(process.argv.slice(2));
console.log(`${passed} passed, ${failed} failed`);
process.exit(exitCodeOfSignal || (failed > 0 ? 1 : 0));

async function runTests(args: readonly string[]): Promise<Tally> {
  if (process.env["TEST_ENGINES"] === "embedded") {
    console.log("TEST_ENGINES=embedded: tests that need Kafka or Elasticsearch are left out.");
    const tally = await runAva(args, {});
    console.log(
      `TEST_ENGINES=embedded: tests that need Kafka or Elasticsearch were left out (${tally.skipped} skipped).`,
    );
    return tally;
  }
  const engines = await startForTests();
  if (!engines) return { passed: 0, failed: 1, skipped: 0, failures: [] };
  try {
    return await runAva(args, {
      TEST_KAFKA_BROKERS: engines.kafkaBrokers.join(","),
      TEST_ELASTICSEARCH_URL: engines.elasticsearchUrl,
    });
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

async function runAva(args: readonly string[], engines: Record<string, string>): Promise<Tally> {
  const concurrency = Math.min(availableParallelism(), MOST_FILES_AT_ONCE);
  const color = process.stdout.isTTY ? ["--color"] : [];
  const child = spawn(process.execPath, [AVA, `--concurrency=${concurrency}`, "--timeout=3m", ...color, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { UV_THREADPOOL_SIZE: String(POOL_THREADS_OF_FILE * concurrency), ...process.env, ...engines },
  });
  killAfterExit(child);
  const stop = (): boolean => child.kill("SIGINT");
  interruption.signal.addEventListener("abort", stop);
  if (interruption.signal.aborted) stop();

  const tally = createTally();
  const reported = copyLines(child.stdout, process.stdout, (line) => tally.line(line));
  const printed = copyLines(child.stderr, process.stderr, () => {});
  const [code] = (await once(child, "close")) as [number | null];
  await Promise.all([reported, printed]);
  const result = tally.close(code);
  // Repeated below ava's report, which may be long.
  if (result.failures.length > 0) console.log(["Failed:", ...result.failures].join("\n  "));
  return result;
}

async function copyLines(from: Readable, to: NodeJS.WritableStream, see: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: from, crlfDelay: Infinity })) {
    see(line);
    to.write(`${LOOKS_LIKE_RESULT.test(line) ? "> " : ""}${line}\n`);
  }
}
