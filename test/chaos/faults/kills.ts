import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../support/until.ts";
import { between, type Fault } from "../chaos.ts";
import { untilReadiness } from "../health.ts";
import { send } from "../http.ts";
import { answerFigures, assertAnswers, BACK_LIMIT_MS, measureRecovery_ms, keptFigures, seconds } from "../measure.ts";
import type { Program } from "../program.ts";
import { openScene, type Scene } from "../scene.ts";

const SPREAD = { "post-1": "post", "post-2": "post", "pipeline-1": "pipeline", "pipeline-2": "pipeline", api: "api" };
/**
 * A restarted broker waits for group members whose connections it lost, 10 s on an idle machine.
 */
const CARRY_LIMIT_MS = 60_000;
/** For short forms, because each process takes seconds to start on a small machine. */
const FEW = { post: "post,api", pipeline: "pipeline" };

export const killKafka: Fault = {
  name: "kill-kafka",
  passes:
    "kill -9 of the broker, 10 times in 200,000 posts: nothing lost or double, 503 before the deadline meanwhile, back within 30 s unaided",
  cluster: true,
  alone: true,
  async run(chaos) {
    const { posts, kills } = chaos.full ? { posts: 200_000, kills: 10 } : { posts: 3_000, kills: 1 };
    const scene = await openScene(chaos, { kind: "cluster", programs: chaos.full ? SPREAD : FEW });
    const kafka = await chaos.engines.kafka();
    const load = scene.load({ producers: 64, limit: posts });
    const outages_ms: number[] = [];
    const backs_ms: number[] = [];
    for (let i = 1; i <= kills; i++) {
      const due = Math.floor((posts * i) / (kills + 1));
      await until(() => scene.ledger.issued >= due, { what: `${due} posts`, timeout_ms: 300_000 });
      await kafka.kill();
      const killed_ms = performance.now();
      if (i === 1) await Promise.all(addresses(scene).map((url) => untilReadiness(url, 503, ["bus"])));
      await sleep(between(500, chaos.full ? 3_000 : 1_000));
      await kafka.restart();
      backs_ms.push(await measureRecovery_ms(load.nextAccepted(), "the broker was back"));
      outages_ms.push(performance.now() - killed_ms);
      chaos.say(`kill ${i}: taken again ${seconds(outages_ms.at(-1)!)} after the kill`);
    }
    const carried_ms = await drainingAgain(scene, CARRY_LIMIT_MS);
    await load.done;
    assertAnswers(load, { unanswered: false });
    assert.ok((load.failures.get(503) ?? 0) > 0, "no post was answered 503 while the broker was away");
    const verdict = await scene.settle({ timeout_ms: 120_000 });
    for (const url of addresses(scene)) await untilReadiness(url, 200, []);
    return {
      kills,
      ...keptFigures(verdict),
      ...answerFigures(load),
      "longest from kill to next 201": seconds(Math.max(...outages_ms)),
      "of that after the broker was back": seconds(Math.max(...backs_ms)),
      "from the last to the next events stored": seconds(carried_ms),
    };
  },
};

/** Returns one address of each kind. */
function addresses({ readers: [{ url }], postUrls }: Scene): string[] {
  return [url, postUrls[0]!];
}

export const killElasticsearch: Fault = {
  name: "kill-elasticsearch",
  passes: "kill -9 of Elasticsearch, 5 times during a drain: nothing lost or double, the lag returns to 0",
  cluster: true,
  alone: true,
  async run(chaos) {
    const { posts, kills } = chaos.full ? { posts: 60_000, kills: 5 } : { posts: 4_000, kills: 1 };
    const scene = await openScene(chaos, { kind: "cluster", programs: chaos.full ? SPREAD : FEW });
    const elasticsearch = await chaos.engines.elasticsearch();
    const pipelines = [...scene.programs.values()].filter(({ name }) => name.startsWith("pipeline"));
    for (const pipeline of pipelines) await pipeline.terminate();
    const load = scene.load({ producers: 64, limit: posts });
    await load.done;
    const backlog = await scene.lag();
    assert.ok(backlog > 0, "nothing waits to be drained");
    // Posting continues during the drain, so that there are always events in flight.
    const beside = scene.load({ producers: 8, rate: 200 });
    for (const pipeline of pipelines) await pipeline.start();
    const start_ms = performance.now();
    const lags: number[] = [];
    let slowest_ms = await drainingAgain(scene);
    for (let i = 0; i < kills; i++) {
      await elasticsearch.kill();
      lags.push(await scene.lag());
      if (i === 0) {
        const [api, post] = addresses(scene);
        const away = ["store", "catalog"];
        await Promise.all([untilReadiness(api!, 503, away), untilReadiness(post!, 200, away)]);
      }
      await sleep(between(500, chaos.full ? 2_000 : 1_000));
      await elasticsearch.restart();
      const back_ms = await drainingAgain(scene);
      slowest_ms = Math.max(slowest_ms, back_ms);
      chaos.say(`kill ${i + 1}: ${lags.at(-1)} records to go; the drain went on after ${seconds(back_ms)}`);
    }
    assert.ok(
      lags.every((lag) => lag > 0),
      `killed when nothing was to be drained: ${lags.join(", ")}`,
    );
    await beside.stop();
    for (const each of [load, beside]) assertAnswers(each, { unanswered: false });
    assert.deepEqual([...load.failures, ...beside.failures], [], "posts need no Elasticsearch");
    const verdict = await scene.settle({ timeout_ms: 120_000 });
    return {
      kills,
      ...keptFigures(verdict),
      "records to go at the kills": lags.join(", "),
      "drain went on after, at the most": seconds(slowest_ms),
      "drained after": seconds(performance.now() - start_ms),
      "lag at the end": 0,
    };
  },
};

/**
 * Returns the milliseconds until the pipeline acknowledged something again, or had nothing left to
 * do.
 * @throws Error if that takes too long
 */
async function drainingAgain(scene: Scene, timeout_ms = BACK_LIMIT_MS): Promise<number> {
  const start_ms = performance.now();
  const before = await scene.covered();
  const isFurther = async (): Promise<boolean> =>
    (await scene.covered()).some((next, i) => next > before[i]!) || (await scene.lag()) === 0;
  await until(isFurther, { what: "the drain to go on", timeout_ms });
  return performance.now() - start_ms;
}

export const killProcesses: Fault = {
  name: "kill-processes",
  passes: "kill -9 of post, pipeline and api processes, each every 3 to 7 s, for 5 minutes: nothing lost or double",
  cluster: true,
  async run(chaos) {
    const time_ms = chaos.full ? 300_000 : 5_000;
    const scene = await openScene(chaos, { kind: "cluster", programs: chaos.full ? SPREAD : FEW });
    const load = scene.load({ producers: 32, rate: chaos.full ? 800 : 500 });
    const end_ms = performance.now() + time_ms;
    const reading = readAll(scene, end_ms);
    const killing = [...scene.programs.values()].map((program) => killAgainAndAgain(program, end_ms));
    // If one does not restart, the others end before the test does.
    await Promise.allSettled(killing);
    const kills = await Promise.all(killing);
    const reads = await reading;
    await load.stop();
    assertAnswers(load, { unanswered: true });
    assert.deepEqual(reads.wrong, [], "the API answered otherwise than 200 or 503");
    const verdict = await scene.settle({ timeout_ms: 120_000 });
    return {
      kills: kills.reduce((sum, count) => sum + count),
      ...keptFigures(verdict),
      ...answerFigures(load),
      "lists read meanwhile": reads.count,
    };
  },
};

/**
 * Kills and restarts a program until the given time.
 * @returns how often
 */
async function killAgainAndAgain(program: Program, end_ms: number): Promise<number> {
  for (let kills = 0; ; kills++) {
    const wait_ms = between(3_000, 7_000);
    if (kills > 0 && performance.now() + wait_ms > end_ms) return kills;
    await sleep(wait_ms);
    await program.kill();
    await program.start();
  }
}

/**
 * Reads lists like a user, until the given time. The API's process is killed too, so connections
 * may break.
 */
async function readAll({ readers, targets }: Scene, end_ms: number): Promise<{ count: number; wrong: string[] }> {
  const wrong: string[] = [];
  let count = 0;
  while (performance.now() < end_ms) {
    const [{ url, authorization }] = readers;
    const path = `/1/logs/${targets[0]!.log}/events?pagesize=10&order=desc`;
    const answer = await send({ url: url + path, headers: { Authorization: authorization } }).catch(() => null);
    if (answer?.status === 200) count += 1;
    else if (answer !== null && answer.status !== 503) wrong.push(`${answer.status} ${answer.text.slice(0, 200)}`);
    await sleep(100);
  }
  return { count, wrong };
}

export const killEmbedded: Fault = {
  name: "kill-embedded",
  passes: "kill -9 of the embedded process under load, 50 times: nothing lost or double, it opens its files each time",
  cluster: false,
  async run(chaos) {
    const kills = chaos.full ? 50 : 4;
    const scene = await openScene(chaos, { kind: "embedded" });
    const program = scene.program("all");
    const load = scene.load({ producers: 32, rate: 1_000 });
    const starts_ms: number[] = [];
    for (let i = 0; i < kills; i++) {
      await measureRecovery_ms(load.nextAccepted(), "a start");
      await sleep(between(100, 1_500));
      await program.kill();
      const start_ms = performance.now();
      await program.start();
      starts_ms.push(performance.now() - start_ms);
    }
    await load.stop();
    assertAnswers(load, { unanswered: true });
    const verdict = await scene.settle();
    return { kills, ...keptFigures(verdict), "slowest start": seconds(Math.max(...starts_ms)) };
  },
};

/** Time after which a service that has not closed yet exits with code 1. */
const CLOSE_DELAY_MS = 9_500;

/** Returns whether an exit took longer than an operator may wait, which ends it with code 1. */
function isLateExit({ code, took_ms }: { code: number | null; took_ms: number }): boolean {
  return took_ms >= (code === 1 ? CLOSE_DELAY_MS : 10_000);
}

export const terminateEmbedded = terminate("embedded");
export const terminateCluster = terminate("cluster");

function terminate(kind: "embedded" | "cluster"): Fault {
  return {
    name: `terminate-${kind}`,
    passes: `SIGTERM under load, ${kind}: no acknowledged event lost, exit within 10 s with code 0`,
    cluster: kind === "cluster",
    async run(chaos) {
      const times = chaos.full ? 10 : 1;
      const scene = await openScene(chaos, { kind });
      const program = scene.program("all");
      const load = scene.load({ producers: 64 });
      let slowest_ms = 0;
      // A machine that runs other tests meanwhile may delay a single exit.
      let spare = chaos.full ? 0 : 2;
      for (let i = 0; i < times; i++) {
        await measureRecovery_ms(load.nextAccepted(), "a start");
        await sleep(between(300, 1_000));
        const { code, took_ms } = await program.terminate();
        const isLate = isLateExit({ code, took_ms });
        assert.ok(!isLate || spare > 0, `it took ${seconds(took_ms)} to exit, with code ${code}`);
        if (!isLate) assert.equal(code, 0, `the exit code is ${code}:\n${program.tail()}`);
        await program.start();
        if (isLate) {
          spare -= 1;
          i -= 1;
        } else slowest_ms = Math.max(slowest_ms, took_ms);
      }
      await load.stop();
      assertAnswers(load, { unanswered: true });
      const verdict = await scene.settle();
      return { SIGTERMs: times, ...keptFigures(verdict), "slowest exit": seconds(slowest_ms) };
    },
  };
}

export const consumers: Fault = {
  name: "consumers",
  passes: "consumers come and go 30 times under load: nothing lost or double",
  cluster: true,
  async run(chaos) {
    const times = chaos.full ? 30 : 2;
    const programs = { post: "post,api", "pipeline-1": "pipeline", "pipeline-2": "pipeline" };
    const scene = await openScene(chaos, { kind: "cluster", programs });
    const load = scene.load({ producers: 16, rate: chaos.full ? 1_000 : 300 });
    // A machine that runs other tests meanwhile may delay an exit.
    let spare = chaos.full ? 0 : 2;
    for (let i = 0; i < times; i++) {
      // Both in turn, so that each partition moves.
      const program = scene.program(`pipeline-${(i % 2) + 1}`);
      const { code, took_ms } = await program.terminate();
      if (spare > 0 && isLateExit({ code, took_ms })) spare -= 1;
      else assert.equal(code, 0, `a consumer's exit code is ${code}:\n${program.tail()}`);
      await sleep(between(200, 1_000));
      await program.start();
      await sleep(between(200, 1_000));
    }
    await load.stop();
    assertAnswers(load, { unanswered: false });
    const verdict = await scene.settle();
    return { "times a consumer left and came": times, ...keptFigures(verdict) };
  },
};
