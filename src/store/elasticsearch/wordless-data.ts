import type { Client } from "@elastic/elasticsearch";
import type { Logger } from "pino";

import { DATA_WORDS } from "./document.ts";
import type { Names } from "./mapping.ts";
import { searcherOf } from "./search/scan.ts";

/** Time for which what was found is believed, in milliseconds. */
const TTL_MS = 30_000;
const MAX_INDICES = 10_000;

export type WordlessDataOptions = {
  readonly client: Client;
  /** With the indices of an earlier layout, which are known to hold such data. */
  readonly names: Pick<Names, "events" | "dataWordless">;
  readonly log: Logger;
};

/**
 * The indices with events whose data is not in the index of words. A process of an earlier release
 * that still runs writes such events into indices of the current layout too.
 */
export class WordlessData {
  readonly #options: WordlessDataOptions;
  #indices: readonly string[];
  #expires_ms = -Infinity;
  #running: Promise<void> | null = null;

  constructor(options: WordlessDataOptions) {
    this.#options = options;
    this.#indices = options.names.dataWordless;
  }

  /** Returns the indices as of the last 30 s. */
  async indices(): Promise<readonly string[]> {
    if (performance.now() > this.#expires_ms) {
      this.#running ??= this.#look().finally(() => (this.#running = null));
      await this.#running;
    }
    return this.#indices;
  }

  async #look(): Promise<void> {
    const { client, names, log } = this.#options;
    const known = this.#indices;
    // Elasticsearch caches the result for months that nothing is written to.
    const { aggregations } = await searcherOf(
      client,
      names.events,
    )({
      query: {
        bool: {
          filter: { term: { has: "data" } },
          must_not: [{ term: { has: DATA_WORDS } }, { terms: { _index: [...known] } }],
        },
      },
      size: 0,
      track_total_hits: false,
      aggs: { indices: { terms: { field: "_index", size: MAX_INDICES } } },
    });
    this.#expires_ms = performance.now() + TTL_MS;
    const found = (aggregations?.["indices"]?.buckets ?? []).map(({ key }) => key as string);
    if (found.length === 0) return;
    this.#indices = [...known, ...found];
    log.warn(
      { indices: found },
      "elasticsearch: a process of an earlier release wrote these indices, so that searches of their data " +
        "test each of its events: stop that process, then run `make replay`",
    );
  }
}
