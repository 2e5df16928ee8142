import type { DuckDBConnection } from "@duckdb/node-api";

import type { LogKey } from "../../../events/event.ts";

const SHAPE = JSON.stringify([{ log: "VARCHAR", number: "UINTEGER" }]);

/**
 * Numbers the logs, from 1 on. Scans find the events of a log by its number, because zone maps can
 * tell for integers, but not for texts, that all rows of a row group belong to one log.
 *
 * Invariant: a number is committed no later than the first event that uses it, and is never
 * reassigned to another log.
 */
export class LogNumbers {
  readonly #numbers = new Map<LogKey, number>();
  /** Count of numbers known to be committed. */
  #committed = 0;
  /** The log of the last call: a batch holds many events of one log. */
  #last: { readonly log: LogKey; readonly number: number } | null = null;

  static async read(connection: DuckDBConnection): Promise<LogNumbers> {
    const logs = new LogNumbers();
    const rows = (await connection.runAndReadAll("select log from logs order by number")).getRows() as [LogKey][];
    for (const [log] of rows) logs.numberOf(log);
    logs.#committed = rows.length;
    return logs;
  }

  /** Returns undefined for a log for which no event was ever prepared. */
  get(log: LogKey): number | undefined {
    return this.#numbers.get(log);
  }

  /** Returns the number of a log, and assigns one if it has none. */
  numberOf(log: LogKey): number {
    if (this.#last?.log === log) return this.#last.number;
    const number = this.#numbers.get(log) ?? this.#numbers.size + 1;
    this.#numbers.set(log, number);
    this.#last = { log, number };
    return number;
  }

  /** Writes the missing numbers, in the transaction that writes events. The next one retries. */
  async write(connection: DuckDBConnection): Promise<void> {
    if (this.#committed === this.#numbers.size) return;
    // Rows visible at the start of a transaction are committed, as there is a single writer.
    const [row] = (await connection.runAndReadAll("select count(*) from logs")).getRows() as [bigint][];
    this.#committed = Number(row![0]);
    const fresh = Array.from(this.#numbers, ([log, number]) => ({ log, number })).slice(this.#committed);
    if (fresh.length === 0) return;
    const sql = `insert into logs select unnest(from_json($1::json, '${SHAPE}'), max_depth := 2)`;
    await connection.run(sql, [JSON.stringify(fresh)]);
  }
}
