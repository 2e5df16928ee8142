import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

import { killAfterExit } from "../../infra/engines/guard.ts";
import { createTally } from "./tally.ts";
import type { Tally } from "./tally.ts";
import { readTimes, TIMES_VARIABLE } from "./times.ts";
import type { FileTime } from "./times.ts";

const AVA = fileURLToPath(new URL("cli.js", import.meta.resolve("ava")));

/** Workers and child processes load compiled code from here instead of compiling it again. */
const COMPILE_CACHE = fileURLToPath(new URL("../../node_modules/.cache/test", import.meta.url));

/**
 * Test files that run at once: one more than cores, because some wait. More than the maximum only
 * wait for each other, because they share one Kafka and one Elasticsearch. Files that need nothing
 * are two for each core: many of them wait for short times.
 */
const FILES_AT_ONCE = Math.min(availableParallelism() + 1, 5);
const FAST_FILES_AT_ONCE = 2 * availableParallelism();

/**
 * Threads of libuv's pool for each test file, enough for two services. Files that run at once share
 * one process and its pool, so that queries of one would keep another's waiting.
 */
const POOL_THREADS_OF_FILE = 8;

/** Only the last line of a run may look like its result. */
const LOOKS_LIKE_RESULT = /^\s*\d+ passed, \d+ failed\s*$/;

export type AvaRun = {
  /** Options for ava and paths of test files. */
  readonly args: readonly string[];
  /** Whether the files need neither engines nor processes. */
  readonly isFast: boolean;
  /** Additional variables for the tests. */
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Receives each line of ava's report, and of what the tests print. */
  readonly print: (line: string, stream: NodeJS.WritableStream) => void;
};

/** Runs ava once, and counts its results. */
export async function runAva({
  args,
  isFast,
  environment,
  signal,
  print,
}: AvaRun): Promise<Tally & { times: readonly FileTime[] }> {
  const folder = mkdtempSync(join(tmpdir(), "loggia-run-"));
  const times = join(folder, "times");
  const concurrency = isFast ? FAST_FILES_AT_ONCE : FILES_AT_ONCE;
  const color = process.stdout.isTTY ? ["--color"] : [];
  const fixed = [`--concurrency=${concurrency}`, "--timeout=3m"];
  const child = spawn(process.execPath, [AVA, ...fixed, ...color, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      UV_THREADPOOL_SIZE: String(POOL_THREADS_OF_FILE * concurrency),
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...process.env,
      ...environment,
      [TIMES_VARIABLE]: times,
    },
  });
  killAfterExit(child);
  const stop = (): boolean => child.kill("SIGINT");
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    const tally = createTally();
    const reported = forEachLine(child.stdout, (line) => {
      tally.line(line);
      print(quoted(line), process.stdout);
    });
    const printed = forEachLine(child.stderr, (line) => print(quoted(line), process.stderr));
    const [code] = (await once(child, "close")) as [number | null];
    await Promise.all([reported, printed]);
    return { ...tally.close(code), times: readTimes(times) };
  } finally {
    signal.removeEventListener("abort", stop);
    rmSync(folder, { recursive: true, force: true });
  }
}

function quoted(line: string): string {
  return LOOKS_LIKE_RESULT.test(line) ? `> ${line}` : line;
}

async function forEachLine(from: Readable, see: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: from, crlfDelay: Infinity })) see(line);
}
