import { errors } from "@elastic/elasticsearch";
import type { Client } from "@elastic/elasticsearch";

import { LoggiaError } from "../errors.ts";

const TICK_MS = 500;
const PROBE_TIMEOUT_MS = 2_000;

type Pool = Client["connectionPool"];
type Connection = Pool["connections"][number];
type Options = { readonly signal?: AbortSignal; readonly timeout?: number };
type Send = (params: object, options: Options) => Promise<unknown>;

/** A node and its pending requests. */
type Node = {
  readonly connection: Connection;
  readonly send: Send;
  /** Aborts a pending request that fails fast, so that it can go to another node. */
  readonly aborts: Set<() => void>;
  /** Number of pending requests that wait until their own timeouts. */
  waiting: number;
  /** Whether the node has responded since the last tick. */
  hasResponded: boolean;
  /** When it last responded, as `performance.now` tells time. */
  responded_ms: number;
  /** Ticks in a row without a response. */
  ticks: number;
  isProbed: boolean;
};

/**
 * Distinguishes nodes that respond slowly from nodes that do not respond at all. While requests are
 * pending, all nodes are probed. A node that responds to nothing for `after_ms`, probes included,
 * gets no further requests until it responds to a probe: its reads go to another node, or fail.
 *
 * The time without a response is counted in ticks of a timer, so that a delay of this process's
 * own event loop does not count.
 */
export class NodeMonitor {
  readonly #pool: Pool;
  readonly #nodes: readonly Node[];
  readonly #failsFast: (path: string) => boolean;
  readonly #unresponsiveTicks: number;
  /** Error message. */
  readonly #silence: string;
  #timer: NodeJS.Timeout | null = null;

  /**
   * Replaces the way in which the client's connections send.
   * @param failsFast whether a request sent now fails on an unresponsive node; otherwise it waits
   *   until its own timeout
   * @param after_ms time without a response after which a node is unresponsive
   */
  constructor({ connectionPool }: Client, failsFast: (path: string) => boolean, after_ms: number) {
    this.#pool = connectionPool;
    this.#failsFast = failsFast;
    // The first tick may follow a request immediately, so it does not count.
    this.#unresponsiveTicks = after_ms / TICK_MS + 1;
    this.#silence = `has not responded for ${after_ms / 1000} s`;
    this.#nodes = connectionPool.connections.map((connection) => this.#watch(connection));
  }

  /** @throws LoggiaError `store_unavailable` if no node has responded for `after_ms` */
  requireResponsiveNode(): void {
    if (!this.#nodes.every((node) => this.#isUnresponsive(node))) return;
    const names = this.#nodes.map(({ connection }) => connection.url.origin).join(", ");
    throw new LoggiaError("store_unavailable", `Elasticsearch at ${names} ${this.#silence}`);
  }

  /** Whether a node has responded, if only to a probe, since a time of `performance.now`. */
  hasRespondedSince(time_ms: number): boolean {
    return this.#nodes.some(({ responded_ms }) => responded_ms > time_ms);
  }

  #watch(connection: Connection): Node {
    const node: Node = {
      connection,
      send: connection.request.bind(connection) as unknown as Send,
      aborts: new Set(),
      waiting: 0,
      hasResponded: false,
      responded_ms: -Infinity,
      ticks: 0,
      isProbed: false,
    };
    const request = async (params: { readonly path: string }, options: Options): Promise<unknown> => {
      this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
      const response = this.#failsFast(params.path)
        ? await this.#sendFailFast(node, params, options)
        : await sendAndWait(node, params, options);
      this.#recordResponse(node);
      return response;
    };
    (connection as unknown as { request: typeof request }).request = request;
    return node;
  }

  #isUnresponsive({ ticks }: Node): boolean {
    return ticks >= this.#unresponsiveTicks;
  }

  #recordResponse(node: Node): void {
    if (this.#isUnresponsive(node)) this.#pool.markAlive(node.connection);
    node.hasResponded = true;
    node.responded_ms = performance.now();
    node.ticks = 0;
  }

  async #probe(node: Node): Promise<void> {
    if (node.isProbed) return;
    node.isProbed = true;
    try {
      await node.send(...PROBE);
      this.#recordResponse(node);
    } catch {
      // The next tick counts the missing response.
    } finally {
      node.isProbed = false;
    }
  }

  #tick(): void {
    const isSuspect = this.#nodes.some((node) => node.ticks > 0 || (!node.hasResponded && hasPending(node)));
    if (!isSuspect && !this.#nodes.some(hasPending)) {
      clearInterval(this.#timer!);
      this.#timer = null;
    }
    for (const node of this.#nodes) {
      if (isSuspect && !node.hasResponded) {
        node.ticks += 1;
        void this.#probe(node);
      }
      node.hasResponded = false;
    }
    for (const node of this.#nodes) if (this.#isUnresponsive(node)) for (const abort of node.aborts) abort();
  }

  /**
   * A ConnectionError makes the client retry on another node. If no node responds, a retry would
   * only add a delay.
   */
  #noResponse(): Error {
    return this.#nodes.every((node) => this.#isUnresponsive(node))
      ? new errors.RequestAbortedError(this.#silence)
      : new errors.ConnectionError(this.#silence);
  }

  async #sendFailFast(node: Node, params: object, options: Options): Promise<unknown> {
    if (this.#isUnresponsive(node)) throw this.#noResponse();
    const controller = new AbortController();
    let isNodeUnresponsive = false;
    const abort = (): void => {
      isNodeUnresponsive = true;
      controller.abort();
    };
    const forwardAbort = (): void => controller.abort();
    options.signal?.addEventListener("abort", forwardAbort, { once: true });
    node.aborts.add(abort);
    try {
      return await node.send(params, { ...options, signal: controller.signal });
    } catch (error) {
      throw isNodeUnresponsive ? this.#noResponse() : error;
    } finally {
      node.aborts.delete(abort);
      options.signal?.removeEventListener("abort", forwardAbort);
    }
  }
}

async function sendAndWait(node: Node, params: object, options: Options): Promise<unknown> {
  node.waiting += 1;
  try {
    return await node.send(params, options);
  } finally {
    node.waiting -= 1;
  }
}

/** The request of a probe. Any response counts: not every node serves this path. */
const PROBE = [
  { method: "HEAD", path: "/" },
  { timeout: PROBE_TIMEOUT_MS, requestId: "probe", name: "probe", context: null },
] as const;

function hasPending({ aborts, waiting }: Node): boolean {
  return aborts.size > 0 || waiting > 0;
}
