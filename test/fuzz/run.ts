/**
 * Looks for inputs that break the service: `node test/fuzz/run.ts [part...]`. FUZZ_SECONDS limits
 * the total time; without it, the parts without an end share ten minutes, and the differential part
 * runs to its end. FUZZ_SEED reproduces the inputs of an earlier run.
 *
 * For every input: no 5xx except 503, no crash, no leak of internals, and the service still works
 * afterwards.
 *
 * Exit code 0: nothing was found. 1: something was; the input is printed. 2: invalid arguments.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { realEngines } from "../support/engine-kinds.ts";
import { fuzzBytes } from "./bytes.ts";
import { fuzzGrpc } from "./grpc.ts";
import { fuzzListeners } from "./listeners.ts";
import { fuzzPosts } from "./posts.ts";
import { fuzzProtocols } from "./protocols.ts";
import { fuzzQuestions } from "./questions.ts";
import { createRandom } from "./random.ts";
import type { Random } from "./random.ts";
import { runSchemathesis } from "./schemathesis.ts";
import { Fault, startTarget } from "./target.ts";
import type { Target } from "./target.ts";
import { fuzzTopic } from "./topic.ts";
import { fuzzTurns } from "./turns.ts";

/**
 * Plans for each store whose results must equal the reference; all of them run if no time limit is
 * set.
 */
const DIFFERENTIAL_PLANS = 10_000;
const DIFFERENTIAL_SECONDS = 1800;

/** Each part with its share of the time. */
const PARTS = {
  bytes: { share: 0.1, what: "raw bytes to both addresses" },
  posts: { share: 0.1, what: "forms, JSONP and batches" },
  protocols: { share: 0.1, what: "bodies of other producers' protocols, decoded in this process" },
  listeners: { share: 0.05, what: "streams of listeners, decoded in this process" },
  turns: { share: 0.1, what: "bodies that hold the thread while they are decoded in this process" },
  grpc: { share: 0.05, what: "frames, streams and resets to the listener of gRPC" },
  questions: { share: 0.2, what: "LQL, filters and paths, as JSON, XML and JSONP" },
  topic: { share: 0.1, what: "records on the topic itself" },
  schemathesis: { share: 0.15, what: "requests made from the OpenAPI document" },
  differential: { share: 0.15, what: `${DIFFERENTIAL_PLANS} random questions to the stores, against plain code` },
} as const;
type Part = keyof typeof PARTS;

type Run = { readonly random: Random; readonly seed: number; readonly seconds: number };

async function onTarget(
  { seconds }: Run,
  work: (target: Target, deadline_ms: number) => Promise<number>,
): Promise<string> {
  await using target = await startTarget();
  const tries = await work(target, performance.now() + seconds * 1000).catch(async (error: unknown) => {
    // If the process has died, the client only sees that the connection is refused.
    if (!(error instanceof Fault)) await target.check(`the error ${String(error)}`);
    throw error;
  });
  return `${tries} inputs, nothing found`;
}

async function runPart(part: Part, run: Run): Promise<string> {
  const { random, seconds, seed } = run;
  switch (part) {
    case "bytes":
      return await onTarget(run, (target, deadline_ms) => fuzzBytes(target, random, deadline_ms));
    case "posts":
      return await onTarget(run, (target, deadline_ms) => fuzzPosts(target, random, deadline_ms));
    case "protocols":
      return `${await fuzzProtocols(random, performance.now() + seconds * 1000)} bodies, nothing found`;
    case "listeners":
      return `${await fuzzListeners(random, performance.now() + seconds * 1000)} streams, nothing found`;
    case "turns":
      return `${await fuzzTurns(random, performance.now() + seconds * 1000)} bodies, nothing found`;
    case "grpc":
      return await onTarget(run, (target, deadline_ms) => fuzzGrpc(target, random, deadline_ms));
    case "questions":
      return await onTarget(run, (target, deadline_ms) => fuzzQuestions(target, random, deadline_ms));
    case "topic":
      return `${await fuzzTopic("embedded", random, performance.now() + seconds * 1000)} records, nothing found`;
    case "schemathesis": {
      await using target = await startTarget();
      return (await runSchemathesis(target, seconds, seed)) ? "nothing found" : "left out";
    }
    case "differential":
      return await runDifferential(seconds);
    default:
      return part satisfies never;
  }
}

/**
 * Runs the contract suite of each store with more rounds, one after the other, so that each store
 * has its time and each round reports its progress.
 */
async function runDifferential(seconds: number): Promise<string> {
  const end_ms = performance.now() + seconds * 1000;
  await runRounds("DuckDB", realEngines ? seconds / 2 : seconds);
  if (realEngines) await runRounds("Elasticsearch", (end_ms - performance.now()) / 1000);
  return "nothing found";
}

async function runRounds(store: string, seconds: number): Promise<void> {
  const tests = fileURLToPath(new URL("../run.ts", import.meta.url));
  const title = `${store}: random queries are*`;
  const child = spawn(process.execPath, [tests, "test/contract/store.test.ts", "--serial", `--match=${title}`], {
    stdio: ["ignore", "inherit", "inherit"],
    env: {
      ...process.env,
      ...(store === "DuckDB" && { TEST_ENGINES: "embedded" }),
      DIFFERENTIAL_PLANS: String(DIFFERENTIAL_PLANS),
      DIFFERENTIAL_SECONDS: String(seconds),
    },
  });
  const stop = (): boolean => child.kill("SIGINT");
  process.once("exit", stop);
  const [code] = (await once(child, "exit")) as [number | null];
  process.off("exit", stop);
  if (code !== 0) throw new Fault(`${store} answers otherwise than plans mean; see above`);
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !Object.hasOwn(PARTS, name));
  const given = process.env["FUZZ_SECONDS"];
  const seconds = Number(given ?? 600);
  const seed = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  if (unknown !== undefined || !(seconds > 0) || !Number.isInteger(seed)) {
    console.error(`Usage: FUZZ_SECONDS=600 FUZZ_SEED=… node test/fuzz/run.ts [${Object.keys(PARTS).join("] [")}]`);
    return 2;
  }
  const parts = (names.length === 0 ? Object.keys(PARTS) : names) as Part[];
  const shares = parts.reduce((sum, part) => sum + PARTS[part].share, 0);
  console.log(`FUZZ_SEED=${seed}, ${seconds} s`);
  let found = 0;
  for (const part of parts) {
    const isWhole = part === "differential" && given === undefined;
    const share_s = isWhole ? DIFFERENTIAL_SECONDS : (seconds * PARTS[part].share) / shares;
    const run = { random: createRandom(seed), seed, seconds: share_s };
    console.log(`${part}: ${PARTS[part].what}, ${isWhole ? "at most " : ""}${Math.round(share_s)} s`);
    try {
      console.log(`${part}: ${await runPart(part, run)}`);
    } catch (error) {
      found += 1;
      console.error(`${part}: ${error instanceof Fault ? error.message : ((error as Error).stack ?? String(error))}`);
    }
  }
  console.log(found === 0 ? "nothing found" : `${found} of ${parts.length} parts found something`);
  return found === 0 ? 0 : 1;
}

// On SIGINT, exits as at the normal end, which also stops what was started.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.exit(await main(process.argv.slice(2)));
