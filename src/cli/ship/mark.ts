import { createHash } from "node:crypto";

import type { ByteSource } from "./byte-source.ts";

/**
 * How far one generation of a file was read. A file is known by device and inode, and by what it
 * holds: an inode is given again, and a file that is compressed or copied gets another.
 */
export type FileMark = {
  readonly dev: string;
  readonly ino: string;
  /** Bytes read, of an archive those that it unpacks to. */
  readonly position: number;
  readonly head: Print;
  /** What stands just before the position. */
  readonly tail: Print;
  /** Whether the position is inside a line whose beginning was posted already, cut. */
  readonly isWithin: boolean;
  /** Whether this inode is an archive that was read to its end. */
  readonly isDone: boolean;
  readonly seen_ms: number;
};

export type Print = { readonly size_bytes: number; readonly hash: string };

export const HEAD_BYTES = 1024;
export const TAIL_BYTES = 64;

export function printOf(bytes: Buffer): Print {
  return { size_bytes: bytes.length, hash: createHash("sha256").update(bytes).digest("base64url").slice(0, 22) };
}

export const NO_PRINT = printOf(Buffer.alloc(0));

/** Whether the source holds what the mark says was read of it. */
export async function isOf(mark: FileMark, source: ByteSource): Promise<boolean> {
  return (await hasHead(mark, source)) && (await hasTail(mark, source));
}

export async function hasHead({ head }: FileMark, source: ByteSource): Promise<boolean> {
  return printOf(await source.read(0, head.size_bytes)).hash === head.hash;
}

async function hasTail({ position, tail }: FileMark, source: ByteSource): Promise<boolean> {
  const bytes = await source.read(position - tail.size_bytes, tail.size_bytes);
  return printOf(bytes).hash === tail.hash;
}
