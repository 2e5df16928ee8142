import type { Client } from "@elastic/elasticsearch";

import { translated } from "../../elasticsearch/client.ts";
import type { LogKey } from "../../events/event.ts";
import { ATTRIBUTE_PATHS } from "./attributes.ts";
import type { Names } from "./mapping.ts";
import { searcherOf } from "./scan.ts";

/** So many attributes of a log get columns. */
const MAX_OF_LOG = 256;

/**
 * Which attributes of each log get columns: the first {@link MAX_OF_LOG} that it is seen to have.
 * Names beyond are found by terms like all others, and grouped by a look at each event. So a log
 * whose names have no end fills no index with columns, which all logs share.
 *
 * Nothing depends on it being the same everywhere: each document says which columns it lacks.
 */
export class ColumnsOfLogs {
  readonly #client: Client;
  readonly #names: Names;
  readonly #logs = new Map<LogKey, Promise<Set<string>>>();

  constructor(client: Client, names: Names) {
    this.#client = client;
    this.#names = names;
  }

  /**
   * Says of the key of an attribute whether it has columns in a log.
   * @throws LoggiaError `store_unavailable` where it has to ask, and gets no answer
   */
  async of(log: LogKey): Promise<(key: string) => boolean> {
    let known = this.#logs.get(log);
    if (known === undefined) {
      known = this.#read(log);
      known.catch(() => this.#logs.delete(log));
      this.#logs.set(log, known);
    }
    const columns = await known;
    return (key) => columns.has(key) || (columns.size < MAX_OF_LOG && columns.add(key).has(key));
  }

  /** Those that most events have, where some are there already. */
  async #read(log: LogKey): Promise<Set<string>> {
    const { aggregations } = await translated(() =>
      searcherOf(
        this.#client,
        this.#names.events,
      )({
        query: { term: { log } },
        size: 0,
        track_total_hits: false,
        aggs: { keys: { terms: { field: ATTRIBUTE_PATHS.keys, size: MAX_OF_LOG } } },
      }),
    );
    return new Set(aggregations?.["keys"]?.buckets?.map(({ key }) => key as string));
  }
}
