import { glob, lstat, readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { refuseArchive } from "../archives.ts";
import { checkWithin, FenceError } from "./fence.ts";
import type { Framing } from "./framing.ts";
import { RotatingFile, type RotatingFileOptions, type RotatingFilePiece } from "./rotating-file.ts";
import { isRotationOf } from "./rotation.ts";
import type { ShipState } from "./state.ts";

export type FilesOptions = {
  readonly isFollowed: boolean;
  /** Folders that links may lead to, beside those that are named. */
  readonly linksTo: readonly string[];
  readonly framing: Framing;
  readonly state: ShipState;
  readonly signal: AbortSignal;
  readonly unreadable: (path: string, error: Error) => void;
  /** Called once with the number of files that resume where an earlier run stopped. */
  readonly resumed: (files: number) => void;
};

export type FilePiece = RotatingFilePiece & { readonly path: string };

/** Records per piece: few enough that batches end near their bounds. */
const PIECE_RECORDS = 250;
/** Pieces read from one file before the others get a turn. */
const TURN_PIECES = 40;
const POLL_MS = 250;
const SCAN_MS = 1_000;
/** Links out of their folder that are reported; further ones are skipped without a message. */
const SHOWN_LINKS = 10;
/** With more files than this, a file is closed after its turn and reopened for the next. */
const MAX_OPEN = 200;

/**
 * Yields the records of all files named by `words`: files, folders and globs. When following, it
 * also finds new files and runs until `signal` fires. At most one piece is in memory, however many
 * files there are.
 */
export async function* readFiles(words: readonly string[], options: FilesOptions): AsyncGenerator<FilePiece> {
  const { isFollowed, signal } = options;
  const files = new Map<string, RotatingFile>();
  const scan = createScan(words, options, files);
  try {
    let next_ms = -Infinity;
    while (!signal.aborted) {
      if (performance.now() >= next_ms) {
        const started_ms = performance.now();
        await scan.run();
        next_ms = performance.now() + Math.max(SCAN_MS, (performance.now() - started_ms) * 10);
      }
      let count = 0;
      for (const file of files.values()) {
        for await (const piece of turnOf(file, isFollowed ? TURN_PIECES : Infinity)) {
          count += 1;
          yield { ...piece, path: file.path };
          if (signal.aborted) return;
        }
        if (file.isFinished || files.size > MAX_OPEN) await file.close();
        if (file.isFinished && scan.findsMore) files.delete(file.path);
      }
      if (!isFollowed || (!scan.findsMore && [...files.values()].every(({ isFinished }) => isFinished))) return;
      if (count === 0) await delay(POLL_MS, undefined, { signal }).catch(() => {});
    }
  } finally {
    for (const file of files.values()) await file.close();
  }
}

async function* turnOf(file: RotatingFile, most: number): AsyncGenerator<RotatingFilePiece> {
  for (let i = 0; i < most && !file.isFinished; i += 1) {
    const piece = await file.next(PIECE_RECORDS);
    if (piece === null) return;
    yield piece;
  }
}

/** Creates a scan that adds the files named by `words`, on each run those that are new. */
function createScan(words: readonly string[], options: FilesOptions, files: Map<string, RotatingFile>) {
  let isFirst = true;
  const known = new Set<string>();
  const refused = new Set<string>();
  const add = async (
    path: string,
    kind: Pick<RotatingFileOptions, "isDiscovered" | "readsEarlierGenerations" | "fence" | "isNamedLink">,
  ): Promise<RotatingFile | null> => {
    if (files.has(path)) return null;
    const file = new RotatingFile({ ...options, ...kind, path });
    const isKnown = file.isKnown;
    await file.prepare();
    files.set(path, file);
    return isKnown ? file : null;
  };
  const report = (path: string, error: unknown): void => {
    if (isFirst) options.unreadable(path, error as Error);
  };
  const named = async (word: string): Promise<RotatingFile | null> => {
    if (known.has(word)) return null;
    known.add(word);
    try {
      if (options.isFollowed) await refuseArchive(word);
      const isNamedLink = (await lstat(word)).isSymbolicLink();
      const fence = [dirname(resolve(word)), ...options.linksTo];
      return await add(resolve(word), { isDiscovered: false, readsEarlierGenerations: false, fence, isNamedLink });
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error)) throw error;
      report(word, error);
      return null;
    }
  };
  /** Whether a file that was found may be read; reports once why not. */
  const isWithin = async (path: string, fence: readonly string[]): Promise<boolean> => {
    try {
      await checkWithin(path, fence);
      return true;
    } catch (error) {
      if (error instanceof FenceError && !refused.has(path)) reportRefused(path, error);
      return false;
    }
  };
  const reportRefused = (path: string, error: FenceError): void => {
    // Many links could otherwise fill the terminal and the memory.
    if (refused.size >= SHOWN_LINKS) return;
    refused.add(path);
    options.unreadable(path, error);
  };
  const scan = {
    /** Whether new files may appear later. */
    findsMore: false,
    async run(): Promise<void> {
      let resumed = 0;
      for (const word of words) {
        const there = await stat(word).catch((error: unknown) => error as Error);
        const isFolder = !(there instanceof Error) && there.isDirectory();
        const isGlob = there instanceof Error && GLOB.test(word);
        if (!isFolder && !isGlob) {
          if (!(there instanceof Error)) resumed += (await named(word)) === null ? 0 : 1;
          else if (!known.has(word)) report(word, there);
          continue;
        }
        scan.findsMore = options.isFollowed;
        const found = isFolder ? await filesUnder(word) : await filesLike(word);
        if (found.length === 0 && !options.isFollowed)
          report(word, new Error(isFolder ? "EISDIR: the folder contains no file" : "no file matches"));
        const fence = [isFolder ? word : folderOfGlob(word), ...options.linksTo];
        for (const [path, readsEarlierGenerations] of withoutRotations(found)) {
          if (files.has(path) || !(await isWithin(path, fence))) continue;
          const kind = { isDiscovered: true, readsEarlierGenerations, fence, isNamedLink: false };
          resumed += (await add(path, kind)) === null ? 0 : 1;
        }
      }
      if (isFirst && resumed > 0) options.resumed(resumed);
      isFirst = false;
    },
  };
  return scan;
}

const GLOB = /[*?[{]/;

/** Returns the folder in which a glob looks for files: the part before its first wildcard. */
function folderOfGlob(pattern: string): string {
  return resolve(dirname(`${pattern.slice(0, pattern.search(GLOB))}x`));
}

/** Lists the files in a folder and its subfolders, except hidden ones. */
async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries) {
    if (entry.name.startsWith(".")) continue;
    const path = resolve(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await filesUnder(path)));
    else if (entry.isFile() || (entry.isSymbolicLink() && (await isFile(path)))) found.push(path);
  }
  return found;
}

async function filesLike(pattern: string): Promise<string[]> {
  const found: string[] = [];
  for await (const path of glob(pattern)) if (await isFile(path)) found.push(resolve(path));
  return found;
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() === true;
}

/** Drops files that are earlier generations of others, which are read with those. */
function withoutRotations(paths: readonly string[]): Map<string, boolean> {
  const names = Map.groupBy(paths.toSorted(), dirname);
  const found = new Map<string, boolean>();
  for (const [folder, inFolder] of names) {
    const latest: string[] = [];
    for (const name of inFolder.map((path) => basename(path))) {
      // Sorted, a name precedes its rotations, except those with a date before the extension.
      const base = latest.find((one) => isRotationOf(one, name));
      if (base === undefined) {
        for (const one of latest.filter((one) => isRotationOf(name, one))) {
          latest.splice(latest.indexOf(one), 1);
          found.delete(join(folder, one));
        }
        latest.push(name);
        found.set(
          join(folder, name),
          inFolder.some((path) => isRotationOf(name, basename(path))),
        );
      } else found.set(join(folder, base), true);
    }
  }
  return found;
}
