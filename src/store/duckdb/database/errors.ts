import { LoggiaError, StartError } from "../../../errors.ts";

/**
 * Returns the error of a store that cannot be used, in one line that names its file and the remedy.
 */
export function startError(file: string, error: unknown): StartError {
  const reason = error instanceof Error ? firstLine(error.message) : String(error);
  if (/Could not set lock/.test(reason)) {
    const holder = /\(PID (\d+)\)/.exec(reason)?.[1];
    return new StartError(`The store ${file} is in use by another process${holder ? ` (PID ${holder})` : ""}`, {
      cause: error,
    });
  }
  if (/not a valid DuckDB database/.test(reason)) {
    return new StartError(`The file ${file} exists and is not a DuckDB database`, { cause: error });
  }
  if (DAMAGE.test(reason)) {
    const todo = "restore a backup, or move the file away and run `loggia replay start` to restore what the bus holds";
    return new StartError(`The store ${file} is damaged (${reason}); ${todo}`, { cause: error });
  }
  return new StartError(`The store ${file} could not be opened: ${reason}`, { cause: error });
}

/** DuckDB's messages about damaged blocks and records. */
const DAMAGE = /checksum|corrupt|Serialization Error|failed to (?:read|deserialize)|Could not read enough bytes/i;

/** The error of a query that was interrupted by its timeout. */
export class QueryTooSlow extends LoggiaError {
  constructor(timeout_ms: number, cause: unknown) {
    const seconds = Math.round(timeout_ms / 10) / 100;
    super("overloaded", `The query took longer than ${seconds} s: narrow it, for example by time`, { cause });
  }
}

/** Returns the error of a query that exceeds the memory shared by all queries. */
export function tooLarge(cause: unknown): LoggiaError {
  const message = "The query needs more memory than the store may use: narrow it, or request fewer groups or values";
  return new LoggiaError("overloaded", message, { cause, retryAfter_s: 60 });
}

/** Returns the error of work that needs more room than the disk has. */
export function noRoom(cause: unknown): LoggiaError {
  const message = "The embedded store is unavailable: its disk is full";
  return new LoggiaError("store_unavailable", message, { cause, retryAfter_s: 5 });
}

/** Returns whether the disk, or the largest size that a file may have, was exhausted. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && DISK_FULL.test(error.message);
}

const DISK_FULL = /no space left on device|file too large|disk quota exceeded/i;

export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Out of Memory Error");
}

/**
 * Returns whether a write ran out of memory or failed to commit. DuckDB may then keep some of its
 * rows in memory, where queries and retries see them although they were never committed.
 */
export function isHalfWritten(error: unknown): boolean {
  return error instanceof Error && HALF_WRITTEN.test(error.message);
}

const HALF_WRITTEN = /out of memory|could not allocate|failed to (?:allocate|pin|commit)/i;

/** Returns whether DuckDB will refuse all further work on the instance. */
export function isFatal(error: unknown): boolean {
  return error instanceof Error && /^(FATAL|INTERNAL) Error|database has been invalidated/i.test(error.message);
}

/** Returns whether DuckDB was to end a transaction but none is active. */
export function isWithoutTransaction(error: unknown): boolean {
  return error instanceof Error && error.message.includes("no transaction is active");
}

/** Returns the first line of a message; DuckDB appends the statement and hints. */
export function firstLine(message: string): string {
  return message.split("\n", 1)[0] ?? message;
}
