import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Chaos, Fault, Figures } from "../chaos.ts";
import { assertAnswers, backAgain, keptFigures, seconds } from "../measure.ts";
import { readAll } from "../oracle.ts";
import { Poller } from "../poller.ts";
import { openScene, type Scene } from "../scene.ts";
import { startTcpProxy } from "../tcp-proxy.ts";

const HOUR_MS = 3_600_000;
/** Longer than the tail of time that a list may hold back. */
const POLLER_LIMIT_MS = 15_000;

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

async function setBack(chaos: Chaos, kind: "embedded" | "cluster"): Promise<Figures> {
  const posts = chaos.full ? 2_000 : 150;
  const file = join(chaos.folder, `clock-${kind}`);
  writeFileSync(file, "0");
  const preload = new URL("../preload/clock.ts", import.meta.url).pathname;
  const scene = await openScene(chaos, {
    kind,
    logs: 1,
    environment: { CHAOS_CLOCK: file },
    preloads: { "*": [preload] },
  });
  const program = scene.program("all");
  const { log } = scene.targets[0]!;
  await using poller = new Poller(scene.readers[0], log);
  // One producer alone, so that the order of acceptance is the order of its posts.
  const post = (): Promise<void> => scene.load({ producers: 1, limit: posts }).done;
  await post();
  writeFileSync(file, String(-HOUR_MS));
  program.signal("SIGWINCH");
  await post();
  await program.terminate();
  await program.start();
  await post();
  const verdict = await scene.settle();
  assertRising(scene);
  const { rows } = await readAll(scene.readers[0], `/1/logs/${log}/events`);
  const { missed, twice } = await poller.finish(rows, POLLER_LIMIT_MS);
  assert.deepEqual({ missed: missed.length, twice }, { missed: 0, twice: 0 }, "the poller");
  return { ...keptFigures(verdict), "poller missed": missed.length };
}

/** Each accepted post's id is larger than that of the one before. */
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
    return walk(scene, { posts: chaos.full ? 50_000 : 5_000 });
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
    const [figures] = await Promise.all([walk(scene, { posts: chaos.full ? 50_000 : 5_000, rate: 1_200 }), stall()]);
    return figures;
  },
};

export const pollerSpread: Fault = {
  name: "poller-spread",
  passes: "the same with two posting processes and no fault at all",
  cluster: true,
  async run(chaos) {
    const scene = await openScene(chaos, { kind: "cluster", logs: 1, programs: spreadOver(chaos) });
    return walk(scene, { posts: chaos.full ? 50_000 : 5_000 });
  },
};

/** What matters is that two post; in short forms the first plays all else too, for each process takes seconds of a small machine to start. */
function spreadOver({ full }: Chaos): Record<string, string> {
  if (!full) return { "post-1": "post,api,pipeline", "post-2": "post" };
  return { "post-1": "post,api", "post-2": "post", "pipeline-1": "pipeline", "pipeline-2": "pipeline" };
}

async function walk(scene: Scene, { posts, rate }: { posts: number; rate?: number }): Promise<Figures> {
  const { log } = scene.targets[0]!;
  await using poller = new Poller(scene.readers[0], log);
  const load = scene.load({ producers: 64, limit: posts, ...(rate !== undefined && { rate }) });
  await backAgain(load.nextAccepted(), "the start");
  await load.done;
  assertAnswers(load, { unanswered: false });
  const verdict = await scene.settle();
  const { rows } = await readAll(scene.readers[0], `/1/logs/${log}/events`);
  const { missed, twice } = await poller.finish(rows, POLLER_LIMIT_MS);
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
