import type { DuckDBConnection } from "@duckdb/node-api";

import type { LogKey } from "../../../events/event.ts";

/**
 * The logs that may have bookmarks or alerts. Lists of other logs skip the lookup.
 *
 * Invariant: a log is added before a bookmark or alert of its events becomes visible. Logs are
 * never removed.
 */
export class AnnotatedLogs {
  readonly #logs: Set<LogKey>;

  constructor(logs: readonly LogKey[] = []) {
    this.#logs = new Set(logs);
  }

  static async read(connection: DuckDBConnection): Promise<AnnotatedLogs> {
    const sql = "select log from bookmarks union select log from alerts where not deleted";
    const rows = (await connection.runAndReadAll(sql)).getRows() as [LogKey][];
    return new AnnotatedLogs(rows.map(([log]) => log));
  }

  get isEmpty(): boolean {
    return this.#logs.size === 0;
  }

  has(log: LogKey): boolean {
    return this.#logs.has(log);
  }

  /** Called before a bookmark or alert is written. */
  add(log: LogKey): void {
    this.#logs.add(log);
  }
}
