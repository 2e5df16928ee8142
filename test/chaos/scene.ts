import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { freePorts } from "../../infra/engines/ports.ts";
import { type Bus } from "../../src/bus/bus.ts";
import { openKafkaBus } from "../../src/bus/kafka/kafka.ts";
import { uniqueName } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import type { Chaos } from "./chaos.ts";
import { send } from "./http.ts";
import { Ledger } from "./ledger.ts";
import { type Load, type LoadOptions, startLoad, type Target } from "./load.ts";
import { assertKept, isBehind, judge, page, PROBE, type Reader, type Verdict } from "./oracle.ts";
import { Program, type ProgramOptions } from "./program.ts";
import type { Watched } from "./stalls.ts";

export const ADMIN = { email: "ann@example.org", password: "correct horse" };
const SECOND = { email: "bob@example.org", password: "battery staple" };
const FIRST_LOG = { log: "first", apiKey: "key-of-the-first-log" };
const ALL_ROLES = "post,pipeline,api";
const SILENT = pino({ level: "silent" });

export type SceneOptions = {
  readonly kind: "embedded" | "cluster";
  /** The processes by name, with their roles; by default one with all of them. */
  readonly programs?: Readonly<Record<string, string>>;
  readonly logs?: number;
  /** Size of the data of each event. */
  readonly data_characters?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** Modules loaded before the service, by process or, under `*`, for all. */
  readonly preloads?: Readonly<Record<string, readonly string[]>>;
  /** Folder of embedded files and of the processes' logs; a temporary one by default. */
  readonly data?: string;
};

/**
 * The service as real processes, with logs, two users who want alerts, a ledger of the posts, and
 * an oracle that reads them back.
 */
export type Scene = {
  readonly ledger: Ledger;
  readonly programs: ReadonlyMap<string, Program>;
  program(name: string): Program;
  readonly targets: readonly Target[];
  readonly postUrls: readonly string[];
  readonly readers: readonly [Reader, Reader];
  readonly namespace: string;
  /** Folder of the embedded engines' files. */
  readonly data: string;
  /** The topics, accessed without the service; on a cluster only. */
  bus(): Promise<Bus>;
  load(options: Pick<LoadOptions, "producers" | "rate" | "limit">): Load;
  /** How many records the pipeline is behind; on a cluster only. */
  lag(): Promise<number>;
  /** How far the pipeline has acknowledged each partition; on a cluster only. */
  covered(): Promise<number[]>;
  /** Posts a new event to each log, and waits until it can be read. */
  fresh(timeout_ms?: number): Promise<void>;
  /**
   * Waits until the pipeline has drained, and compares the stored events with the ledger.
   * @throws AssertionError, or an Error that says which wait timed out
   */
  settle(options?: { timeout_ms?: number }): Promise<Verdict>;
};

export async function openScene(chaos: Chaos, options: SceneOptions): Promise<Scene> {
  const { kind, programs: roles = { all: ALL_ROLES }, logs = 3 } = options;
  const folder = mkdtempSync(join(chaos.folder, `${kind}-`));
  const namespace = uniqueName("chaos");
  const data = options.data ?? join(folder, "data");
  const engines = kind === "embedded" ? { LOGGIA_DATA: data } : await enginesOf(chaos, namespace);
  const programs = new Map<string, Program>();
  const addresses: { api: string[]; post: string[] } = { api: [], post: [] };
  const posting: Watched[] = [];
  const plans: ProgramOptions[] = [];
  const ports = await freePorts(2 * Object.keys(roles).length);
  for (const [i, [name, ofThisOne]] of Object.entries(roles).entries()) {
    const [api, post] = [`127.0.0.1:${ports[2 * i]}`, `127.0.0.1:${ports[2 * i + 1]}`];
    if (ofThisOne.includes("api")) addresses.api.push(`http://${api}`);
    if (ofThisOne.includes("post")) {
      const url = `http://${post}`;
      addresses.post.push(url);
      const pid = (): number | null => (programs.get(name)?.isRunning === true ? programs.get(name)!.pid : null);
      posting.push({ url, pid });
    }
    const environment = {
      ...engines,
      LOGGIA_API: api,
      LOGGIA_POST: post,
      LOGGIA_ROLES: ofThisOne,
      LOGGIA_ADMIN: `${ADMIN.email}:${ADMIN.password}`,
      LOGGIA_LOG: `${FIRST_LOG.log}:${FIRST_LOG.apiKey}`,
      LOGGIA_LOG_LEVEL: "warn",
      ...options.environment,
    };
    const preloads = [...(options.preloads?.["*"] ?? []), ...(options.preloads?.[name] ?? [])];
    plans.push({ name, folder, environment, preloads, ...(chaos.full && { startTimeout_ms: 60_000 }) });
  }
  // At once, as after a power cut: the first process creates the topics, the indices and the first
  // account.
  const start = async (plan: ProgramOptions): Promise<void> => {
    programs.set(plan.name, chaos.stack.use(await Program.start(plan)));
  };
  await Promise.all(plans.map(start));
  chaos.say(`${programs.size} processes run`);
  const readers = [ADMIN, SECOND].map(({ email, password }) => ({
    url: addresses.api[0]!,
    authorization: `Basic ${Buffer.from(`${email}:${password}`).toString("base64")}`,
  })) as [Reader, Reader];
  const targets = await makeLogs(readers, logs);
  const ledger = new Ledger(options);
  const scene = assemble({
    chaos,
    kind,
    namespace,
    data,
    programs,
    readers,
    targets,
    ledger,
    postUrls: addresses.post,
    posting,
  });
  await waitForAlerts(scene);
  chaos.say("the scene is set");
  return scene;
}

async function enginesOf({ engines }: Chaos, namespace: string): Promise<Record<string, string>> {
  const [kafka, elasticsearch] = await Promise.all([engines.kafka(), engines.elasticsearch()]);
  return {
    KAFKA_BROKERS: kafka.address,
    ELASTICSEARCH_URL: `http://${elasticsearch.address}`,
    KAFKA_PARTITIONS: "3",
    LOGGIA_NAMESPACE: namespace,
  };
}

async function manage(
  { url, authorization }: Reader,
  method: "POST" | "PUT",
  path: string,
  fields: object,
): Promise<string> {
  const { status, text } = await send({
    url: url + path,
    method,
    headers: { Authorization: authorization, "Content-Type": "application/json" },
    body: JSON.stringify(fields),
  });
  if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
  return text;
}

/** Creates logs that both users can read and want alerts of. */
async function makeLogs([ann, bob]: readonly [Reader, Reader], count: number): Promise<Target[]> {
  await manage(ann, "POST", "/manage/1/accounts", SECOND);
  const make = async (_: unknown, i: number): Promise<Target> => {
    const target = i === 0 ? FIRST_LOG : await makeLog(ann, `log-${i}`);
    const path = `/manage/1/logs/${target.log}`;
    await manage(ann, "PUT", `${path}/shares/${SECOND.email}`, { role: "user" });
    const filter = { key: "alarm", display: "Alarm", color: "red", tag: "alarm", weight: 1 };
    await manage(ann, "POST", `${path}/classFilters`, filter);
    for (const user of [ann, bob]) await manage(user, "PUT", `${path}/classFilters/alarm/options`, { alert: true });
    return target;
  };
  return Promise.all(Array.from({ length: count }, make));
}

async function makeLog(ann: Reader, log: string): Promise<Target> {
  const { status, text } = await send({
    url: `${ann.url}/1/logs`,
    method: "POST",
    headers: { Authorization: ann.authorization, "Content-Type": "application/x-www-form-urlencoded" },
    body: `key=${log}&display=${log}`,
  });
  if (status !== 201) throw new Error(`creating the log ${log} was answered ${status}: ${text}`);
  const { key } = JSON.parse(await manage(ann, "POST", `/manage/1/logs/${log}/apiKeys`, { scope: "write-only" })) as {
    key: string;
  };
  return { log, apiKey: key };
}

type Parts = Pick<Scene, "ledger" | "programs" | "targets" | "postUrls" | "readers" | "namespace" | "data"> & {
  readonly chaos: Chaos;
  readonly kind: "embedded" | "cluster";
  /** The processes at `postUrls`. */
  readonly posting: readonly Watched[];
};

function assemble(parts: Parts): Scene {
  const { chaos, kind, ledger, programs, targets, postUrls, readers, namespace } = parts;
  const logs = targets.map(({ log }) => log);
  // Short forms run on a machine that is busy with other tests.
  const patience_ms = chaos.full ? 60_000 : 180_000;
  let bus: Promise<Bus> | null = null;
  const scene: Scene = {
    ledger,
    programs,
    targets,
    postUrls,
    readers,
    namespace,
    data: parts.data,
    program: (name) => programs.get(name)!,
    bus: () =>
      (bus ??= (async () => {
        const brokers = [(await chaos.engines.kafka()).address];
        return chaos.stack.use(await openKafkaBus({ brokers, namespace, log: SILENT }));
      })()),
    load: (options) => {
      const watched = chaos.full ? [] : parts.posting;
      const load = startLoad({ ledger, urls: postUrls, targets, watched, ...options });
      // If a test fails, nothing else stops the load.
      chaos.stack.defer(() => load.stop());
      return load;
    },
    lag: async () => {
      const partitions = await (await scene.bus()).lag("events", "pipeline");
      return partitions.reduce((sum, { end, next }) => sum + end - next, 0);
    },
    covered: async () => (await (await scene.bus()).lag("events", "pipeline")).map(({ next }) => next),
    fresh: async (timeout_ms = patience_ms) => {
      await Promise.all(targets.map((target) => postFresh(scene, target, timeout_ms)));
    },
    async settle({ timeout_ms = patience_ms } = {}) {
      await scene.fresh(timeout_ms);
      if (kind === "cluster") {
        await until(async () => (await scene.lag()) === 0, { what: "a lag of 0", timeout_ms, interval_ms: 200 });
      }
      const deadline_ms = performance.now() + timeout_ms;
      for (;;) {
        const verdict = await judge({ ledger, readers, logs });
        if (isBehind(verdict) && performance.now() < deadline_ms) {
          await sleep(1000);
          continue;
        }
        assertKept(verdict);
        return verdict;
      }
    },
  };
  return scene;
}

const FORM = { "Content-Type": "application/x-www-form-urlencoded" };

/**
 * Posts an event outside the ledger.
 * @throws Error if the response is not 201
 */
async function probe(url: string, { log, apiKey }: Target): Promise<string> {
  const fields = { apikey: apiKey, text: uniqueName(`${PROBE}x`), tags: "alarm" };
  const body = new URLSearchParams(fields).toString();
  const { status, text } = await send({ url: `${url}/1/logs/${log}/events`, method: "POST", headers: FORM, body });
  if (status !== 201) throw new Error(`a probe was answered ${status}: ${text}`);
  return (JSON.parse(text) as { id: string }).id;
}

/**
 * Posts a new event and waits until it can be read, so that everything posted to its log before was
 * processed.
 */
async function postFresh({ postUrls, readers }: Scene, target: Target, timeout_ms: number): Promise<void> {
  const id = await until(() => probe(postUrls[0]!, target), {
    what: `a fresh event to be accepted by ${target.log}`,
    timeout_ms,
    interval_ms: 250,
  });
  // A list with `sinceid` ends where all earlier events are complete, so none is in flight.
  const behind = `${id.slice(0, 16)}${"0".repeat(8)}`;
  const isListed = async (): Promise<boolean> => {
    const { rows } = await page(readers[0], `/1/logs/${target.log}/events?sinceid=${behind}`);
    return rows.some((row) => row.id === id);
  };
  await until(isListed, {
    what: `the fresh event ${id} to be found in ${target.log}`,
    timeout_ms,
    interval_ms: 250,
  });
}

async function isThere({ url, authorization }: Reader, path: string): Promise<boolean> {
  const { status } = await send({ url: url + path, headers: { Authorization: authorization } });
  return status === 200;
}

/**
 * Every process learns of the class and its subscribers within a moment: posts until an event of
 * each log has alerted both.
 */
async function waitForAlerts({ postUrls, readers, targets }: Scene): Promise<void> {
  const wait = async (target: Target): Promise<void> => {
    let patience_ms = 750;
    const alerted = async (): Promise<boolean> => {
      // Longer each time: on a busy machine an alert takes seconds.
      patience_ms *= 2;
      const ids = await Promise.all(postUrls.map((url) => probe(url, target)));
      const path = `/1/logs/${target.log}/alerts/${ids.at(-1)}`;
      const all = () => Promise.all(readers.map((reader) => isThere(reader, path))).then((are) => are.every(Boolean));
      return until(all, { what: "alerts", timeout_ms: patience_ms, interval_ms: 50 });
    };
    await until(alerted, { what: `alerts of ${target.log}` });
  };
  await Promise.all(targets.map(wait));
}
