import { errors } from "@elastic/elasticsearch";

import { currentCaller } from "../caller-context.ts";
import { ClientGone } from "../errors.ts";
import { FairPool } from "../scheduling/fair-pool.ts";

/** Never seen: the wait has no limit but that of its query. */
const REFUSAL = { own: "", others: "", retryAfter_s: 1 };

type Nodes = {
  readonly nodes?: Readonly<
    Record<
      string,
      {
        readonly roles?: readonly string[];
        readonly thread_pool?: { readonly search?: { readonly size?: number | string } };
      }
    >
  >;
};

/** Asks a cluster for its nodes. */
export type AskNodes = (path: string, filter: string) => Promise<unknown>;

/**
 * Shares the search threads of a cluster fairly among callers, who could otherwise fill its queue
 * with long searches. Searches of the service itself do not wait.
 */
export class SearchSeats {
  readonly #ask: AskNodes;
  #isAsked = false;
  /** null until the cluster has said how many threads it has. */
  #pool: FairPool<null> | null = null;
  #size = 0;

  constructor(ask: AskNodes) {
    this.#ask = ask;
  }

  /**
   * Runs a search once there is a seat for its caller.
   * @param search gets how many searches of one request may run at a time; null: as many as
   *   Elasticsearch decides
   * @param signal ends the wait, with its reason
   */
  async run<T>(search: (most: number | null) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const caller = currentCaller();
    const pool = this.#pool;
    if (caller === undefined) return search(null);
    if (pool === null) {
      const answer = await search(null);
      void this.#readSize();
      return answer;
    }
    const seat = await pool.take(caller, signal).catch((error: unknown) => {
      if (error instanceof ClientGone) signal?.throwIfAborted();
      throw error;
    });
    try {
      return await search(Math.max(1, Math.floor(this.#size / 2)));
    } finally {
      pool.give(seat, caller);
    }
  }

  /** Asks for the number of search threads, again after the cluster was unavailable. */
  async #readSize(): Promise<void> {
    if (this.#isAsked) return;
    this.#isAsked = true;
    try {
      this.#size = threadsOf((await this.#ask("/_nodes/thread_pool", FILTER)) as Nodes);
      if (this.#size > 0)
        this.#pool = new FairPool(
          Array.from({ length: this.#size }, () => null),
          REFUSAL,
        );
    } catch (error) {
      // A user who may not ask gets the same refusal again.
      if (!(error instanceof errors.ResponseError)) this.#isAsked = false;
    }
  }
}

const FILTER = "nodes.*.roles,nodes.*.thread_pool.search.size";

function threadsOf({ nodes = {} }: Nodes): number {
  const sizes = Object.values(nodes).map(({ roles = [], thread_pool: pools }) =>
    roles.some((role) => role.startsWith("data")) ? Number(pools?.search?.size ?? 0) : 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
