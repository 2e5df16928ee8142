import { Client } from "@elastic/elasticsearch";
import type { ExecutionContext } from "ava";
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { Kafka, logLevel } from "kafkajs";

import type { LogKey } from "../../src/events/event.ts";
import { event, write } from "../contract/store-fixture.ts";
import { elasticsearchUrl, kafkaBrokers } from "../support/engines.ts";
import { ADMIN, AUTHORIZATION, environmentOf, get, LOG, postOnce, settled, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { readinessOf } from "../support/readiness.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

export async function send(service: Service, path: string, body: object = {}): Promise<number> {
  const headers = { Authorization: AUTHORIZATION, "Content-Type": "application/json" };
  return (await fetch(service.apiUrl + path, { method: "POST", headers, body: JSON.stringify(body) })).status;
}

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

/** Returns the output of the command, run as the admin. */
export async function loggia({ apiUrl }: Service, ...words: string[]): Promise<string> {
  const as = `${ADMIN.email}:${ADMIN.password}`;
  return (await promisify(execFile)(process.execPath, [LOGGIA, ...words, "--api", apiUrl, "--as", as])).stdout;
}

/** Returns the output of the command on the service's machine. */
export async function loggiaAdmin(environment: Record<string, string>, ...words: string[]): Promise<string> {
  const options = { env: { ...process.env, ...environment } };
  return (await promisify(execFile)(process.execPath, [LOGGIA, "admin", ...words], options)).stdout;
}

/**
 * Returns the names of the holds that await a decision, and whether the API and posting are ready.
 */
export async function readiness({ apiUrl, postUrl }: Service) {
  const [api, posting] = [await readinessOf(apiUrl), await readinessOf(postUrl)];
  const { holds = [] } = api.readiness;
  return { api: api.response.status, post: posting.response.status, holds: holds.map(({ name }) => name) };
}

export const READY = { api: 200, post: 200, holds: [] };
export const heldBy = (...holds: string[]) => ({ api: 503, post: 200, holds });

export async function postAndDrain(service: Service, texts: readonly string[]): Promise<void> {
  for (const text of texts) await postOnce(service, { text });
  await settled(service);
}

export async function total(service: Service): Promise<number> {
  await service.ports.store.refresh();
  return Number((await get(service, `/1/logs/${LOG}/events?pagesize=1&total=exact`)).headers.get("x-total-count"));
}

export async function replayAll(service: Service): Promise<void> {
  await until(async () => (await send(service, "/manage/1/replay", { from: "start", into: "old" })) === 202, {
    what: "a replay to begin",
  });
  const state = async () =>
    ((await get(service, "/manage/1/replay")).body as { last: { state: string } | null }).last?.state;
  await until(async () => (await state()) === "done", { what: "the replay to end" });
}

export const remove = (folder: string, name: string): void => {
  for (const ending of ["", "-wal", "-shm", ".wal"]) rmSync(join(folder, name + ending), { force: true });
};

/** Runs and closes a service, whose files a test may change before the next start. */
export async function serviceWithHistory(t: ExecutionContext) {
  const folder = join(temporaryFolder(t), "data");
  const environment = environmentOf("embedded", folder);
  const services: Service[] = [];
  t.teardown(() => Promise.all(services.map((service) => service.close())));
  const start = async () => {
    const service = await startService(environment);
    services.push(service);
    return service;
  };
  const first = await start();
  t.deepEqual(await readiness(first), READY, "a first start");
  await postAndDrain(first, ["one", "two", "three"]);
  await first.close();
  return { folder, environment, start };
}

/** Services of one test on a cluster. */
export function clusterOf(t: ExecutionContext) {
  t.timeout(600_000);
  const environment = environmentOf("cluster", "");
  const namespace = environment["LOGGIA_NAMESPACE"]!;
  const elasticsearch = new Client({ node: elasticsearchUrl() });
  t.teardown(() => elasticsearch.close());
  const services: Service[] = [];
  t.teardown(() => Promise.all(services.map((service) => service.close())));
  const start = async (more: Record<string, string> = {}) => {
    const service = await startService({ ...environment, ...more });
    services.push(service);
    return service;
  };
  /** Deletes the indices with this suffix. */
  const remove = async (end: string): Promise<void> => {
    const index = `${namespace}-${end}`;
    await elasticsearch.indices.delete({ index: Object.keys(await elasticsearch.indices.get({ index })) });
  };
  return { environment, namespace, elasticsearch, start, remove };
}

/** Runs and closes a service on a cluster that has an event of an old month and a bookmark. */
export async function clusterWithHistory(t: ExecutionContext) {
  const cluster = clusterOf(t);
  const first = await cluster.start();
  await postAndDrain(first, ["one", "two", "three"]);
  const { store, catalog } = first.ports;
  const old = event(LOG as LogKey, { created: Date.UTC(2015, 0, 10) });
  await write(t, store, [old]);
  t.true(await store.addBookmark(catalog.accounts()[0]!.id, LOG as LogKey, old.id));
  await first.close();
  return cluster;
}

/** Removes the topic of events without the service. */
export async function removeTopic(t: ExecutionContext, namespace: string): Promise<void> {
  const admin = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  t.teardown(() => admin.disconnect());
  const topic = `${namespace}.events`;
  await admin.deleteTopics({ topics: [topic] });
  await until(async () => !(await admin.listTopics()).includes(topic), { what: "the topic to be gone" });
}
