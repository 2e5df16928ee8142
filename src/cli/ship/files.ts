import { setTimeout as delay } from "node:timers/promises";

import { type FilesOptions, Shipped } from "./shipped.ts";
import type { FilePiece } from "./tracked-file.ts";

/** Pieces read from files of one name before the others get a turn. */
const TURN_PIECES = 40;
const POLL_MS = 250;
const SCAN_MS = 1_000;
/** Longest pause after a slow scan, which a machine that stalled once must not draw out. */
const MOST_PAUSE_MS = 30_000;

/**
 * Yields the records of all files named by `words`: files, folders and globs. When following, it
 * also finds new files and runs until `signal` fires. At most one piece is in memory, however many
 * files there are.
 */
export async function* readFiles(words: readonly string[], options: FilesOptions): AsyncGenerator<FilePiece> {
  const { isFollowed, signal } = options;
  await using files = new Shipped(words, options);
  let next_ms = -Infinity;
  while (!signal.aborted) {
    if (files.needsScan || performance.now() >= next_ms) {
      const started_ms = performance.now();
      await files.scan();
      const took_ms = performance.now() - started_ms;
      next_ms = performance.now() + Math.min(Math.max(SCAN_MS, took_ms * 10), MOST_PAUSE_MS);
    }
    let count = 0;
    for await (const piece of files.readAll(isFollowed ? TURN_PIECES : Infinity)) {
      count += 1;
      yield piece;
      if (signal.aborted) return;
    }
    if (files.needsScan) continue;
    if (!isFollowed || files.isOver) return;
    if (count === 0) await delay(POLL_MS, undefined, { signal }).catch(() => {});
  }
}
