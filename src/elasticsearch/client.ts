import { AsyncLocalStorage } from "node:async_hooks";

import { Client, errors } from "@elastic/elasticsearch";
import type { Logger } from "pino";

import { certificateFault, ClientGone, LoggiaError } from "../errors.ts";
import { AnswerSerializer, parsed } from "./long-answer.ts";
import { NodeMonitor } from "./node-monitor.ts";
import { SearchSeats } from "./search-seats.ts";
import { type ApiMajor, headersOfApi, isRefusedApi, readVersion } from "./version.ts";

export type ElasticsearchOptions = {
  /** Base addresses, `http(s)://host:port`, of nodes of one cluster. */
  readonly nodes: readonly string[];
  readonly auth?: { readonly username: string; readonly password: string } | { readonly apiKey: string } | null;
  /** Certificate authorities to trust, PEM. */
  readonly ca?: string | null;
  /** Time without a response after which a node gets no further reads. 2 s by default. */
  readonly unresponsiveAfter_ms?: number;
  /** Timeout of a request. 30 s by default. */
  readonly requestTimeout_ms?: number;
  readonly log: Logger;
};

const REQUEST_TIMEOUT_MS = 30_000;
const PING_TIMEOUT_MS = 3000;
const UNRESPONSIVE_MS = 2000;

/**
 * Creates a client with explicit limits. Once no node has responded for 2 s, reads fail at once
 * until one responds again. If a connection fails or a node returns 502 to 504, a read is retried
 * on another node, at most twice; the transport never retries a 429. Bulk writes are sent once:
 * the caller handles the result of each item and its own back-off.
 *
 * The first request asks for the cluster's version, and all are written for the API of that.
 */
export function createElasticsearchClient(options: ElasticsearchOptions): Client {
  const { nodes, auth, ca, log } = options;
  const { unresponsiveAfter_ms = UNRESPONSIVE_MS, requestTimeout_ms = REQUEST_TIMEOUT_MS } = options;
  const client = new Client({
    nodes: [...nodes],
    ...(auth && { auth }),
    ...(ca && { tls: { ca } }),
    maxRetries: 2,
    requestTimeout: requestTimeout_ms,
    // A failed node is retried after a delay with a regular request: the client's own ping requests
    // `/`, which not every node serves.
    resurrectStrategy: "optimistic",
    Serializer: AnswerSerializer,
  });
  const failsFast = (path: string): boolean => !path.endsWith("/_bulk") && context.getStore()?.failsFast !== false;
  const nodeMonitor = new NodeMonitor(client, failsFast, unresponsiveAfter_ms);
  // All requests of the client pass through this function, whichever method sends them.
  const send = inApiOf(client, log);
  const seats = new SearchSeats((path, filter) =>
    send({ method: "GET", path, querystring: { filter_path: filter } }, { requestTimeout: PING_TIMEOUT_MS }),
  );
  (client.transport as unknown as { request: Send }).request = async (params, options) => {
    if (failsFast(params.path)) nodeMonitor.requireResponsiveNode();
    const signal = context.getStore()?.signal;
    // The deadline of a query does not apply to the requests that clean up after it.
    const timed = signal === undefined || params.method === "DELETE" ? options : { ...options, signal };
    const sent_ms = performance.now();
    try {
      const answer = SEARCH.test(params.path)
        ? await seats.run((most) => send(withAtMost(params, most), timed), signal)
        : await send(params, timed);
      return await parsed(answer, throwIfAborted);
    } catch (error) {
      if (!(error instanceof errors.RequestAbortedError)) throw error;
      if (timed?.signal?.aborted !== true) nodeMonitor.requireResponsiveNode();
      // The cluster is there, so it is the query that takes too long.
      else if (timed.signal.reason instanceof OperationTooSlow && nodeMonitor.hasRespondedSince(sent_ms))
        throw timed.signal.reason;
      throw error;
    }
  };
  client.diagnostic.on("response", (error) => {
    if (error !== null && isUnreachable(error))
      log.warn({ node: nodeOf(error) }, `elasticsearch: ${connectionFault(error)}`);
  });
  return client;
}

type Send = (params: Params, options?: RequestOptions) => Promise<unknown>;

type Params = {
  readonly method: string;
  readonly path: string;
  readonly querystring?: string | Readonly<Record<string, unknown>>;
  readonly bulkBody?: unknown;
};

const SEARCH = /\/_m?search$/;

/** Bounds how many searches of a request run at a time. */
function withAtMost(params: Params, most: number | null): Params {
  const { path, querystring } = params;
  if (most === null || !path.endsWith("/_msearch") || typeof querystring === "string") return params;
  return { ...params, querystring: { ...querystring, max_concurrent_searches: most } };
}

type RequestOptions = {
  readonly signal?: AbortSignal;
  readonly requestTimeout?: number | string;
  readonly maxRetries?: number;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * Returns a function that sends requests in the API of the cluster's version. Nodes of 8 refuse the
 * API of 9, which the client speaks by itself.
 */
function inApiOf(client: Client, log: Logger): Send {
  const send = client.transport.request.bind(client.transport) as unknown as Send;
  let api: ApiMajor | null = null;
  const sendAs = (used: ApiMajor, params: Parameters<Send>[0], options?: RequestOptions): Promise<unknown> => {
    const headers = { ...headersOfApi(used, params.bulkBody !== undefined), ...options?.headers };
    return send(params, { ...options, headers });
  };
  return async (params, options) => {
    if (api === null) {
      const known = await readVersion(send as Parameters<typeof readVersion>[0], options);
      api = known.api;
      log.info({ version: known.version }, "elasticsearch: the cluster answers");
    }
    const used: ApiMajor = api;
    try {
      return await sendAs(used, params, options);
    } catch (error) {
      // While a cluster is upgraded, some of its nodes are of the earlier major release.
      if (used === 8 || !isRefusedApi(error)) throw error;
      api = 8;
      return sendAs(8, params, options);
    }
  };
}

/** Context of the operation that a request belongs to. */
type RequestContext = {
  /** Fires when the operation's deadline has passed or its client has disconnected. */
  readonly signal?: AbortSignal;
  /** When most of the operation's time is over, as `performance.now` tells time. */
  readonly nearlyOver_ms?: number;
  /** False: requests wait for unresponsive nodes until their own timeouts. Default: true */
  readonly failsFast?: boolean;
};

const context = new AsyncLocalStorage<RequestContext>();

/**
 * Runs a background operation whose requests wait for unresponsive nodes until their own timeouts,
 * instead of failing after 2 s.
 */
export function withoutFailFast<T>(work: () => Promise<T>): Promise<T> {
  return context.run({ failsFast: false }, work);
}

/** Thrown by {@link withTimeout} once the time of an operation is over. */
export class OperationTooSlow extends LoggiaError {}

/**
 * Runs `work` with one timeout for all its requests together: a query may send many requests, and
 * each alone has only the client's timeout. Elasticsearch cancels the requests that are aborted.
 * @param gone fires when the client has disconnected, which aborts the work as well
 * @throws OperationTooSlow after the timeout: `store_unavailable` if a request was pending, to which
 * no node has responded in any way, otherwise `overloaded`; {@link ClientGone}
 */
export async function withTimeout<T>(timeout_ms: number, work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
  const isGone = (): boolean => gone?.aborted === true;
  if (isGone()) throw new ClientGone();
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(tookTooLong(timeout_ms)), timeout_ms);
  const signal = gone === undefined ? timeout.signal : AbortSignal.any([timeout.signal, gone]);
  try {
    return await context.run({ signal, nearlyOver_ms: performance.now() + timeout_ms * NEARLY_OVER }, work);
  } catch (error) {
    if (isGone()) throw new ClientGone();
    if (!timeout.signal.aborted || !(error instanceof errors.RequestAbortedError)) throw error;
    throw new OperationTooSlow("store_unavailable", "Elasticsearch did not respond in time", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** The share of an operation's time after which only its end should follow. */
const NEARLY_OVER = 5 / 6;

/** Whether most of the time of the current {@link withTimeout} is over: long work then ends early. */
export function isNearlyOver(): boolean {
  return performance.now() > (context.getStore()?.nearlyOver_ms ?? Infinity);
}

function tookTooLong(timeout_ms: number): OperationTooSlow {
  return new OperationTooSlow(
    "overloaded",
    `The query took longer than ${timeout_ms / 1000} s: narrow it, for example by time`,
  );
}

/**
 * Throws if {@link withTimeout} has aborted the current operation: ends computation in this
 * process as the signal ends requests.
 * @throws LoggiaError after the timeout; the signal's reason if the client has disconnected, which
 * {@link withTimeout} turns into {@link ClientGone}
 */
export function throwIfAborted(): void {
  context.getStore()?.signal?.throwIfAborted();
}

/**
 * Every response of Elasticsearch names the product in a header. The 5xx of a proxy in front of it
 * do not.
 */
const FOREIGN = "returned a response that is not Elasticsearch's: check the address";
const REFUSED_401 = "rejected the configured credentials (401)";

/**
 * Checks that the cluster can be used.
 * @param timeout_ms longest wait for a response, 3 s by default
 * @throws LoggiaError `store_unavailable` if no node responds in time or accepts the credentials
 */
export async function pingElasticsearch(client: Client, timeout_ms = PING_TIMEOUT_MS): Promise<void> {
  try {
    await client.cluster.health(
      { filter_path: "status", timeout: `${timeout_ms}ms` },
      { requestTimeout: timeout_ms, maxRetries: 1 },
    );
  } catch (error) {
    // Credentials that are limited to the service's indices may not read the cluster's health, but
    // the response shows that the node is reachable.
    if (error instanceof errors.ResponseError && error.statusCode === 403) return;
    throw translateElasticsearchError(error);
  }
}

/**
 * Translates a client error into a {@link LoggiaError}: `store_unavailable`, with the node's
 * address, if the cluster is unreachable, overloaded or rejects the credentials; `internal_error`
 * for a request that the cluster rejects as invalid, which is a bug of this service.
 */
export function translateElasticsearchError(error: unknown): LoggiaError {
  if (error instanceof LoggiaError) return error;
  if (!(error instanceof errors.ElasticsearchClientError)) {
    const message = `The request to Elasticsearch failed: ${messageOf(error)}`;
    return new LoggiaError("internal_error", message, { cause: error });
  }
  const where = `Elasticsearch at ${nodeOf(error) ?? "its configured address"}`;
  const unavailable = (what: string) => new LoggiaError("store_unavailable", `${where} ${what}`, { cause: error });
  if (error instanceof errors.TimeoutError) return unavailable("did not respond in time");
  if (error instanceof errors.ConnectionError || error instanceof errors.NoLivingConnectionsError) {
    return unavailable(`cannot be reached: ${connectionFault(error)}`);
  }
  if (error instanceof errors.RequestAbortedError) return unavailable("did not respond before the request was aborted");
  if (error instanceof errors.ProductNotSupportedError || error instanceof errors.DeserializationError) {
    return unavailable(FOREIGN);
  }
  if (!(error instanceof errors.ResponseError)) {
    return new LoggiaError("internal_error", `${where}: ${error.message}`, { cause: error });
  }
  const status = error.statusCode ?? 0;
  // A 401, from Elasticsearch's security or from a proxy, need not name the product.
  if (status === 401) return unavailable(isAnonymous(error) ? "requires credentials (401)" : REFUSED_401);
  // Returned for an index that is being replaced and a disk past its flood stage: without the
  // product's name, and with a status that otherwise means something else.
  if ((status === 403 || status === 429) && isBlocked(error))
    return unavailable(`rejects writes: ${elasticsearchReason(error)}`);
  if (status < 500 && error.headers?.["x-elastic-product"] === undefined) return unavailable(FOREIGN);
  if (status === 403) return unavailable("rejected the configured credentials (403)");
  if (status === 429) return unavailable("is overloaded (429)");
  if (status === 408 || status >= 500) return unavailable(`returned ${status}: ${elasticsearchReason(error)}`);
  return new LoggiaError("internal_error", `${where} returned ${status}: ${elasticsearchReason(error)}`, {
    cause: error,
  });
}

/** Runs a request and translates its error. */
export async function translated<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw translateElasticsearchError(error);
  }
}

/** Returns the first reason in an error response that is more specific than "all shards failed". */
export function elasticsearchReason(error: InstanceType<typeof errors.ResponseError>): string {
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

/** Returns the address, without credentials, of the node that an error came from. */
function nodeOf(error: Error): string | null {
  const { meta } = error as { meta?: { meta?: { connection?: { url?: URL | string } | null } } };
  const url = meta?.meta?.connection?.url;
  return url === undefined ? null : new URL(url).origin;
}

/**
 * Whether the failed request was sent without credentials. The client's error shows that the header
 * was set, never its value.
 */
function isAnonymous(error: InstanceType<typeof errors.ResponseError>): boolean {
  const { headers } = error.meta.meta.request.params as { headers?: Record<string, unknown> };
  return headers?.["authorization"] === undefined;
}

/** Returns the reason for a failed connection, in one line. */
function connectionFault(error: Error): string {
  const reason = error.message.replaceAll(/\s+/g, " ").trim();
  const isTls = nodeOf(error)?.startsWith("https:") === true;
  if (isTls && reason.includes("wrong version number")) return "the node does not use TLS; use http://";
  if (!isTls && reason.startsWith("other side closed")) {
    return "the node closed the connection; it may require https://";
  }
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
