import type { Logger } from "pino";

import type { BlockSpan } from "./filter-tables.ts";
import { FilterFile } from "./filter-file.ts";
import { TokenFilter } from "./token-filter.ts";
import type { TokenSet } from "./token-filter.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

/** A block whose filter may move. `filter` is null if only DuckDB has it: then it is scanned. */
export type FilteredBlock = BlockSpan & { filter: TokenSet | null };

/** Share of the limit that is left in memory when it is exceeded. The rest becomes one file. */
const KEPT = 7 / 8;

/**
 * Keeps the filters of blocks within a memory limit: the oldest move to files (`FilterFile`). They
 * answer as before, from a few reads.
 */
export class FilterMemory implements AsyncDisposable {
  readonly #limit_bytes: number;
  readonly #path: string;
  readonly #scheduler: Scheduler;
  readonly #log: Logger;
  readonly #files = new Map<FilterFile, readonly FilteredBlock[]>();
  #count = 0;
  /** Upper bound of the filters in memory: those at the last look, and those added since. */
  #size_bytes = 0;
  #moving: Promise<void> | null = null;
  #closed = false;

  /** @param path beginning of the paths of files */
  constructor(options: {
    readonly limit_bytes: number;
    readonly path: string;
    readonly scheduler: Scheduler;
    readonly log: Logger;
  }) {
    this.#limit_bytes = options.limit_bytes;
    this.#path = options.path;
    this.#scheduler = options.scheduler;
    this.#log = options.log;
  }

  /**
   * Moves the oldest filters to a file if they exceed the limit. Resolves when those left fit.
   * Never rejects.
   * @param blocks the present blocks, oldest first; looked at only if they may exceed the limit
   * @param added_bytes size of the filters that were added since the last call
   */
  fit(blocks: () => readonly FilteredBlock[], added_bytes = Infinity): Promise<void> {
    this.#size_bytes += added_bytes;
    if (this.#moving === null && this.#size_bytes <= this.#limit_bytes) return Promise.resolve();
    return (this.#moving ??= this.#fit(blocks).finally(() => (this.#moving = null)));
  }

  async #fit(blocks: () => readonly FilteredBlock[]): Promise<void> {
    for (;;) {
      const present = blocks();
      let size = present.reduce((sum, { filter }) => sum + sizeOf(filter), 0);
      this.#size_bytes = size;
      if (size <= this.#limit_bytes || this.#closed) return;
      const oldest: (FilteredBlock & { filter: TokenFilter })[] = [];
      for (const block of present) {
        if (size <= this.#limit_bytes * KEPT) break;
        if (!isInMemory(block)) continue;
        oldest.push(block);
        size -= sizeOf(block.filter);
      }
      await this.#move(oldest);
      // Blocks may have gone while their file was written.
      this.closeUnused(blocks());
    }
  }

  async #move(blocks: readonly (FilteredBlock & { filter: TokenFilter })[]): Promise<void> {
    let file: FilterFile | null = null;
    try {
      this.#count += 1;
      file = await FilterFile.write(
        `${this.#path}-${this.#count}`,
        blocks.map(({ filter }) => filter),
        this.#scheduler,
      );
      this.#files.set(file, blocks);
    } catch (error) {
      this.#log.warn(
        { err: error, blocks: blocks.length },
        "filters of words do not fit into memory and cannot be written to a file; until the next start, all " +
          "searches scan their events",
      );
    }
    for (const [place, block] of blocks.entries()) (block as FilteredBlock).filter = file?.filter(place) ?? null;
  }

  /** Frees what a query has read. */
  release(): void {
    for (const file of this.#files.keys()) file.release();
  }

  /** Closes the files of which no block is left. */
  closeUnused(present: readonly FilteredBlock[]): void {
    const left = new Set(present);
    for (const [file, blocks] of this.#files) {
      if (blocks.some((block) => left.has(block))) continue;
      file[Symbol.dispose]();
      this.#files.delete(file);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#moving;
    this.closeUnused([]);
  }
}

function isInMemory(block: FilteredBlock): block is FilteredBlock & { filter: TokenFilter } {
  return block.filter instanceof TokenFilter;
}

function sizeOf(filter: TokenSet | null): number {
  return filter instanceof TokenFilter ? filter.size : 0;
}
