import { errors } from "@elastic/elasticsearch";
import type { Client } from "@elastic/elasticsearch";

import { LoggiaError } from "../errors.ts";

const TICK_MS = 500;
/** The first tick after a request may come at once, so that five ticks are 2 s or a little more. */
const SILENT_TICKS = 5;
const PROBE_TIMEOUT_MS = 2_000;
const NO_ANSWER = "has not answered for 2 s";

type Pool = Client["connectionPool"];
type Connection = Pool["connections"][number];
type Options = { readonly signal?: AbortSignal; readonly timeout?: number };
type Send = (params: object, options: Options) => Promise<unknown>;

/** A node, and the requests that wait for its answer. */
type Node = {
  readonly connection: Connection;
  readonly send: Send;
  /** Gives up a request; one for each that may go to another node. */
  readonly waiting: Set<() => void>;
  /** How many requests wait for as long as their own time-outs allow. */
  patient: number;
  /** Whether it answered since the last tick. */
  heard: boolean;
  /** Ticks in a row without an answer while one was asked for. */
  ticks: number;
  isProbed: boolean;
};

export type SilenceWatch = {
  /** @throws LoggiaError `store_unavailable` where no node has answered for 2 s */
  requireAnswers(): void;
};

/**
 * Tells nodes that answer slowly from nodes that do not answer at all. While requests wait, all
 * nodes are probed; one that answers nothing for 2 s, probes included, gets no more requests until
 * it answers a probe. Its readers go to another node, or fail.
 *
 * Silence is counted in ticks of a timer: a thread that was busy itself must not take its own delay
 * for a node's.
 *
 * @param isPatient whether a request that is sent now waits for as long as its own time-out allows
 */
export function watchSilence({ connectionPool: pool }: Client, isPatient: (path: string) => boolean): SilenceWatch {
  const nodes: Node[] = pool.connections.map((connection) => {
    const send = connection.request.bind(connection) as unknown as Send;
    return { connection, send, waiting: new Set(), patient: 0, heard: false, ticks: 0, isProbed: false };
  });
  let timer: NodeJS.Timeout | null = null;

  function hear(node: Node): void {
    if (isSilent(node)) pool.markAlive(node.connection);
    node.heard = true;
    node.ticks = 0;
  }

  async function probe(node: Node): Promise<void> {
    if (node.isProbed) return;
    node.isProbed = true;
    try {
      await node.send(...PROBE);
      hear(node);
    } catch {
      // The tick counts it.
    } finally {
      node.isProbed = false;
    }
  }

  function tick(): void {
    const isQuestionable = nodes.some((node) => node.ticks > 0 || (!node.heard && isAsked(node)));
    if (!isQuestionable && !nodes.some(isAsked)) {
      clearInterval(timer!);
      timer = null;
    }
    for (const node of nodes) {
      if (isQuestionable && !node.heard) {
        node.ticks += 1;
        void probe(node);
      }
      node.heard = false;
    }
    for (const { waiting } of nodes.filter(isSilent)) for (const giveUp of waiting) giveUp();
  }

  /**
   * A ConnectionError sends the client to another node; where there is none, it would only wait
   * before it tries again.
   */
  const silence = (): Error =>
    nodes.every(isSilent) ? new errors.RequestAbortedError(NO_ANSWER) : new errors.ConnectionError(NO_ANSWER);

  async function sendPatiently(node: Node, params: object, options: Options): Promise<unknown> {
    node.patient += 1;
    try {
      return await node.send(params, options);
    } finally {
      node.patient -= 1;
    }
  }

  async function sendWhileAnswering(node: Node, params: object, options: Options): Promise<unknown> {
    if (isSilent(node)) throw silence();
    const ending = new AbortController();
    let isGivenUp = false;
    const giveUp = (): void => {
      isGivenUp = true;
      ending.abort();
    };
    const end = (): void => ending.abort();
    options.signal?.addEventListener("abort", end, { once: true });
    node.waiting.add(giveUp);
    try {
      return await node.send(params, { ...options, signal: ending.signal });
    } catch (error) {
      throw isGivenUp ? silence() : error;
    } finally {
      node.waiting.delete(giveUp);
      options.signal?.removeEventListener("abort", end);
    }
  }

  for (const node of nodes) {
    const request = async (params: { readonly path: string }, options: Options): Promise<unknown> => {
      timer ??= setInterval(tick, TICK_MS).unref();
      const send = isPatient(params.path) ? sendPatiently : sendWhileAnswering;
      const answer = await send(node, params, options);
      hear(node);
      return answer;
    };
    (node.connection as unknown as { request: typeof request }).request = request;
  }

  return {
    requireAnswers() {
      if (!nodes.every(isSilent)) return;
      const names = nodes.map(({ connection }) => connection.url.origin).join(", ");
      throw new LoggiaError("store_unavailable", `Elasticsearch at ${names} ${NO_ANSWER}`);
    },
  };
}

/** Any answer counts: not every node has something to say at this path. */
const PROBE = [
  { method: "HEAD", path: "/" },
  { timeout: PROBE_TIMEOUT_MS, requestId: "probe", name: "probe", context: null },
] as const;

function isSilent({ ticks }: Node): boolean {
  return ticks >= SILENT_TICKS;
}

function isAsked({ waiting, patient }: Node): boolean {
  return waiting.size > 0 || patient > 0;
}
