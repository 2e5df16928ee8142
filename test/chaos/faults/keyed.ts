import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventsOn } from "../../support/events-on.ts";
import { until } from "../../support/until.ts";
import type { Fault } from "../chaos.ts";
import { send, type Answer } from "../http.ts";
import type { Target } from "../load.ts";
import { percentile, seconds } from "../measure.ts";
import { readAll } from "../oracle.ts";
import { LAUNCHER } from "../program.ts";
import { openScene, type Scene } from "../scene.ts";

const PROGRAMS = { "post-1": "post,api", "post-2": "post", pipeline: "pipeline" };
/** Events of each batch and bulk request. */
const EVENTS = 10;
const PRODUCERS = 2;
const WAIT = { timeout_ms: 180_000, interval_ms: 500 } as const;

export const keyed: Fault = {
  name: "keyed",
  passes:
    "Elasticsearch is stopped for 60 s and killed under keyed load (ship, _bulk with ids, batches with keys), and each request is repeated at another process: all are accepted, each event is stored once",
  cluster: true,
  alone: true,
  async run(chaos) {
    const { quiet_ms, away_ms } = chaos.full
      ? { quiet_ms: 20_000, away_ms: 60_000 }
      : { quiet_ms: 2_000, away_ms: 5_000 };
    const scene = await openScene(chaos, { kind: "cluster", programs: PROGRAMS, logs: 1 });
    const elasticsearch = await chaos.engines.elasticsearch();
    const load = new KeyedLoad(scene);
    const shipper = new Shipper(scene, chaos.folder);
    chaos.stack.defer(async () => {
      shipper.kill();
      await load.stop();
    });
    load.start();
    await sleep(quiet_ms);
    load.phase = "stopped";
    await elasticsearch.signal("SIGSTOP");
    for (let i = 0; i < 10; i++) {
      shipper.write();
      await sleep(away_ms / 10);
    }
    await elasticsearch.signal("SIGCONT");
    load.phase = "killed";
    await elasticsearch.kill();
    shipper.write();
    await sleep(quiet_ms);
    await load.stop();
    assert.deepEqual(load.refused, [], "keyed posts need no Elasticsearch");
    const last = shipper.texts().at(-1)!;
    const bus = await scene.bus();
    await until(async () => (await eventsOn(bus)).some(({ text }) => text === last), {
      what: "all lines to be on the bus without a store",
      ...WAIT,
    });
    await shipper.end();
    await elasticsearch.restart();
    const expected = [...load.texts, ...shipper.texts()].toSorted();
    await scene.fresh();
    const stored = await until(
      async () => {
        const texts = await textsIn(scene);
        return texts.length >= expected.length ? texts : null;
      },
      { what: `${expected.length} events`, ...WAIT },
    );
    assert.deepEqual(stored.toSorted(), expected);
    const p99 = (phase: Phase): string => `${Math.round(percentile(load.latencies_ms[phase], 0.99))} ms`;
    return {
      "stopped for": seconds(away_ms),
      "posts accepted": Object.values(load.latencies_ms).reduce((sum, { length }) => sum + length, 0),
      "lines shipped": shipper.texts().length,
      "events stored": stored.length,
      "lost, double, changed": 0,
      "p99 of posts": `${p99("quiet")}, stopped ${p99("stopped")}, killed ${p99("killed")}`,
    };
  },
};

type Phase = "quiet" | "stopped" | "killed";

/** Producers of batches with keys and of bulk requests with ids, each sent to two processes. */
class KeyedLoad {
  readonly texts: string[] = [];
  readonly refused: string[] = [];
  readonly latencies_ms: Record<Phase, number[]> = { quiet: [], stopped: [], killed: [] };
  phase: Phase = "quiet";
  readonly #scene: Scene;
  #isStopped = false;
  #issued = 0;
  #running: Promise<unknown> = Promise.resolve();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  start(): void {
    const producers = [postKeyedBatch, postBulk].flatMap((post) =>
      Array.from({ length: PRODUCERS }, () => this.#run(post)),
    );
    this.#running = Promise.all(producers);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(post: KeyedPost): Promise<void> {
    const agent = new Agent({ keepAlive: true });
    const { postUrls, targets } = this.#scene;
    while (!this.#isStopped) {
      const n = this.#issued++;
      const texts = Array.from({ length: EVENTS }, (_, i) => `${post.name} ${n}.${i}`);
      const urls = n % 2 === 0 ? postUrls : postUrls.toReversed();
      const ids = new Set<string>();
      for (const url of urls) {
        const { phase } = this;
        const begun_ms = performance.now();
        const answer = await post({ url, target: targets[0]!, agent }, `${n}`, texts);
        this.latencies_ms[phase].push(performance.now() - begun_ms);
        ids.add(answer.ids.join());
        if (!answer.isStored) this.refused.push(`${phase}: ${answer.text.slice(0, 300)}`);
      }
      if (ids.size > 1) this.refused.push(`${post.name} ${n} was answered with different ids`);
      this.texts.push(...texts);
      await sleep(20);
    }
    agent.destroy();
  }
}

type KeyedPost = (
  to: { readonly url: string; readonly target: Target; readonly agent: Agent },
  key: string,
  texts: readonly string[],
) => Promise<{ readonly isStored: boolean; readonly ids: readonly string[]; readonly text: string }>;

const postKeyedBatch: KeyedPost = async ({ url, target, agent }, key, texts) => {
  const { status, text }: Answer = await send({
    url: `${url}/1/logs/${target.log}/events`,
    method: "POST",
    agent,
    headers: { "Content-Type": "application/json", "X-API-Key": target.apiKey, "Idempotency-Key": key },
    body: JSON.stringify(texts.map((each) => ({ text: each }))),
  });
  if (status !== 201) return { isStored: false, ids: [], text: `${status} ${text}` };
  const { items } = JSON.parse(text) as { items: { id: string }[] };
  return { isStored: true, ids: items.map(({ id }) => id), text };
};

const postBulk: KeyedPost = async ({ url, target, agent }, key, texts) => {
  const lines = texts.flatMap((message, i) => [{ create: { _index: "app", _id: `${key}-${i}` } }, { message }]);
  const { status, text } = await send({
    url: `${url}/_bulk`,
    method: "POST",
    agent,
    headers: { "Content-Type": "application/x-ndjson", Authorization: `ApiKey ${target.apiKey}` },
    body: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
  });
  const isStored = status === 200 && !(JSON.parse(text) as { errors: boolean }).errors;
  return { isStored, ids: [], text: `${status} ${text}` };
};

/** `loggia ship --follow` of a file that grows. */
class Shipper {
  readonly #file: string;
  readonly #child: ChildProcess;
  #lines = 0;
  #output = "";

  constructor({ targets, postUrls }: Scene, folder: string) {
    this.#file = join(folder, "app.log");
    writeFileSync(this.#file, "");
    const { log, apiKey } = targets[0]!;
    const words = [
      "ship",
      "--post",
      postUrls[0]!,
      "--log",
      log,
      "--state",
      join(folder, "state"),
      "--follow",
      this.#file,
    ];
    const env = { PATH: process.env["PATH"], LOGGIA_KEY: apiKey };
    this.#child = spawn(process.execPath, [LAUNCHER, ...words], { env });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream!.setEncoding("utf8").on("data", (text: string) => (this.#output += text));
  }

  write(): void {
    const texts = Array.from({ length: 200 }, () => `line ${this.#lines++}\n`);
    appendFileSync(this.#file, texts.join(""));
  }

  texts(): string[] {
    return Array.from({ length: this.#lines }, (_, n) => `line ${n}`);
  }

  async end(): Promise<void> {
    const closed = once(this.#child, "close");
    this.#child.kill("SIGTERM");
    await closed;
    assert.match(this.#output, new RegExp(`^posted ${this.#lines}, failed 0, `, "m"));
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

/** Returns the texts that the log holds, without those of the scene's probes. */
async function textsIn({ readers, targets }: Scene): Promise<string[]> {
  const { rows } = await readAll(readers[0], `/1/logs/${targets[0]!.log}/events`);
  return rows.map(({ text }) => text).filter((text) => /^(?:postKeyedBatch|postBulk|line) /.test(text));
}
