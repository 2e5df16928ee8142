import { AsyncLocalStorage } from "node:async_hooks";

import { Client, errors } from "@elastic/elasticsearch";
import type { Logger } from "pino";

import { certificateFault, ClientGone, LoggiaError } from "../errors.ts";
import { watchSilence } from "./silence.ts";

export type ElasticsearchOptions = {
  /** Base addresses, `http(s)://host:port`, of nodes of one cluster. */
  readonly nodes: readonly string[];
  readonly auth?: { readonly username: string; readonly password: string } | { readonly apiKey: string } | null;
  /** Certificate authorities to trust, PEM. */
  readonly ca?: string | null;
  readonly log: Logger;
};

const REQUEST_TIMEOUT_MS = 30_000;
const PING_TIMEOUT_MS = 3000;

/**
 * A client with explicit limits. Once no node has answered for 2 s, reads fail at once until one
 * answers again. Reads go to another node, at most twice, where a connection fails or a node
 * answers 502 to 504; the transport never repeats a 429. Bulk writes are sent once: their sender
 * judges each item and backs off by itself.
 */
export function createElasticsearchClient(options: ElasticsearchOptions): Client {
  const { nodes, auth, ca, log } = options;
  const client = new Client({
    nodes: [...nodes],
    ...(auth && { auth }),
    ...(ca && { tls: { ca } }),
    maxRetries: 2,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // A node that failed is tried again after a while by a real request: the client's own ping asks
    // for `/`, which not every node has.
    resurrectStrategy: "optimistic",
  });
  const isPatient = (path: string): boolean => path.endsWith("/_bulk") || context.getStore()?.isPatient === true;
  const silence = watchSilence(client, isPatient);
  // The one place that all requests pass, whichever method sends them.
  const send = client.transport.request.bind(client.transport) as unknown as Send;
  (client.transport as unknown as { request: Send }).request = async (params, options) => {
    if (!isPatient(params.path)) silence.requireAnswers();
    const signal = context.getStore()?.signal;
    // What cleans up behind a question has its own time.
    const timed = signal === undefined || params.method === "DELETE" ? options : { ...options, signal };
    try {
      return await send(params, timed);
    } catch (error) {
      if (error instanceof errors.RequestAbortedError && timed?.signal?.aborted !== true) silence.requireAnswers();
      throw error;
    }
  };
  client.diagnostic.on("response", (error) => {
    if (error !== null && isUnreachable(error))
      log.warn({ node: nodeOf(error) }, `elasticsearch: ${connectionFault(error)}`);
  });
  return client;
}

type Send = (
  params: { readonly method: string; readonly path: string },
  options?: { readonly signal?: AbortSignal },
) => Promise<unknown>;

/** The work that a request belongs to. */
type Work = {
  /** Fires when it has had its time. */
  readonly signal?: AbortSignal;
  /** Whether it rather waits for nodes that do not answer. */
  readonly isPatient?: boolean;
};

const context = new AsyncLocalStorage<Work>();

/**
 * Does long work, which nobody waits for: nodes that do not answer for a while do not end it, but
 * the time-outs of its requests.
 */
export function outlastSilence<T>(work: () => Promise<T>): Promise<T> {
  return context.run({ isPatient: true }, work);
}

/**
 * Gives all requests of `work` this much time together: one question may take many, and each begins
 * with a time of its own. The cluster gives up what nobody waits for any more.
 * @param gone fires when the client has left: it ends the work as well
 * @throws LoggiaError where that was not enough: `store_unavailable`, or `overloaded` where it was
 * not the cluster; {@link ClientGone}
 */
export async function inTime<T>(time_ms: number, work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
  const hasLeft = (): boolean => gone?.aborted === true;
  if (hasLeft()) throw new ClientGone();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(tookTooLong(time_ms)), time_ms);
  const signal = gone === undefined ? late.signal : AbortSignal.any([late.signal, gone]);
  try {
    return await context.run({ signal }, work);
  } catch (error) {
    if (hasLeft()) throw new ClientGone();
    if (!late.signal.aborted || !(error instanceof errors.RequestAbortedError)) throw error;
    throw new LoggiaError("store_unavailable", "Elasticsearch did not answer in time", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function tookTooLong(time_ms: number): LoggiaError {
  return new LoggiaError(
    "overloaded",
    `The query took longer than ${time_ms / 1000} s: narrow it, for example by time`,
  );
}

/**
 * Ends work of our own that {@link inTime} gave up, as it ends requests. @throws LoggiaError, or
 * what {@link inTime} makes {@link ClientGone} of
 */
export function throwIfGivenUp(): void {
  context.getStore()?.signal?.throwIfAborted();
}

/** Every answer of Elasticsearch names the product in a header; a proxy that answers for it, with 5xx, does not. */
const FOREIGN = "gave an answer that is not Elasticsearch's: check the address";
const REFUSED_401 = "refused the configured credentials (401)";

/** @throws LoggiaError `store_unavailable` where no node answers within 3 s, or none accepts the credentials */
export async function pingElasticsearch(client: Client): Promise<void> {
  try {
    await client.cluster.health(
      { filter_path: "status", timeout: `${PING_TIMEOUT_MS}ms` },
      { requestTimeout: PING_TIMEOUT_MS, maxRetries: 1 },
    );
  } catch (error) {
    // Credentials that are limited to our indices may not ask for the cluster's health; the node is there all the same.
    if (error instanceof errors.ResponseError && error.statusCode === 403) return;
    throw translateElasticsearchError(error);
  }
}

/**
 * What a failed request means to a caller: `store_unavailable` where the cluster is away, busy or
 * refuses our credentials, with the node's address. A request that the cluster finds wrong is a
 * fault of ours: `internal_error`.
 */
export function translateElasticsearchError(error: unknown): LoggiaError {
  if (error instanceof LoggiaError) return error;
  if (!(error instanceof errors.ElasticsearchClientError)) {
    return new LoggiaError("internal_error", `Talking to Elasticsearch failed: ${messageOf(error)}`, { cause: error });
  }
  const where = `Elasticsearch at ${nodeOf(error) ?? "its configured address"}`;
  const unavailable = (what: string) => new LoggiaError("store_unavailable", `${where} ${what}`, { cause: error });
  if (error instanceof errors.TimeoutError) return unavailable("did not answer in time");
  if (error instanceof errors.ConnectionError || error instanceof errors.NoLivingConnectionsError) {
    return unavailable(`cannot be reached: ${connectionFault(error)}`);
  }
  if (error instanceof errors.RequestAbortedError) return unavailable("was not waited for");
  if (error instanceof errors.ProductNotSupportedError || error instanceof errors.DeserializationError) {
    return unavailable(FOREIGN);
  }
  if (!(error instanceof errors.ResponseError)) {
    return new LoggiaError("internal_error", `${where}: ${error.message}`, { cause: error });
  }
  const status = error.statusCode ?? 0;
  // Whatever asks for credentials in front of a cluster, its own security or a proxy, need not name the product.
  if (status === 401) return unavailable(isAnonymous(error) ? "asks for credentials (401)" : REFUSED_401);
  // An index that is being replaced and a disk past its flood stage answer so: without the
  // product's name, and with a status that means something else everywhere else.
  if ((status === 403 || status === 429) && isBlocked(error)) return unavailable(`takes no writes: ${reasonOf(error)}`);
  if (status < 500 && error.headers?.["x-elastic-product"] === undefined) return unavailable(FOREIGN);
  if (status === 403) return unavailable("refused the configured credentials (403)");
  if (status === 429) return unavailable("is overloaded (429)");
  if (status === 408 || status >= 500) return unavailable(`answered ${status}: ${reasonOf(error)}`);
  return new LoggiaError("internal_error", `${where} answered ${status}: ${reasonOf(error)}`, { cause: error });
}

/** Runs a request and translates its error. */
export async function translated<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw translateElasticsearchError(error);
  }
}

/** The first reason in an error's answer that says more than that all shards failed. */
export function reasonOf(error: InstanceType<typeof errors.ResponseError>): string {
  const cause = (error.body as { error?: ErrorCause } | undefined)?.error;
  if (cause === undefined || typeof cause !== "object") return error.message.replaceAll(/\s+/g, " ").slice(0, 200);
  const first = cause.root_cause?.[0] ?? cause;
  return `${first.type ?? "error"}: ${first.reason ?? "no reason given"}`;
}

function isBlocked(error: InstanceType<typeof errors.ResponseError>): boolean {
  const body = error.body as { error?: ErrorCause } | undefined;
  return body?.error?.type === "cluster_block_exception";
}

type ErrorCause = { type?: string; reason?: string; root_cause?: ErrorCause[] };

/** The address of the node that an error came from, without credentials. */
function nodeOf(error: Error): string | null {
  const { meta } = error as { meta?: { meta?: { connection?: { url?: URL | string } | null } } };
  const url = meta?.meta?.connection?.url;
  return url === undefined ? null : new URL(url).origin;
}

/**
 * Whether the request that failed went without credentials; the client tells that they went along,
 * never what they are.
 */
function isAnonymous(error: InstanceType<typeof errors.ResponseError>): boolean {
  const { headers } = error.meta.meta.request.params as { headers?: Record<string, unknown> };
  return headers?.["authorization"] === undefined;
}

/** Why a connection failed, in one line. */
function connectionFault(error: Error): string {
  const reason = error.message.replaceAll(/\s+/g, " ").trim();
  const isTls = nodeOf(error)?.startsWith("https:") === true;
  if (isTls && reason.includes("wrong version number")) return "it speaks no TLS; http:// is without";
  if (!isTls && reason.startsWith("other side closed")) return "it closed the connection; it may require https://";
  return certificateFault(reason, "ELASTICSEARCH_CA_FILE") ?? reason;
}

function isUnreachable(error: Error): boolean {
  return (
    error instanceof errors.ConnectionError ||
    error instanceof errors.TimeoutError ||
    error instanceof errors.NoLivingConnectionsError
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
