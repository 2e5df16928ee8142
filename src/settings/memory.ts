import { totalmem } from "node:os";

import { invalidSetting, MB, parseSize } from "./values.ts";

/** Code of Node, DuckDB and SQLite, thread stacks, the bus, and memory outside DuckDB's limit. */
const FIXED_MB = 240;
/** Heap of an idle process. */
const HEAP_MB = 64;
export const MIN_MEMORY = 448 * MB;
const HEAP_SHARE = 0.2;
const MIN_HEAP_LIMIT_MB = 1_024;
/**
 * Allows one person, who gets half, an export, which reserves 40 MB, besides the page's queries:
 * each reserves the largest size of its response.
 */
const MIN_ANSWERS_MB = 256;
/** Allows batches of many producers at a time. */
const MIN_WAITING_MB = 32;
const MAX_DEFAULT = 1_024 * MB;
/** Divisor of the machine's memory, or of the limit of the process (cgroup). */
const MACHINE_DIVISOR = 3;

/** Division of the memory of a process with embedded engines, in units of 2^20 bytes. */
export type MemoryShares = {
  /** DuckDB's `memory_limit`. */
  readonly store_mb: number;
  /**
   * V8's `--max-old-space-size`, at which it ends the process. It is at least four times the
   * heap's share: class filters and accounts are held in memory, and creating more of them must
   * not end the service.
   */
  readonly heapLimit_mb: number;
  /**
   * Upper bound of API responses in flight, further limited by `LOGGIA_ANSWERS_MB`. Responses
   * reserve their largest size, and most need far less. Part of the heap.
   */
  readonly answers_mb: number;
  /** Posts that wait for the bus. */
  readonly waiting_mb: number;
  /** Word filters kept in memory. */
  readonly filters_mb: number;
  /** Disk space for queries that do not fit into memory. */
  readonly spilled_mb: number;
};

/** Returns the memory of a process without `LOGGIA_MEMORY`. */
export function defaultMemory(): number {
  const allowed = process.constrainedMemory();
  const machine = allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
  return Math.max(MIN_MEMORY, Math.min(MAX_DEFAULT, Math.floor(machine / MACHINE_DIVISOR)));
}

export function shareMemory(bytes: number): MemoryShares {
  const rest_mb = bytes / MB - FIXED_MB;
  const share = (part: number): number => Math.floor(rest_mb * part);
  return {
    store_mb: share(0.33),
    heapLimit_mb: Math.max(MIN_HEAP_LIMIT_MB, 4 * (HEAP_MB + share(HEAP_SHARE))),
    answers_mb: Math.max(MIN_ANSWERS_MB, share(0.15)),
    waiting_mb: Math.max(MIN_WAITING_MB, share(0.1)),
    filters_mb: share(0.22),
    spilled_mb: Math.floor((8 * bytes) / MB),
  };
}

/** Parses a size such as 512MB or 2GB. @returns bytes; null if it is invalid or too small */
export function parseMemory(text: string): number | null {
  const bytes = parseSize(text);
  return bytes !== null && bytes >= MIN_MEMORY ? bytes : null;
}

/** Reads the memory of a process with embedded engines, and divides it. */
export function readMemory(name: string, value: string): MemoryShares {
  const bytes = value === "" ? defaultMemory() : parseMemory(value);
  if (bytes === null)
    throw invalidSetting(name, value, `a number and MB or GB, such as 512MB, from ${MIN_MEMORY / MB}MB on`);
  return shareMemory(bytes);
}
