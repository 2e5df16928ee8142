import { createHash } from "node:crypto";

import type { ByteSource } from "./byte-source.ts";

/**
 * How far one generation of a file was read. A file is identified by device, inode and content, as
 * inodes are reused and a compressed or copied file has another inode.
 */
export type FileMark = {
  readonly dev: string;
  readonly ino: string;
  /** Bytes read; of an archive, decompressed bytes. */
  readonly position: number;
  readonly head: Fingerprint;
  /** Fingerprint of the bytes just before the position. */
  readonly tail: Fingerprint;
  /** Earlier positions, latest first. */
  readonly checkpoints: readonly Checkpoint[];
  /** Whether the position is inside a line that was posted cut. */
  readonly isWithin: boolean;
  /** Whether it is an archive that was read to its end. */
  readonly isDone: boolean;
  readonly seen_ms: number;
  /** When it was last changed, as far as known. */
  readonly changed_ms: number;
  /** Whether it lay beside a named file before the first run, so that its lines are not posted. */
  readonly isOther?: boolean;
};

/** A mark with its row in the state. */
export type StoredMark = { readonly id: number; readonly source: string; mark: FileMark };

/** A position with the fingerprint of the bytes just before it. */
export type Checkpoint = Pick<FileMark, "position" | "tail">;

export type Fingerprint = { readonly size_bytes: number; readonly hash: string };

export const HEAD_BYTES = 1024;
export const TAIL_BYTES = 64;

export function fingerprintBytes(bytes: Buffer): Fingerprint {
  return { size_bytes: bytes.length, hash: createHash("sha256").update(bytes).digest("base64url").slice(0, 22) };
}

export const NO_FINGERPRINT = fingerprintBytes(Buffer.alloc(0));

/** Identifies a file until it is removed. */
export function fileKey({ dev, ino }: Pick<FileMark, "dev" | "ino">): string {
  return `${dev} ${ino}`;
}

export function newMark(file: Pick<FileMark, "dev" | "ino"> & { readonly changed_ns: bigint }): FileMark {
  const none = { head: NO_FINGERPRINT, tail: NO_FINGERPRINT, checkpoints: [], isWithin: false, isDone: false };
  const times = { seen_ms: Date.now(), changed_ms: Number(file.changed_ns / 1_000_000n) };
  return { dev: file.dev, ino: file.ino, position: 0, ...none, ...times };
}

/** Whether the source starts with the content that the mark describes. */
export async function matches(mark: FileMark, source: ByteSource): Promise<boolean> {
  return (await hasHead(mark, source)) && (await hasTail(mark, source));
}

export async function hasHead({ head }: FileMark, source: ByteSource): Promise<boolean> {
  return fingerprintBytes(await source.read(0, head.size_bytes)).hash === head.hash;
}

/**
 * Returns the checkpoints of a mark once it moves to a position: each is at least twice as far from
 * it as the one after it, so that there are few, and one not long before any byte that was read.
 */
export function checkpointsAt(position: number, { checkpoints, ...mark }: FileMark): readonly Checkpoint[] {
  const kept: Checkpoint[] = [];
  let distance = 0;
  for (const checkpoint of [{ position: mark.position, tail: mark.tail }, ...checkpoints]) {
    // The head tells of the bytes before.
    if (checkpoint.position <= HEAD_BYTES || position - checkpoint.position < distance * 2) continue;
    distance = position - checkpoint.position;
    kept.push(checkpoint);
  }
  return kept;
}

/** Whether a source of this size is the beginning of what was read, judged by head and checkpoint. */
export async function isBeginningOf(mark: FileMark, source: ByteSource, size_bytes: number): Promise<boolean> {
  if (mark.position < size_bytes) return false;
  const last = [mark, ...mark.checkpoints].find(({ position }) => position <= size_bytes);
  // Files of one program often have their first lines in common.
  if (last === undefined || last.position <= HEAD_BYTES) return false;
  return (await hasHead(mark, source)) && (await hasTail(last, source));
}

/** Whether the bytes before a position are those that were read. */
export async function hasTail({ position, tail }: Checkpoint, source: ByteSource): Promise<boolean> {
  const bytes = await source.read(position - tail.size_bytes, tail.size_bytes);
  return fingerprintBytes(bytes).hash === tail.hash;
}
