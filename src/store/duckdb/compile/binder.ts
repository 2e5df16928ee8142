import { VARCHAR } from "@duckdb/node-api";
import type { DuckDBType } from "@duckdb/node-api";

import type { LogKey } from "../../../events/event.ts";
import type { Direction } from "../../../query/plan.ts";
import { STATISTICS } from "../memory/query-schema.ts";
import type { QuerySchema } from "../memory/query-schema.ts";
import type { Statement } from "../database/run-statement.ts";

/** Assumes every statistic about events, and no log. */
const WORST_CASE: QuerySchema = {
  statistics: new Set(STATISTICS),
  logs: new Map(),
  attributes: {
    locationOf: () => ({ number: null, text: null, others: true }),
    namesOf: () => [],
    hasOthers: () => true,
  },
  blocks: { rangesOf: () => null },
};

export function directed(direction: Direction): string {
  return direction === "asc" ? "asc nulls first" : "desc nulls last";
}

/** Collects parameters in the order of their use. */
export class Binder {
  readonly schema: QuerySchema;
  /** The numbers of the logs of the query. */
  readonly logs: readonly number[];
  readonly #values: (string | number | bigint)[] = [];
  readonly #types: DuckDBType[] = [];

  constructor(schema: QuerySchema = WORST_CASE, logs: readonly LogKey[] = []) {
    this.schema = schema;
    this.logs = logs.flatMap((log) => schema.logs.get(log) ?? []);
  }

  text(value: string): string {
    return this.add(value, VARCHAR);
  }

  /** @param value a safe integer */
  integer(value: number): string {
    return this.big(BigInt(value));
  }

  big(value: bigint): string {
    return `${value}::bigint`;
  }

  unsigned(value: bigint): string {
    return `${value}::ubigint`;
  }

  unsigned32(value: number): string {
    return `${value}::uinteger`;
  }

  add(value: string | number | bigint, type: DuckDBType): string {
    this.#values.push(value);
    this.#types.push(type);
    return `$${this.#values.length}`;
  }

  /** Returns the statement with only the parameters that the SQL still contains. */
  statement(sql: string): Statement {
    const used = [...new Set(sql.match(/\$\d+/g))].map((name) => Number(name.slice(1))).toSorted((a, b) => a - b);
    if (used.length === this.#values.length) return { sql, values: this.#values, types: this.#types };
    const locationOf = new Map(used.map((number, i) => [number, i + 1]));
    return {
      sql: sql.replaceAll(/\$(\d+)/g, (_, number) => `$${locationOf.get(Number(number))!}`),
      values: used.map((number) => this.#values[number - 1]!),
      types: used.map((number) => this.#types[number - 1]!),
    };
  }
}

export function unknown(value: never): TypeError {
  return new TypeError(`The plan has an unknown part: ${JSON.stringify(value)}`);
}
