import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { interleaved, show } from "../frame.ts";
import type { Bench } from "../frame.ts";
import { LOGS } from "../support/backlog.ts";
import { get } from "../support/client.ts";
import { clearStorage, openPorts, startService } from "../support/storage.ts";
import type { ServiceStorage } from "../support/storage.ts";
import type { ServiceProcess } from "../support/processes.ts";
import { waitUntilIdle } from "../support/idle.ts";

const PRODUCERS = 8;
const BATCH = 500;
const PAGE = 500;
const PAUSE_MS = 100;
/** Longest wait until all events are found. A list by `sinceid` lags by some seconds. */
const TIMEOUT_MS = 300_000;
/** Noise of the rate per core on a shared machine. */
const NO_LOSS = { kind: "at least", value: 0.9 } as const;

/**
 * Compares two posting processes and two pipelines with one of each: events per second of processor
 * time. Meanwhile a reader of each log follows it by `sinceid`, and must see each event once and
 * those of a producer in order.
 */
export async function compareProcesses(bench: Bench): Promise<void> {
  const variant = (each: number) => ({
    name: each === 1 ? "one of each" : "two of each",
    once: async (): Promise<number> => {
      const { perCore, text } = await measureThroughput(bench, each);
      bench.report.line(`  ${each} and ${each}: ${text}`);
      return perCore;
    },
  });
  const [one, two] = await interleaved([variant(1), variant(2)], bench.quick ? { least: 1 } : { least: 3 });
  const name = "events per core, two posting processes and two pipelines";
  bench.report.ratio({ name, unit: "/s", ours: two!, limit: one!, target: NO_LOSS });
  bench.report.fact("sinceid returns each event once, those of a producer in order", true);
}

type Throughput = { readonly perCore: number; readonly text: string };

/** Starts `each` processes of a kind on storage of their own, and lets them carry events. */
async function measureThroughput({ world, quick }: Bench, each: number): Promise<Throughput> {
  await using closing = new AsyncDisposableStack();
  const storage = await world.storage();
  closing.defer(() => clearStorage(storage));
  await makeLogs(storage);
  const start = async (roles: string): Promise<ServiceProcess> => closing.use(await startService(storage, { roles }));
  const api = await start("api");
  const posts: ServiceProcess[] = [];
  const pipelines: ServiceProcess[] = [];
  for (let i = 0; i < each; i++) {
    posts.push(await start("post"));
    pipelines.push(await start("pipeline"));
  }
  const busy = (some: readonly ServiceProcess[]): number =>
    some.reduce((sum, process) => sum + process.cpuTime_ms(), 0);
  const warm = await postAndRead(api, posts, quick ? 12_000 : 60_000, new Map());
  await waitUntilIdle();
  const before = [busy(posts), busy(pipelines)] as const;
  const { count, took_ms } = await postAndRead(api, posts, quick ? 24_000 : 240_000, warm.walks);
  const [posting_ms, pipeline_ms] = [busy(posts) - before[0], busy(pipelines) - before[1]];
  const perEvent = (ms: number): string => `${((ms * 1000) / count).toFixed(2)} µs`;
  return {
    perCore: count / ((posting_ms + pipeline_ms) / 1000),
    text:
      `${show(count / (took_ms / 1000), "/s")} events/s, ` +
      `CPU time per event: posting ${perEvent(posting_ms)}, pipelines ${perEvent(pipeline_ms)}`,
  };
}

async function makeLogs(storage: ServiceStorage): Promise<void> {
  await using ports = await openPorts(storage);
  const account = { email: "owner@example.org", password: "password of the owner", admin: true };
  const { id: owner } = await ports.catalog.createAccount(account);
  for (const key of LOGS) await ports.catalog.createLog({ key, display: key, owner, apiKey: keyOf(key) });
}

function keyOf(log: string): string {
  return `key-of-${log}`;
}

/** Position of a log's reader, and the last number seen of each producer. */
type Walk = { last: string; seen: number; readonly numbers: Map<string, number> };

type Load = { readonly count: number; readonly took_ms: number; readonly walks: Map<string, Walk> };

/** Posts events from all producers, and waits until the reader of each log has seen all of them. */
async function postAndRead(
  api: ServiceProcess,
  posts: readonly ServiceProcess[],
  count: number,
  walks: Map<string, Walk>,
): Promise<Load> {
  const batches = Math.ceil(count / PRODUCERS / BATCH);
  const begin_ms = performance.now();
  const posted = new Map<string, number>();
  const produce = async (producer: number): Promise<void> => {
    using agent = disposable(new Agent({ keepAlive: true, maxSockets: 1 }));
    const { postPort } = posts[producer % posts.length]!;
    for (let i = 0; i < batches; i++) {
      const log = LOGS[(producer + i) % LOGS.length]!;
      await post({ agent, port: postPort, log, body: batchOf(producer, i) });
      posted.set(log, (posted.get(log) ?? 0) + BATCH);
    }
  };
  let isPosted = false;
  const read = async (log: string): Promise<void> => {
    const walk = walks.get(log) ?? { last: "0".repeat(24), seen: 0, numbers: new Map() };
    walks.set(log, walk);
    walk.seen = 0;
    for (const end_ms = performance.now() + TIMEOUT_MS; performance.now() < end_ms;) {
      const rows = await step(api.apiPort, log, walk);
      if (isPosted && walk.seen >= (posted.get(log) ?? 0)) break;
      if (rows < PAGE) await sleep(PAUSE_MS);
    }
    const wanted = posted.get(log) ?? 0;
    if (walk.seen !== wanted) throw new Error(`sinceid returned ${walk.seen} events of ${log}, not ${wanted}`);
  };
  const produceAll = async (): Promise<void> => {
    await Promise.all(Array.from({ length: PRODUCERS }, (_, i) => produce(i)));
    isPosted = true;
  };
  await Promise.all([produceAll(), ...LOGS.map(read)]);
  return { count: batches * BATCH * PRODUCERS, took_ms: performance.now() - begin_ms, walks };
}

type Row = { readonly id: string; readonly text: string };

/**
 * Reads one page.
 * @throws Error if an event is repeated, or precedes an earlier one of its producer
 */
async function step(port: number, log: string, walk: Walk): Promise<number> {
  const parameters = { apikey: keyOf(log), pagesize: String(PAGE), sinceid: walk.last };
  const rows = JSON.parse((await get(port, `/1/logs/${log}/events`, parameters)).body) as Row[];
  for (const { id, text } of rows) {
    const [, producer = "", number = ""] = /^producer (\d+) sends (\d+) /.exec(text) ?? [];
    if (id <= walk.last) throw new Error(`${log} returned ${id} after ${walk.last}`);
    if (Number(number) <= (walk.numbers.get(producer) ?? -1))
      throw new Error(`${log} returned number ${number} of producer ${producer} after ${walk.numbers.get(producer)}`);
    walk.last = id;
    walk.numbers.set(producer, Number(number));
  }
  walk.seen += rows.length;
  return rows.length;
}

/** Numbers continue from one load to the next. */
let started = 0;

function batchOf(producer: number, i: number): string {
  const lines: string[] = [];
  for (let k = 0; k < BATCH; k++) {
    const text = `producer ${producer} sends ${(started += 1)} of batch ${i}: answered 200 in ${(k * 7) % 3_000} ms`;
    lines.push(JSON.stringify({ text, tags: ["http", `host-${k % 8}`], source: `web-${k % 50}`, value: k }));
  }
  return lines.join("\n");
}

type Posting = { readonly agent: Agent; readonly port: number; readonly log: string; readonly body: string };

function post({ agent, port, log, body }: Posting): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const headers = { "Content-Type": "application/x-ndjson", "X-API-Key": keyOf(log) };
  const path = `/1/logs/${log}/events`;
  const asked = request({ agent, host: "127.0.0.1", port, path, method: "POST", headers }, (response) => {
    response.resume();
    response.on("end", () => {
      if (response.statusCode === 201) resolve();
      else reject(new Error(`a batch for ${log} returned status ${response.statusCode}`));
    });
    response.on("error", reject);
  });
  asked.on("error", reject);
  asked.end(body);
  return promise;
}

function disposable(agent: Agent): Disposable & Agent {
  return Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() });
}
