import { totalmem } from "node:os";

import { MB, parseSize } from "./values.ts";

/** Code of Node, DuckDB and SQLite, stacks of threads, the bus, and what DuckDB takes beside its limit. */
const FIXED_MB = 240;
/** Objects that are there while nothing happens. */
const HEAP_MB = 64;
export const LEAST_MEMORY = 448 * MB;
const HEAP_SHARE = 0.2;
const LEAST_HEAP_LIMIT_MB = 1_024;
/**
 * So that a person, who gets half, can export, which reserves 40 MB, beside pages that ask: each
 * question reserves the most that its answer may take.
 */
const LEAST_ANSWERS_MB = 256;
/** So that batches of many producers are taken. */
const LEAST_WAITING_MB = 32;
const MOST_BY_ITSELF = 1_024 * MB;
/** Of the machine's memory, or of what the process may take of it. */
const SHARE_OF_MACHINE = 3;

/** How the memory of a process with embedded engines is shared, in bytes of 2^20. */
export type MemoryShares = {
  /** What DuckDB may take: its `memory_limit`. */
  readonly store_mb: number;
  /**
   * V8's `--max-old-space-size`, at which it ends the process. It is four times what is reckoned
   * with for objects or more, since class filters and accounts are held in memory and nobody is to
   * end the service by making more of them.
   */
  readonly heapLimit_mb: number;
  /**
   * Answers of the API at a time, as far as `LOGGIA_ANSWERS_MB` allows: what they may take at the
   * most, which is far more than most do. Part of the heap.
   */
  readonly answers_mb: number;
  /** Posts that wait for the bus. */
  readonly waiting_mb: number;
  /** Filters of words that are kept in memory. */
  readonly filters_mb: number;
  /** What questions may write to disk that do not fit into memory. */
  readonly spilled_mb: number;
};

/** What a process takes that was not told. */
export function defaultMemory(): number {
  const allowed = process.constrainedMemory();
  const machine = allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
  return Math.max(LEAST_MEMORY, Math.min(MOST_BY_ITSELF, Math.floor(machine / SHARE_OF_MACHINE)));
}

export function shareMemory(bytes: number): MemoryShares {
  const rest_mb = bytes / MB - FIXED_MB;
  const share = (part: number): number => Math.floor(rest_mb * part);
  return {
    store_mb: share(0.33),
    heapLimit_mb: Math.max(LEAST_HEAP_LIMIT_MB, 4 * (HEAP_MB + share(HEAP_SHARE))),
    answers_mb: Math.max(LEAST_ANSWERS_MB, share(0.15)),
    waiting_mb: Math.max(LEAST_WAITING_MB, share(0.1)),
    filters_mb: share(0.22),
    spilled_mb: Math.floor((8 * bytes) / MB),
  };
}

/** The bytes of a text such as 512MB or 2GB; null where it is none, or too little. */
export function parseMemory(text: string): number | null {
  const bytes = parseSize(text);
  return bytes !== null && bytes >= LEAST_MEMORY ? bytes : null;
}
