import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "../chaos.ts";
import { send } from "../http.ts";
import { assertAnswers, measureRecovery_ms, keptFigures, percentile } from "../measure.ts";
import { openScene, type Scene } from "../scene.ts";

/** Measurements of one window of time. */
type Window = {
  readonly rss_mb: number;
  readonly descriptors: number;
  readonly median_ms: number;
  readonly p99_ms: number;
  /** Latency of an idle server meanwhile: load of the rest of the machine slows both. */
  readonly idle_ms: number;
};

const WINDOWS = 40;
/**
 * Growth from the second quarter to the last that counts as flat. Garbage collections are rare, so
 * memory fluctuates.
 */
const FLAT = { rss_share: 1.25, rss_mb: 64, descriptors: 20, median_share: 1.5, median_ms: 3 };
/** For seconds on a machine that runs other tests meanwhile. */
const ROUGHLY_FLAT = { ...FLAT, median_share: 3, median_ms: 100 };

export const soak: Fault = {
  name: "soak",
  passes: "20 minutes at half of the top rate: memory, descriptors and latency stay flat",
  cluster: false,
  async run(chaos) {
    const scene = await openScene(chaos, { kind: "embedded" });
    const program = scene.program("all");
    const rate = Math.round((await topRate(scene, chaos.full ? 10_000 : 2_000)) / 2);
    await scene.fresh();
    await using idle = await startIdleServer();
    const load = scene.load({ producers: 64, rate });
    await measureRecovery_ms(load.nextAccepted(), "the start");
    const windows: Window[] = [];
    const window_ms = (chaos.soak_s * 1000) / WINDOWS;
    for (let i = 0; i < WINDOWS; i++) {
      const [before, beforeIdle] = [load.latencies_ms.length, idle.latencies_ms.length];
      await sleep(window_ms);
      const latencies = load.latencies_ms.slice(before);
      windows.push({
        ...program.usage(),
        median_ms: percentile(latencies, 0.5),
        p99_ms: percentile(latencies, 0.99),
        idle_ms: percentile(idle.latencies_ms.slice(beforeIdle), 0.5),
      });
    }
    await load.stop();
    assertAnswers(load, { unanswered: false });
    const early = summary(windows.slice(WINDOWS / 4, WINDOWS / 2));
    const late = summary(windows.slice((WINDOWS * 3) / 4));
    const flat = chaos.full ? FLAT : ROUGHLY_FLAT;
    const said = `from ${JSON.stringify(early)} to ${JSON.stringify(late)}`;
    assert.ok(late.rss_mb < early.rss_mb * flat.rss_share + flat.rss_mb, `memory grew ${said}`);
    assert.ok(late.descriptors <= early.descriptors + flat.descriptors, `descriptors grew ${said}`);
    const slower = Math.max(1, late.idle_ms / early.idle_ms);
    const most_ms = early.median_ms * slower * flat.median_share + flat.median_ms;
    assert.ok(late.median_ms < most_ms, `posts became slower ${said}`);
    const verdict = await scene.settle({ timeout_ms: 180_000 });
    return {
      "lasted (s)": chaos.soak_s,
      "posts a second": rate,
      ...keptFigures(verdict),
      "memory (MB)": `${early.rss_mb} → ${late.rss_mb}`,
      descriptors: `${early.descriptors} → ${late.descriptors}`,
      "median (ms)": `${early.median_ms.toFixed(1)} → ${late.median_ms.toFixed(1)}`,
      "99th percentile (ms)": `${early.p99_ms.toFixed(1)} → ${late.p99_ms.toFixed(1)}`,
      "median of a server that does nothing (ms)": `${early.idle_ms.toFixed(1)} → ${late.idle_ms.toFixed(1)}`,
    };
  },
};

/** Returns the medians over windows, because single ones say little on a shared machine. */
function summary(windows: readonly Window[]): Window {
  const median = (name: keyof Window): number =>
    percentile(
      windows.map((window) => window[name]),
      0.5,
    );
  return {
    rss_mb: median("rss_mb"),
    descriptors: median("descriptors"),
    median_ms: median("median_ms"),
    p99_ms: median("p99_ms"),
    idle_ms: median("idle_ms"),
  };
}

const IDLE_EVERY_MS = 20;

/** Sends requests repeatedly to an idle server of this process. */
async function startIdleServer(): Promise<AsyncDisposable & { readonly latencies_ms: readonly number[] }> {
  const latencies_ms: number[] = [];
  const server = createServer((_request, response) => response.end());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const agent = new Agent({ keepAlive: true });
  const stopping = new AbortController();
  const asking = (async () => {
    while (!stopping.signal.aborted) {
      const start_ms = performance.now();
      await send({ url, agent });
      latencies_ms.push(performance.now() - start_ms);
      await sleep(IDLE_EVERY_MS);
    }
  })();
  return {
    latencies_ms,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await asking;
      agent.destroy();
      server.close();
    },
  };
}

/** Returns the posts per second answered 201 that 64 producers achieve. */
async function topRate(scene: Scene, time_ms: number): Promise<number> {
  const load = scene.load({ producers: 64 });
  const start_ms = performance.now();
  await sleep(time_ms);
  await load.stop();
  assertAnswers(load, { unanswered: false });
  return (load.latencies_ms.length * 1000) / (performance.now() - start_ms);
}
