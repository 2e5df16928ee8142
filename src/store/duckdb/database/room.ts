import { statfs } from "node:fs/promises";
import { dirname } from "node:path";

import { isDiskFull, noRoom } from "./errors.ts";

/**
 * Room below which no write is attempted once the disk was full. Each attempt would fail and take
 * the file away from all reads.
 */
const ROOM_BYTES = 4_000_000;

/** Remembers that a write found the disk full, until one succeeds. */
export class DiskRoom {
  /** How often a write found the disk full. */
  timesFull = 0;
  #cause: unknown = null;

  get isFull(): boolean {
    return this.#cause !== null;
  }

  failed(error: unknown): void {
    if (!isDiskFull(error)) return;
    this.#cause = error;
    this.timesFull += 1;
  }

  succeeded(): void {
    this.#cause = null;
  }

  /** @throws LoggiaError `store_unavailable` if the disk was full and still is */
  async check(path: string): Promise<void> {
    if (this.#cause !== null && !(await hasRoom(path, ROOM_BYTES))) throw noRoom(this.#cause);
  }
}

/** Returns whether the disk of a file has this much room, as far as the system says. */
export async function hasRoom(path: string, size_bytes: number): Promise<boolean> {
  const disk = await statfs(dirname(path)).catch(() => null);
  return disk === null || disk.bavail * disk.bsize >= size_bytes;
}
