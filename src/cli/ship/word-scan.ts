import { glob, lstat, readdir, stat } from "node:fs/promises";
import { dirname, matchesGlob, resolve } from "node:path";

import { refuseArchive } from "../archives.ts";
import type { Fence } from "./fence.ts";
import { fileKey } from "./mark.ts";

/** A file at one of its paths. */
export type FoundFile = {
  readonly path: string;
  readonly dev: string;
  readonly ino: string;
  readonly size_bytes: number;
  readonly changed_ns: bigint;
  /** Folders that it must lie in: see {@link Fence}. */
  readonly fence: Fence;
  /** Whether a word names it or its folder; if not, it lies beside such a file. */
  readonly isWanted: boolean;
  /** Whether it was found in a folder or by a glob. */
  readonly isDiscovered: boolean;
};

export type WordScanOptions = {
  readonly isFollowed: boolean;
  /** Folders that links may lead to, beside those that are named. */
  readonly linksTo: readonly string[];
  readonly unreadable: (path: string, error: Error) => void;
};

const GLOB = /[*?[{]/;

/** Finds the files that the words of a command name: files, folders and globs. */
export class WordScan {
  readonly #words: readonly string[];
  readonly #options: WordScanOptions;
  /** The fence of each named file; null if it cannot be read. */
  readonly #named = new Map<string, { readonly fence: Fence } | null>();
  #isFirst = true;
  /** Whether new files may appear later. */
  findsMore = false;

  constructor(words: readonly string[], options: WordScanOptions) {
    this.#words = words;
    this.#options = options;
  }

  /** Whether files were named that can be read, or could be before something else took their place. */
  get hasNamedFiles(): boolean {
    return [...this.#named.values()].some((named) => named !== null);
  }

  /** Yields the files in the order of the words; a file with several names comes several times. */
  async *run(): AsyncGenerator<FoundFile> {
    for (const word of this.#words) {
      const there = await stat(word).catch((error: unknown) => error as Error);
      if (!(there instanceof Error) && there.isDirectory()) yield* this.#discovered(word, await filesUnder(word));
      else if (there instanceof Error && GLOB.test(word)) yield* this.#discovered(word, await filesLike(word));
      else {
        const found = await this.#namedFile(word, there instanceof Error ? there : null);
        if (found !== null) yield found;
      }
    }
    this.#isFirst = false;
  }

  /** Returns the fence for files beside a path; null if no word covers the path. */
  fenceBeside(path: string): readonly string[] | null {
    for (const word of this.#words) {
      const at = resolve(word);
      if (at === path) return this.#fenceOf(dirname(at));
      if (path.startsWith(`${at}/`)) return this.#fenceOf(at);
      if (GLOB.test(word) && matchesGlob(path, at)) return this.#fenceOf(folderOfGlob(word));
    }
    return null;
  }

  #fenceOf(folder: string): readonly string[] {
    return [folder, ...this.#options.linksTo];
  }

  async *#discovered(word: string, paths: readonly string[]): AsyncGenerator<FoundFile> {
    this.findsMore = this.#options.isFollowed;
    const isGlob = GLOB.test(word);
    if (paths.length === 0 && !this.#options.isFollowed)
      this.#report(word, new Error(isGlob ? "no file matches" : "EISDIR: the folder contains no file"));
    const fence = this.#fenceOf(isGlob ? folderOfGlob(word) : word);
    for (const path of paths) {
      const found = await fileAt(path, { fence, isWanted: true, isDiscovered: true });
      if (found !== null) yield found;
    }
  }

  async #namedFile(word: string, missing: Error | null): Promise<FoundFile | null> {
    if (missing !== null) {
      if (!this.#named.has(word)) this.#report(word, missing);
      return null;
    }
    if (!this.#named.has(word)) this.#named.set(word, await this.#nameFile(word));
    const named = this.#named.get(word)!;
    return named === null ? null : fileAt(resolve(word), { fence: named.fence, isWanted: true, isDiscovered: false });
  }

  async #nameFile(word: string): Promise<{ readonly fence: Fence } | null> {
    try {
      if (this.#options.isFollowed) await refuseArchive(word);
      const isLink = (await lstat(word)).isSymbolicLink();
      return { fence: isLink ? null : this.#fenceOf(dirname(resolve(word))) };
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error)) throw error;
      this.#report(word, error);
      return null;
    }
  }

  #report(word: string, error: Error): void {
    if (this.#isFirst) this.#options.unreadable(word, error);
  }
}

/** Returns a regular file; null if there is none at this path. */
export async function fileAt(
  path: string,
  kind: Pick<FoundFile, "fence" | "isWanted" | "isDiscovered">,
): Promise<FoundFile | null> {
  const there = await stat(path, { bigint: true }).catch(() => null);
  if (there === null || !there.isFile()) return null;
  const { dev, ino, size, mtimeNs } = there;
  const identity = { dev: String(dev), ino: String(ino) };
  return { path, ...identity, size_bytes: Number(size), changed_ns: mtimeNs, ...kind };
}

/** Returns the key of the file at a path; null if there is none. */
export async function fileKeyAt(path: string): Promise<string | null> {
  const there = await stat(path, { bigint: true }).catch(() => null);
  return there === null || !there.isFile() ? null : fileKey({ dev: String(there.dev), ino: String(there.ino) });
}

/** Lists the files of a folder, without subfolders. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() || entry.isSymbolicLink()).map(({ name }) => resolve(folder, name));
}

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
    else if (entry.isFile() || entry.isSymbolicLink()) found.push(path);
  }
  return found;
}

async function filesLike(pattern: string): Promise<string[]> {
  const found: string[] = [];
  for await (const path of glob(pattern)) found.push(resolve(path));
  return found;
}
