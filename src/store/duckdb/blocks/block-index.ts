import type { DuckDBConnection } from "@duckdb/node-api";
import type { Logger } from "pino";

import type { EventId } from "../../../events/id.ts";
import type { Condition } from "../../../query/plan.ts";
import type { NamedValues } from "../database/attributes.ts";
import { splitId } from "../database/schema.ts";
import { FilterMemory } from "./filter-memory.ts";
import type { FilteredBlock } from "./filter-memory.ts";
import { FilterTables } from "./filter-tables.ts";
import type { BlockSpan } from "./filter-tables.ts";
import { idRanges } from "./id-ranges.ts";
import type { IdRange } from "./id-ranges.ts";
import { mayMeet, tokenCondition } from "./token-condition.ts";
import { TokenFilter } from "./token-filter.ts";
import { TokenList } from "./token-list.ts";
import { addTokensOfEvent } from "./tokens.ts";
import type { Indexed } from "./tokens.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

/**
 * A block: the filter holds the tokens of all rows whose upper integers lie from `first` to `last`.
 */
export type Block = BlockSpan & { readonly filter: TokenFilter };

export type BlockOptions = {
  /** Minimum number of events of a block, unless their texts are long. */
  readonly blockRows: number;
  /** Memory limit of filters; the oldest beyond it move to files. */
  readonly filterLimit_bytes: number;
  /** Beginning of the paths of these files. */
  readonly filterPath: string;
  /** Blocks stored in one table; see {@link FilterTables}. */
  readonly tableBlocks?: number | undefined;
  readonly scheduler: Scheduler;
  readonly log: Logger;
};

/** Tokens with which a block has enough, as those that wait for it are held in memory. */
const BLOCK_MAX_TOKENS = 2 ** 20;

/** The events of one write. */
export type Appended = {
  readonly tokens: TokenList;
  readonly rows: number;
  /** The smallest and largest id if the ids ascend, otherwise null. */
  readonly span: { readonly first: EventId; readonly last: EventId } | null;
  readonly ids: () => readonly EventId[];
};

/**
 * Bloom filters of the tokens of events, one for each block of rows adjacent by id. A query checks
 * them first, so that DuckDB only scans ranges of ids that may contain matches.
 *
 * Filters are committed with their rows. Rows without a block are always scanned: those of the
 * `tail`, until they suffice for a block, and those of a previous process's tail, until
 * `BlockBuilder` has indexed them.
 *
 * Invariant: a query that can see a row of a block checks a filter with the tokens of that row.
 * Only the writer adds rows: either to the tail, or it removes the blocks that they fall into.
 * Deleted rows leave filters unchanged.
 */
export class BlockIndex implements AsyncDisposable {
  readonly #blockRows: number;
  readonly #memory: FilterMemory;
  readonly #log: Logger;
  readonly #tables: FilterTables;
  /** Ordered by first id. Blocks may overlap; each of them is valid. */
  #blocks: FilteredBlock[] = [];
  #tailFrom = 0n;
  #tailRows = 0;
  #tailLast: bigint | null = null;
  readonly #tail = new TokenList();
  /** The block and tokens of a transaction whose commit is not yet confirmed. */
  #closing: { readonly block: Block; readonly tokens: TokenList } | null = null;
  #lateInserts = 0;
  #onGap: () => void = () => undefined;
  #version = 0;
  /** Cached for the last condition: one query is compiled into several statements. */
  #answer: { readonly where: Condition; readonly version: number; readonly ranges: readonly IdRange[] | null } | null =
    null;

  /** Creates the index of a store without events. */
  constructor({ blockRows, filterLimit_bytes, filterPath, tableBlocks, scheduler, log }: BlockOptions) {
    this.#blockRows = blockRows;
    this.#log = log;
    this.#memory = new FilterMemory({ limit_bytes: filterLimit_bytes, path: filterPath, scheduler, log });
    this.#tables = new FilterTables(tableBlocks);
  }

  /**
   * Reads the index. Damaged filters are dropped and rebuilt; a table
   * that cannot be read is replaced.
   */
  static async read(connection: DuckDBConnection, options: BlockOptions): Promise<BlockIndex> {
    const index = new BlockIndex(options);
    for (const table of await index.#tables.names(connection)) await index.#readTable(connection, table);
    const [largest] = (await connection.runAndReadAll("select max(id_hi) from events")).getRows() as [bigint | null][];
    index.#startTail(
      index.#blocks.reduce((end, { last }) => (last >= end ? last + 1n : end), (largest?.[0] ?? -1n) + 1n),
    );
    return index;
  }

  async #readTable(connection: DuckDBConnection, table: string): Promise<void> {
    const log = this.#log;
    const damaged: BlockSpan[] = [];
    const before = new Set(this.#blocks);
    try {
      for await (const { first, last, encoded } of this.#tables.read(connection, table)) {
        const filter = first > last ? null : TokenFilter.decode(encoded);
        if (filter === null) damaged.push({ first, last });
        else this.#place({ first, last, filter });
        await this.#fit(0);
      }
    } catch (error) {
      log.warn({ err: error, table }, "Bloom filters cannot be read and are rebuilt");
      this.#blocks = this.#blocks.filter((block) => before.has(block));
      await this.#tables.reset(connection, table);
      return;
    }
    for (const span of damaged) await this.#tables.remove(connection, span);
    if (damaged.length > 0) log.warn({ blocks: damaged.length }, "Bloom filters are invalid and are rebuilt");
  }

  get blockRows(): number {
    return this.#blockRows;
  }

  /** Number of blocks. */
  get size(): number {
    return this.#blocks.length;
  }

  /** Incremented before rows below the tail become visible. */
  get lateInserts(): number {
    return this.#lateInserts;
  }

  /** Called when there are rows below the tail that no block covers. */
  set onGap(listener: () => void) {
    this.#onGap = listener;
  }

  /** Returns the ranges of ids that may contain matches; null if a full scan is as good. */
  rangesOf(where: Condition): readonly IdRange[] | null {
    if (this.#blocks.length === 0) return null;
    if (this.#answer?.where === where && this.#answer.version === this.#version) return this.#answer.ranges;
    const ranges = idRanges(this.#without(where), this.#blocks.length);
    this.#answer = { where, version: this.#version, ranges };
    return ranges;
  }

  /** Returns the blocks that need not be scanned. */
  #without(where: Condition): readonly FilteredBlock[] {
    const condition = tokenCondition(where);
    if (condition === null) return [];
    try {
      return this.#blocks.filter(({ filter }) => filter !== null && !mayMeet(filter, condition));
    } catch (error) {
      this.#log.warn({ err: error }, "filters of words cannot be read from their file; all events are scanned");
      return [];
    } finally {
      this.#memory.release();
    }
  }

  /** Returns the ranges below the tail that no block covers, in order. */
  gaps(): { readonly from: bigint; readonly to: bigint }[] {
    const gaps: { from: bigint; to: bigint }[] = [];
    let from = 0n;
    for (const { first, last } of this.#blocks) {
      if (first > from) gaps.push({ from, to: first - 1n });
      if (last >= from) from = last + 1n;
    }
    if (from < this.#tailFrom) gaps.push({ from, to: this.#tailFrom - 1n });
    return gaps;
  }

  /** Adds the tokens of an event that is prepared for {@link add}. */
  addTokens(event: Indexed, attributes: readonly NamedValues[], tokens: TokenList): void {
    addTokensOfEvent(event, attributes, tokens);
  }

  /**
   * Indexes rows, in the transaction that inserts them, so that no row is visible before its tokens
   * are known. If the transaction fails, the additional tokens do no harm.
   * @returns for {@link committed}
   */
  async add(connection: DuckDBConnection, { tokens, rows, span, ids }: Appended): Promise<Block | null> {
    await this.#resolveClosing(connection);
    if (span === null || splitId(span.first).hi < this.#tailFrom) await this.#addLate(connection, ids());
    else this.#extendTailTo(splitId(span.last).hi);
    this.#tailRows += rows;
    const isFull = this.#tailRows >= this.#blockRows || this.#tail.size + tokens.size >= BLOCK_MAX_TOKENS;
    if (!isFull || this.#tailLast === null) {
      this.#tail.addAll(tokens);
      return null;
    }
    const block = { first: this.#tailFrom, last: this.#tailLast, filter: TokenFilter.of(this.#tail, tokens) };
    this.#closing = { block, tokens };
    await this.#insert(connection, block);
    return block;
  }

  async #addLate(connection: DuckDBConnection, ids: readonly EventId[]): Promise<void> {
    const late = ids.filter((id) => splitId(id).hi < this.#tailFrom);
    for (const id of ids) this.#extendTailTo(splitId(id).hi);
    if (late.length === 0) return;
    this.#lateInserts += 1;
    const his = BigUint64Array.from(late, (id) => splitId(id).hi).sort();
    this.#blocks = this.#blocks.filter(({ first, last }) => !hasBetween(his, first, last));
    this.#memory.closeUnused(this.#blocks);
    this.#version += 1;
    // Also removes blocks of transactions whose outcome was unknown.
    await this.#tables.removeAround(connection, late);
    this.#onGap();
  }

  #extendTailTo(hi: bigint): void {
    if (hi >= this.#tailFrom && (this.#tailLast === null || hi > this.#tailLast)) this.#tailLast = hi;
  }

  /** Called when the transaction of {@link add} is committed. */
  committed(block: Block | null): void {
    if (block === null || this.#closing?.block !== block) return;
    this.#place(block);
    this.#startTail(block.last + 1n);
  }

  /** Finds out from the table whether the last block was committed, if no confirmation arrived. */
  async #resolveClosing(connection: DuckDBConnection): Promise<void> {
    if (this.#closing === null) return;
    const { block, tokens } = this.#closing;
    // A failed commit may have taken effect nevertheless.
    if (await this.#tables.has(connection, block)) this.committed(block);
    else {
      this.#closing = null;
      this.#tail.addAll(tokens);
    }
  }

  #startTail(from: bigint): void {
    this.#closing = null;
    this.#tailFrom = from;
    this.#tailLast = null;
    this.#tailRows = 0;
    this.#tail.clear();
  }

  /**
   * Writes the block of a gap in a transaction of its own.
   * @param lateInserts its value before the rows were read
   * @returns null if late rows have arrived since; otherwise a callback for after the commit
   */
  async fill(connection: DuckDBConnection, block: Block, lateInserts: number): Promise<(() => void) | null> {
    if (this.#lateInserts !== lateInserts) return null;
    await this.#insert(connection, block);
    return () => {
      if (this.#lateInserts === lateInserts) this.#place(block);
    };
  }

  #insert(connection: DuckDBConnection, { first, last, filter }: Block): Promise<void> {
    return this.#tables.insert(connection, { first, last, encoded: filter.encode() });
  }

  #place(block: Block): void {
    this.#version += 1;
    const before = this.#blocks.findLastIndex(({ first }) => first <= block.first);
    this.#blocks.splice(before + 1, 0, { ...block });
    void this.#fit(block.filter.size);
  }

  #fit(added_bytes: number): Promise<void> {
    return this.#memory.fit(() => this.#blocks, added_bytes);
  }

  /** Replaces the blocks without remaining rows by an empty one. Part of a transaction. */
  async dropEmpty(connection: DuckDBConnection): Promise<void> {
    await this.#resolveClosing(connection);
    const [row] = (await connection.runAndReadAll("select min(id_hi) from events")).getRows() as [bigint | null][];
    const least = row?.[0] ?? null;
    const empty = this.#blocks.filter(({ last }) => least === null || last < least);
    if (empty.length < 2) return;
    const last = empty.reduce((end, block) => (block.last > end ? block.last : end), 0n);
    await this.#tables.removeUpTo(connection, last);
    const block = { first: 0n, last, filter: TokenFilter.of(new TokenList()) };
    await this.#insert(connection, block);
    this.#version += 1;
    this.#blocks = [{ ...block }, ...this.#blocks.filter((one) => one.last > last)];
    this.#memory.closeUnused(this.#blocks);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#memory[Symbol.asyncDispose]();
  }
}

/** Returns whether a value lies from `first` to `last`. @param rising ascending, not empty */
function hasBetween(rising: BigUint64Array, first: bigint, last: bigint): boolean {
  let from = 0;
  for (let to = rising.length; from < to;) {
    const middle = (from + to) >>> 1;
    if (rising[middle]! < first) from = middle + 1;
    else to = middle;
  }
  return from < rising.length && rising[from]! <= last;
}
