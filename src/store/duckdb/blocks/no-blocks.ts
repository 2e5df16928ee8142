import type { DuckDBConnection } from "@duckdb/node-api";

import type { Block, BlockIndex } from "./block-index.ts";
import { FilterTables } from "./filter-tables.ts";
import type { IdRange } from "./id-ranges.ts";

/** What reads and writes of events need of a {@link BlockIndex}. */
export type Blocks = Pick<
  BlockIndex,
  "rangesOf" | "lateInserts" | "addTokens" | "add" | "committed" | "dropEmpty" | typeof Symbol.asyncDispose
>;

/** No blocks, so that every query scans all events: the plain twin of {@link BlockIndex}. */
export class NoBlocks implements Blocks {
  readonly lateInserts = 0;

  /** Removes the filters of the file, since they lack the events that are written from now on. */
  static async open(connection: DuckDBConnection): Promise<NoBlocks> {
    const tables = new FilterTables();
    for (const table of await tables.names(connection)) await tables.reset(connection, table);
    return new NoBlocks();
  }

  rangesOf(): readonly IdRange[] | null {
    return null;
  }

  addTokens(): void {}

  async add(): Promise<Block | null> {
    return null;
  }

  committed(): void {}

  async dropEmpty(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}
}
