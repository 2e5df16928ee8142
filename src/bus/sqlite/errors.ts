import { LateAppend, LoggiaError } from "../../errors.ts";

/** SQLite's primary result codes that this adapter handles. */
export const SQLITE = {
  OK: 0,
  BUSY: 5,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  NOTADB: 26,
} as const;

export function resultCode(error: unknown): number {
  const code: unknown = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : 0;
}

/** The reason why a file cannot be used, in one line. */
export function openFailureReason(error: unknown): string {
  switch (resultCode(error)) {
    case SQLITE.BUSY:
      return "another process has it open, and only one may";
    case SQLITE.NOTADB:
      return "it is not a SQLite database";
    case SQLITE.CORRUPT:
      return "it is damaged";
    case SQLITE.CANTOPEN:
    case SQLITE.READONLY:
      return "it cannot be opened for writing; check the folder and its permissions";
    case SQLITE.IOERR:
      return "reading or writing it failed; check the disk, and that its file system is not mounted read-only";
    default:
      return error instanceof Error ? error.message : String(error);
  }
}

/** Whether the file itself is damaged, so that a retry cannot help. */
export function isCorruption(error: unknown): boolean {
  const code = resultCode(error);
  return code === SQLITE.CORRUPT || code === SQLITE.NOTADB;
}

export function isFull(error: unknown): boolean {
  return resultCode(error) === SQLITE.FULL;
}

/** The error for callers of a failed commit. */
export function toBusError(error: unknown): LoggiaError {
  const reason = isFull(error)
    ? "its disk is full"
    : resultCode(error) === SQLITE.IOERR
      ? "its disk failed"
      : `SQLite says: ${error instanceof Error ? error.message : String(error)}`;
  return new LoggiaError("bus_unavailable", `The bus could not store this: ${reason}`, {
    cause: error,
    retryAfter_s: 5,
  });
}

/** The error for an append that missed its deadline. @param isStored see {@link LateAppend} */
export function deadlineError(isStored: Promise<boolean>): LateAppend {
  return new LateAppend("The bus did not store this before its deadline", { isStored });
}
