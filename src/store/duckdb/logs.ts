import type { DuckDBConnection } from "@duckdb/node-api";

import type { LogKey } from "../../events/event.ts";

const SHAPE = JSON.stringify([{ log: "VARCHAR", number: "UINTEGER" }]);

/**
 * A number for each log, from 1 on, by which a scan finds its events: of integers the least and
 * greatest value tell that all rows of a row group are of one log, of texts they never do. Over a
 * million events of a single log that is an eighth of a group by hour.
 *
 * Invariant: numbers are committed before, or with, the first event that has them, and none is ever
 * given to another log.
 */
export class LogNumbers {
  readonly #numbers = new Map<LogKey, number>();
  /** So many of them are known to be committed. */
  #committed = 0;
  /** The log that was asked for last, as batches hold many events of one. */
  #last: { readonly log: LogKey; readonly number: number } | null = null;

  static async read(connection: DuckDBConnection): Promise<LogNumbers> {
    const logs = new LogNumbers();
    const rows = (await connection.runAndReadAll("select log from logs order by number")).getRows() as [LogKey][];
    for (const [log] of rows) logs.numberOf(log);
    logs.#committed = rows.length;
    return logs;
  }

  /** Undefined for a log that no event was ever made ready for. */
  get(log: LogKey): number | undefined {
    return this.#numbers.get(log);
  }

  /** Gives it one where it has none yet. */
  numberOf(log: LogKey): number {
    if (this.#last?.log === log) return this.#last.number;
    const number = this.#numbers.get(log) ?? this.#numbers.size + 1;
    this.#numbers.set(log, number);
    this.#last = { log, number };
    return number;
  }

  /**
   * Writes the numbers that the table lacks. Part of the transaction that writes events; should it
   * fail, the next writes them.
   */
  async write(connection: DuckDBConnection): Promise<void> {
    if (this.#committed === this.#numbers.size) return;
    // What is seen as a transaction begins is committed: whoever writes is alone.
    const [row] = (await connection.runAndReadAll("select count(*) from logs")).getRows() as [bigint][];
    this.#committed = Number(row![0]);
    const fresh = Array.from(this.#numbers, ([log, number]) => ({ log, number })).slice(this.#committed);
    if (fresh.length === 0) return;
    const sql = `insert into logs select unnest(from_json($1::json, '${SHAPE}'), max_depth := 2)`;
    await connection.run(sql, [JSON.stringify(fresh)]);
  }
}
