import type { ExecutionContext } from "ava";
import { pino } from "pino";

import { type Loggia, startLoggia } from "../../src/main.ts";
import { readSettings } from "../../src/settings.ts";
import type { Settings } from "../../src/settings.ts";
import type { StartOptions } from "../../src/start/options.ts";
import { elasticsearchUrl, kafkaBrokers } from "./engines.ts";
import { temporaryFolder, uniqueName } from "./temporary.ts";
import { until } from "./until.ts";

export const ADMIN = { email: "ann@example.org", password: "correct horse" } as const;
export const KEY = "key-of-the-first-log";
export const LOG = "first";

export type Service = Loggia & { readonly apiUrl: string; readonly postUrl: string };

/**
 * Returns the settings with which `startLoggia` starts a service for one test: ports 0, and a
 * folder or namespace of its own.
 */
export function environmentOf(kind: "embedded" | "cluster", folder: string): Record<string, string> {
  const environment = {
    LOGGIA_API: "127.0.0.1:0",
    LOGGIA_POST: "127.0.0.1:0",
    LOGGIA_ADMIN: `${ADMIN.email}:${ADMIN.password}`,
    LOGGIA_LOG: `${LOG}:${KEY}`,
    LOGGIA_LOG_LEVEL: process.env["TEST_LOG"] ?? "silent",
  };
  if (kind === "embedded") return { ...environment, LOGGIA_DATA: folder };
  return {
    ...environment,
    KAFKA_BROKERS: kafkaBrokers().join(","),
    // Several, but a third of the default: each costs the broker time at every start.
    KAFKA_PARTITIONS: "2",
    ELASTICSEARCH_URL: elasticsearchUrl(),
    LOGGIA_NAMESPACE: uniqueName("test"),
  };
}

/**
 * Returns options with which posts wait for an embedded bus as long as a stalled disk takes. On a
 * cluster, lists wait for late posts, so that the limits stay.
 */
export function postTimesFor({ engines }: Settings): Pick<StartOptions, "postTimes"> {
  return engines.kind === "embedded" ? { postTimes: { deadline_ms: 60_000, append_ms: 60_000 } } : {};
}

/** A clock that stands still, so that rates grant nothing more however long a test takes. */
export const STOPPED = (): number => 0;

/**
 * Starts the whole service in this process.
 * @param rateClock monotonic clock of the rate limits, in milliseconds
 */
export async function startService(
  environment: Record<string, string>,
  rateClock?: () => number,
  given: StartOptions = {},
): Promise<Service> {
  const settings = readSettings(environment);
  const options = { ...postTimesFor(settings), ...(rateClock && { rateClock }), ...given };
  const loggia = await startLoggia(settings, pino({ level: settings.logLevel }), options);
  return {
    ...loggia,
    apiUrl: `http://127.0.0.1:${loggia.api?.port}`,
    postUrl: `http://127.0.0.1:${loggia.post?.port}`,
  };
}

/** Starts the whole service for the duration of a test. */
export async function serviceOf(t: ExecutionContext, kind: "embedded" | "cluster"): Promise<Service> {
  const service = await startService(environmentOf(kind, temporaryFolder(t)));
  t.teardown(() => service.close());
  return service;
}

export const AUTHORIZATION = `Basic ${Buffer.from(`${ADMIN.email}:${ADMIN.password}`).toString("base64")}`;

/** Requests a path of the API as the admin. */
export async function get(
  service: Service,
  path: string,
): Promise<{ status: number; headers: Headers; body: unknown }> {
  const response = await fetch(service.apiUrl + path, { headers: { Authorization: AUTHORIZATION } });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** Posts a form to the first log. */
export async function post(
  service: Service,
  fields: Record<string, string>,
): Promise<{ status: number; headers: Headers; body: { id?: string } }> {
  const response = await fetch(`${service.postUrl}/1/logs/${LOG}/events`, {
    method: "POST",
    body: new URLSearchParams({ apikey: KEY, ...fields }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as { id?: string } };
}

/**
 * Posts an event, or a batch, and repeats that while the bus does not confirm it in time, as on a
 * machine that stalls for seconds. The idempotency key makes sure that it is stored once.
 * @returns the response; of a single event, its id
 */
export async function postOnce(
  { postUrl }: Pick<Service, "postUrl">,
  given: Readonly<Record<string, unknown>> | readonly object[],
  { log = LOG, key = KEY }: { readonly log?: string; readonly key?: string } = {},
): Promise<{ readonly id?: string }> {
  const [type, body] = Array.isArray(given)
    ? ["application/x-ndjson", given.map((event) => JSON.stringify(event)).join("\n")]
    : ["application/json", JSON.stringify(given)];
  const headers = { "Content-Type": type, apikey: key, "Idempotency-Key": uniqueName("post") };
  const send = async () => {
    const response = await fetch(`${postUrl}/1/logs/${log}/events`, { method: "POST", headers, body });
    const text = await response.text();
    return response.status === 503 ? null : { status: response.status, text };
  };
  const { status, text } = await until(send, { what: "the bus to confirm a post in time", interval_ms: 500 });
  if (status !== 201) throw new Error(`a post was answered ${status}: ${text}`);
  return JSON.parse(text) as { id?: string };
}

/** Resolves once the pipeline has processed everything posted before, and readers see it. */
export async function settled({ ports: { bus, store } }: Pick<Service, "ports">): Promise<void> {
  const hasCaughtUp = async () => (await bus.lag("events", "pipeline")).every(({ end, next }) => next >= end);
  await until(hasCaughtUp, { what: "the pipeline to process what was posted" });
  await store.refresh();
}

/**
 * Returns how long this machine currently takes to read changed data; some milliseconds if idle.
 */
export async function readingTime({ ports }: Service): Promise<number> {
  const start_ms = performance.now();
  await ports.catalog.refresh();
  return performance.now() - start_ms;
}
