import type { DuckDBConnection } from "@duckdb/node-api";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import { FILTERED_FIELDS } from "../../../events/keywords.ts";
import type { FilteredField } from "../../../events/keywords.ts";
import { yieldToRequests } from "../../../scheduling/cooperative.ts";
import { valuesIn } from "../database/attributes.ts";
import { readResultRows } from "../database/run-statement.ts";
import type { Database } from "../database/database.ts";
import { tagsOfLine } from "../database/schema.ts";
import type { BlockIndex } from "./block-index.ts";
import { TokenFilter } from "./token-filter.ts";
import { addTokensOfEvent } from "./tokens.ts";
import { TokenList } from "./token-list.ts";

/** Ratio of idle time to work between blocks. */
const REST = 2;
const REST_LEAST_MS = 5;
const AGAIN_AFTER_MS = 60_000;
/** Size of the texts and attributes with which a block has enough, as its rows are held in memory. */
const BLOCK_BYTES = 16 * 1024 * 1024;
/** Rows tokenized between yields to other work. */
const ROWS_A_TURN = 128;

type Gap = { readonly from: bigint; readonly to: bigint };

/** Builds blocks for rows that no block covers, in the background, oldest first. */
export class BlockBuilder implements AsyncDisposable {
  readonly #database: Database;
  readonly #index: BlockIndex;
  readonly #log: Logger;
  readonly #ending = new AbortController();
  #running: Promise<void> | null = null;

  constructor(database: Database, index: BlockIndex, log: Logger) {
    this.#database = database;
    this.#index = index;
    this.#log = log;
    index.onGap = () => this.start();
  }

  /** Starts building, unless it is already running. */
  start(): void {
    if (this.#running !== null || this.#ending.signal.aborted || this.#index.gaps().length === 0) return;
    this.#running = this.#run().finally(() => (this.#running = null));
  }

  /** Resolves once all rows below the tail have a block, or once building has failed. */
  async done(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    try {
      // The caller that found the gap may be in a transaction; its write goes first.
      await sleep(0, undefined, { signal });
      for (let [gap] = this.#index.gaps(); gap !== undefined; [gap] = this.#index.gaps()) {
        const start_ms = performance.now();
        await fillFirst(this.#database, this.#index, gap);
        const rest_ms = Math.max(REST_LEAST_MS, REST * (performance.now() - start_ms));
        await sleep(rest_ms, undefined, { signal });
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#log.warn({ err: error }, "the words of older events could not be indexed; retrying in a minute");
      setTimeout(() => this.start(), AGAIN_AFTER_MS).unref();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }
}

/** Builds a block for the first rows of a gap. */
async function fillFirst(database: Database, index: BlockIndex, gap: Gap): Promise<void> {
  // Read in a writer's turn, so that all late inserts counted so far are committed.
  const late = await database.maintain(() => Promise.resolve(index.lateInserts));
  const tokens = new TokenList();
  const last = await database.read(async (connection) => {
    const end = await endOf(connection, gap, index.blockRows);
    await addTokensBetween(connection, { from: gap.from, to: end }, tokens);
    return end;
  });
  const block = { first: gap.from, last, filter: TokenFilter.of(tokens) };
  const place = await database.write((connection) => index.fill(connection, block, late), "marks");
  place?.();
}

/**
 * Returns the last id of a gap's first block: where it has enough rows or texts, or where the gap
 * ends.
 */
async function endOf(connection: DuckDBConnection, { from, to }: Gap, rows: number): Promise<bigint> {
  const sql = `select count(*), max(id_hi) filter (has_room), bool_and(has_room) from
    (select id_hi, coalesce(sum(size) over (order by id_hi rows between unbounded preceding and 1 preceding), 0)
        < ${BLOCK_BYTES} as has_room from
      (select id_hi, strlen(text) + coalesce(strlen(attributes), 0) as size from events
        where id_hi between $1::ubigint and $2::ubigint order by id_hi limit ${rows}))`;
  const [row] = (await connection.runAndReadAll(sql, [from, to])).getRows() as [bigint, bigint | null, boolean][];
  const [count, last, isWhole] = row!;
  return last === null || (isWhole && Number(count) < rows) ? to : last;
}

async function addTokensBetween(connection: DuckDBConnection, { from, to }: Gap, tokens: TokenList): Promise<void> {
  const filtered = FILTERED_FIELDS.map((name) => `"${name}"`).join(", ");
  const sql = `select text, tags, attributes, ${filtered} from events
    where id_hi between $1::ubigint and $2::ubigint`;
  const rows = await readResultRows(await connection.run(sql, [from, to]));
  for (const [i, row] of rows.entries()) {
    if (i % ROWS_A_TURN === 0) await yieldToRequests();
    const [text, tags, attributes, ...texts] = row as [string, string, string | null, ...string[]];
    const values = attributes === null ? [] : valuesIn(attributes);
    const keywords = Object.fromEntries(FILTERED_FIELDS.map((name, at) => [name, texts[at]!]));
    addTokensOfEvent({ text, tags: tagsOfLine(tags), ...(keywords as Record<FilteredField, string>) }, values, tokens);
  }
}
