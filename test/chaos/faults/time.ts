import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Chaos, Fault, Figures } from "../chaos.ts";
import { assertAnswers, measureRecovery_ms, keptFigures, seconds } from "../measure.ts";
import { readAll } from "../oracle.ts";
import { Poller } from "../poller.ts";
import { send } from "../http.ts";
import { openScene, type Scene } from "../scene.ts";
import { startTcpProxy } from "../tcp-proxy.ts";

const HOUR_MS = 3_600_000;
/**
 * Longer than a list may hold back the latest events; in short forms, than a busy machine needs
 * until a poller has read the rest.
 */
const pollerLimit_ms = ({ full }: Chaos): number => (full ? 15_000 : 60_000);

export const clockEmbedded = clock("embedded");
export const clockCluster = clock("cluster");

function clock(kind: "embedded" | "cluster"): Fault {
  return {
    name: `clock-${kind}`,
    passes: `the clock of the posting process jumps back by an hour, ${kind}, also across a restart: ids stay unique and rise with acceptance, a poller misses nothing`,
    cluster: kind === "cluster",
    run: (chaos) => setBack(chaos, kind),
  };
}

export const aheadEmbedded = ahead("embedded");
export const aheadCluster = ahead("cluster");

function ahead(kind: "embedded" | "cluster"): Fault {
  return {
    name: `ahead-${kind}`,
    passes:
      `the clock of the process is ahead by minutes, a hundred days and a year, ${kind}, also across restarts and ` +
      "while retention sweeps a log that keeps 90 days: nothing is lost, ids rise, a poller misses nothing",
    cluster: kind === "cluster",
    run: (chaos) => setForward(chaos, kind),
  };
}

const JUMPS_MS = [10 * 60_000, 100 * 24 * HOUR_MS, 365 * 24 * HOUR_MS];
/** Longer than until the first sweep of a process. */
const SWEEP_MS = 80_000;

async function setForward(chaos: Chaos, kind: "embedded" | "cluster"): Promise<Figures> {
  const posts = chaos.full ? 500 : 50;
  const { scene, set } = await openShifted(chaos, kind);
  const program = scene.program("all");
  const { log } = scene.targets[0]!;
  const { url, authorization } = scene.readers[0];
  const headers = { Authorization: authorization, "Content-Type": "application/json" };
  const body = JSON.stringify({ retentionDays: 90 });
  const { status } = await send({ url: `${url}/manage/1/logs/${log}`, method: "PATCH", headers, body });
  assert.equal(status, 200, "the log keeps 90 days");
  await using poller = new Poller(scene.readers[0], log);
  const post = (): Promise<void> => scene.load({ producers: 1, limit: posts }).done;
  await post();
  for (const jump_ms of JUMPS_MS) {
    set(jump_ms);
    await post();
    await program.terminate();
    await program.start();
    await post();
    if (chaos.full) await sleep(SWEEP_MS);
    set(0);
    await post();
  }
  return await finishPolled(chaos, { scene, poller, log });
}

type Polled = { readonly scene: Scene; readonly poller: Poller; readonly log: string };

/** Asserts that nothing was lost, ids ascended, and the poller saw each event once. */
async function finishPolled(chaos: Chaos, { scene, poller, log }: Polled): Promise<Figures> {
  const verdict = await scene.settle();
  assertRising(scene);
  const { rows } = await readAll(scene.readers[0], `/1/logs/${log}/events`);
  const { missed, twice } = await poller.finish(rows, pollerLimit_ms(chaos));
  assert.deepEqual({ missed: missed.length, twice }, { missed: 0, twice: 0 }, "the poller");
  return { ...keptFigures(verdict), "poller missed": missed.length };
}

/** Opens a scene of one process whose clock can be set. */
async function openShifted(chaos: Chaos, kind: "embedded" | "cluster") {
  const file = join(chaos.folder, `shift-${kind}-${Math.random()}`);
  writeFileSync(file, "0");
  const preload = new URL("../preload/clock.ts", import.meta.url).pathname;
  const scene = await openScene(chaos, {
    kind,
    logs: 1,
    environment: { CHAOS_CLOCK: file },
    preloads: { "*": [preload] },
  });
  const set = (ms: number): void => {
    writeFileSync(file, String(ms));
    scene.program("all").signal("SIGWINCH");
  };
  return { scene, set };
}

async function setBack(chaos: Chaos, kind: "embedded" | "cluster"): Promise<Figures> {
  const posts = chaos.full ? 2_000 : 150;
  const { scene, set } = await openShifted(chaos, kind);
  const program = scene.program("all");
  const { log } = scene.targets[0]!;
  await using poller = new Poller(scene.readers[0], log);
  // A single producer, so that the order of acceptance is the order of its posts.
  const post = (): Promise<void> => scene.load({ producers: 1, limit: posts }).done;
  await post();
  set(-HOUR_MS);
  await post();
  await program.terminate();
  await program.start();
  await post();
  return await finishPolled(chaos, { scene, poller, log });
}

/** Asserts that each accepted post's id is larger than the one before. */
function assertRising({ ledger }: Scene): void {
  let last = "";
  for (let n = 0; n < ledger.issued; n++) {
    const outcome = ledger.outcome(n);
    if (outcome?.kind !== "accepted") continue;
    assert.ok(outcome.id > last, `post ${n} got the id ${outcome.id}, after ${last}`);
    last = outcome.id;
  }
}

export const pollerEmbedded: Fault = {
  name: "poller-embedded",
  passes: "a poller that walks by `sinceid` while 64 producers post sees every event exactly once, on embedded engines",
  cluster: false,
  async run(chaos) {
    const scene = await openScene(chaos, { kind: "embedded", logs: 1 });
    return walk(chaos, scene, { posts: chaos.full ? 50_000 : 5_000 });
  },
};

export const pollerCluster: Fault = {
  name: "poller-cluster",
  passes: "the same on a cluster with two posting processes, of which one's way to the broker stalls for 2 s meanwhile",
  cluster: true,
  async run(chaos) {
    const { address } = await chaos.engines.kafka();
    const proxy = chaos.stack.use(await startTcpProxy(address));
    const scene = await openScene(chaos, {
      kind: "cluster",
      logs: 1,
      programs: spreadOver(chaos),
      environment: { CHAOS_DETOUR: `${address}=${proxy.address}` },
      preloads: { "post-2": [new URL("../preload/detour.ts", import.meta.url).pathname] },
    });
    const stall = async (): Promise<void> => {
      await sleep(1_000);
      proxy.set("stalled");
      await sleep(2_000);
      proxy.set("open");
    };
    const [figures] = await Promise.all([
      walk(chaos, scene, { posts: chaos.full ? 50_000 : 5_000, rate: 1_200 }),
      stall(),
    ]);
    return figures;
  },
};

export const pollerSpread: Fault = {
  name: "poller-spread",
  passes: "the same with two posting processes and no fault at all",
  cluster: true,
  async run(chaos) {
    const scene = await openScene(chaos, { kind: "cluster", logs: 1, programs: spreadOver(chaos) });
    return walk(chaos, scene, { posts: chaos.full ? 50_000 : 5_000 });
  },
};

/**
 * Returns the roles of the processes, two of which post. In short forms the first has all other
 * roles too, because each process takes seconds to start on a small machine.
 */
function spreadOver({ full }: Chaos): Record<string, string> {
  if (!full) return { "post-1": "post,api,pipeline", "post-2": "post" };
  return { "post-1": "post,api", "post-2": "post", "pipeline-1": "pipeline", "pipeline-2": "pipeline" };
}

async function walk(chaos: Chaos, scene: Scene, { posts, rate }: { posts: number; rate?: number }): Promise<Figures> {
  const { log } = scene.targets[0]!;
  await using poller = new Poller(scene.readers[0], log);
  const load = scene.load({ producers: 64, limit: posts, ...(rate !== undefined && { rate }) });
  await measureRecovery_ms(load.nextAccepted(), "the start");
  await load.done;
  assertAnswers(load, { unanswered: false });
  const verdict = await scene.settle();
  const { rows } = await readAll(scene.readers[0], `/1/logs/${log}/events`);
  const { missed, twice } = await poller.finish(rows, pollerLimit_ms(chaos));
  const late = missed.map((row) => row.id).toSorted();
  assert.equal(
    missed.length + twice,
    0,
    `of ${rows.length} events the poller missed ${missed.length} (${late[0] ?? ""} … ${late.at(-1) ?? ""}) and saw ${twice} more than once`,
  );
  return {
    ...keptFigures(verdict),
    "poller missed": missed.length,
    "poller saw twice": twice,
    "slowest post": seconds(load.slowest.accepted_ms),
  };
}
