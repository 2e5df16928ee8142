import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../support/until.ts";
import { startBulkProxy, type Pushback } from "../bulk-proxy.ts";
import type { Chaos, Fault, Figures } from "../chaos.ts";
import { deadLetters } from "../dead-letters.ts";
import { send } from "../http.ts";
import { answerFigures, assertAnswers, measureRecovery_ms, keptFigures, seconds, settledOffsets } from "../measure.ts";
import { openScene, type Scene } from "../scene.ts";
import { type Flow, startTcpProxy, type TcpProxy } from "../tcp-proxy.ts";

const SPLIT = { post: "post,api", pipeline: "pipeline" };
/**
 * Largest growth of a pipeline while its store refuses writes: in the long form, less than the
 * events waiting on the bus.
 */
const HELD_LIMIT_MB = 300;
const WAITING_MB = 400;
/**
 * Largest growth of a pipeline overall, also while it catches up: in the long form, less than the
 * events that passed through it.
 */
const GROWTH_LIMIT_MB = 500;
const DATA_CHARACTERS = 4_000;

export const pushback: Fault = {
  name: "pushback",
  passes:
    "Elasticsearch answers bulk requests with 429, whole and by item, with 503, and breaks answers off: nothing dropped, partitions pause, memory bounded",
  cluster: true,
  async run(chaos) {
    const { time_ms, rate, waiting_mb } = chaos.full
      ? { time_ms: 10_000, rate: 2_500, waiting_mb: WAITING_MB }
      : { time_ms: 2_000, rate: 400, waiting_mb: 0 };
    const upstream = `http://${(await chaos.engines.elasticsearch()).address}`;
    const proxy = chaos.stack.use(await startBulkProxy(upstream));
    const environment = { ELASTICSEARCH_URL: proxy.url, LOGGIA_LOG_LEVEL: "error" };
    const scene = await openScene(chaos, {
      kind: "cluster",
      programs: SPLIT,
      environment,
      data_characters: DATA_CHARACTERS,
    });
    const pipeline = scene.program("pipeline");
    const load = scene.load({ producers: 16, rate });
    await measureRecovery_ms(load.nextAccepted(), "the start");
    const before = pipeline.usage();
    const lags: number[] = [];
    let most_mb = 0;
    let held_mb = 0;
    for (const mode of ["429", "429-items", "503", "truncated"] satisfies Pushback[]) {
      const accepted = scene.ledger.accepted;
      const waiting = (): number => Math.round(((scene.ledger.accepted - accepted) * DATA_CHARACTERS) / 1_000_000);
      await proxy.set(mode);
      await until(() => (proxy.struck.get(mode) ?? 0) > 0, { what: `a bulk request that meets ${mode}` });
      const covered = mode === "429-items" ? null : await settledOffsets(scene);
      await sleep(time_ms - 1_000);
      if (lags.length === 0) {
        await until(() => waiting() >= waiting_mb, { what: `${waiting_mb} MB on the bus`, timeout_ms: 240_000 });
      }
      // Batches that were not completely acknowledged must be redelivered.
      if (covered !== null) assert.deepEqual(await scene.covered(), covered, `offsets moved under ${mode}`);
      const lag = await scene.lag();
      lags.push(lag);
      if (mode !== "429-items") most_mb = Math.max(most_mb, waiting());
      // Only for the first mode: later ones start with garbage of the previous drain.
      if (mode === "429") held_mb = pipeline.usage().rss_mb - before.rss_mb;
      await proxy.set("none");
      const start_ms = performance.now();
      await until(async () => (await scene.lag()) <= lag / 2 + 10, { what: "the lag to fall", timeout_ms: 120_000 });
      chaos.say(`${mode}: ${lag} records behind, half of it made up for in ${seconds(performance.now() - start_ms)}`);
    }
    await load.stop();
    assert.deepEqual([...load.failures], [], "posts need no Elasticsearch");
    const verdict = await scene.settle();
    assert.deepEqual(await deadLetters(scene), [], "events became dead letters");
    const growth_mb = pipeline.usage().peak_mb - before.rss_mb;
    assert.ok(held_mb < HELD_LIMIT_MB, `the pipeline grew by ${held_mb} MB while its store took nothing`);
    assert.ok(growth_mb < GROWTH_LIMIT_MB, `the pipeline grew by ${growth_mb} MB`);
    const struck = [...proxy.struck].map(([mode, count]) => `${count} × ${mode}`).join(", ");
    return {
      "each for": `${seconds(time_ms)}, at the least`,
      struck,
      ...keptFigures(verdict),
      "dead letters": 0,
      "most records behind": Math.max(...lags),
      "most waiting": `${most_mb} MB`,
      "pipeline grew by meanwhile": `${held_mb} MB`,
      "pipeline grew by at all": `${growth_mb} MB`,
    };
  },
};

const FLOWS = ["stalled", "half-open", "trickle"] as const satisfies readonly Flow[];

export const networkKafka: Fault = {
  name: "network-kafka",
  passes:
    "the way to the broker stalls, swallows answers, passes one byte at a time: 503 before the deadline, goes on unaided, nothing lost or double",
  cluster: true,
  async run(chaos) {
    const { address } = await chaos.engines.kafka();
    const proxy = chaos.stack.use(await startTcpProxy(address));
    const detour = new URL("../preload/detour.ts", import.meta.url).pathname;
    const environment = { CHAOS_DETOUR: `${address}=${proxy.address}` };
    const preloads = { "*": [detour] };
    const scene = await openScene(chaos, { kind: "cluster", programs: SPLIT, environment, preloads });
    return strain(chaos, scene, proxy, {
      flows: chaos.full ? FLOWS : ["stalled"],
      time_ms: chaos.full ? 20_000 : 6_500,
    });
  },
};

export const networkElasticsearch: Fault = {
  name: "network-store",
  passes:
    "the same on the way to Elasticsearch: posts are taken all the while, lists answer 503 or 200, goes on unaided",
  cluster: true,
  async run(chaos) {
    const { address } = await chaos.engines.elasticsearch();
    const proxy = chaos.stack.use(await startTcpProxy(address));
    const environment = { ELASTICSEARCH_URL: `http://${proxy.address}` };
    const scene = await openScene(chaos, { kind: "cluster", programs: SPLIT, environment });
    const figures = await strain(chaos, scene, proxy, { flows: FLOWS, time_ms: chaos.full ? 20_000 : 1_500 });
    assert.equal(figures["503s"], 0, "posts need no Elasticsearch");
    return figures;
  },
};

/** Posts, and requests a list once a second, through each network failure in turn. */
async function strain(
  chaos: Chaos,
  scene: Scene,
  proxy: TcpProxy,
  { flows, time_ms }: { flows: readonly Flow[]; time_ms: number },
): Promise<Figures> {
  const load = scene.load({ producers: 32, rate: 200 });
  const back: string[] = [];
  for (const flow of flows) {
    await measureRecovery_ms(load.nextAccepted(), "a start");
    proxy.set(flow);
    const end_ms = performance.now() + time_ms;
    const reads = await readUntil(scene, end_ms);
    assert.deepEqual(reads.wrong, [], `the API answered otherwise than 200 or 503 while the network was ${flow}`);
    proxy.set("open");
    const open_ms = performance.now();
    const taken_ms = await measureRecovery_ms(load.nextAccepted(), `the network was ${flow}`);
    back.push(`${flow} ${seconds(taken_ms)}`);
    if (chaos.full) {
      await scene.fresh();
      back.push(`(a fresh event was shown after ${seconds(performance.now() - open_ms)})`);
    }
    chaos.say(
      `taken again ${seconds(taken_ms)} after it was ${flow}; lists ${reads.count}, slowest ${seconds(reads.slowest_ms)}`,
    );
  }
  await load.stop();
  assertAnswers(load, { unanswered: false });
  const verdict = await scene.settle();
  return {
    "each for": seconds(time_ms),
    ...keptFigures(verdict),
    ...answerFigures(load),
    "taken again after": back.join(" "),
  };
}

/**
 * Requests lists until the given time. A list may take long while the store is unreachable;
 * responses after the end do not count.
 */
async function readUntil(
  { readers: [{ url, authorization }], targets }: Scene,
  end_ms: number,
): Promise<{ count: number; slowest_ms: number; wrong: string[] }> {
  const wrong: string[] = [];
  let count = 0;
  let slowest_ms = 0;
  const path = `/1/logs/${targets[0]!.log}/events?pagesize=10`;
  while (performance.now() < end_ms) {
    const start_ms = performance.now();
    const timeout_ms = Math.max(1, end_ms - start_ms);
    const answer = await send({ url: url + path, headers: { Authorization: authorization }, timeout_ms }).catch(
      () => null,
    );
    if (answer !== null) {
      count += 1;
      slowest_ms = Math.max(slowest_ms, performance.now() - start_ms);
      if (answer.status !== 200 && answer.status !== 503) wrong.push(`${answer.status} ${answer.text.slice(0, 200)}`);
    }
    await sleep(200);
  }
  return { count, slowest_ms, wrong };
}
