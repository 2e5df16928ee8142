import { realpath } from "node:fs/promises";
import { basename, dirname } from "node:path";

import { openBytes } from "./byte-source.ts";
import { areOfOneScheme, isGenerationName, mayBeGenerationName } from "./generation-names.ts";
import type { KnownFiles } from "./known-files.ts";
import { fileKey, type StoredMark } from "./mark.ts";
import { fileAt, filesIn, type FoundFile, type WordScan } from "./word-scan.ts";

/** How long after a rotation unknown files beside the path may be generations of it. */
const ROTATED_MS = 5_000;

type Rotation = {
  /** The file that was at the path before. */
  readonly former: StoredMark;
  /** Generations that came and went unseen were changed later. */
  readonly changed_ns: bigint;
  /** Its present name; null if unknown. */
  name: string | null;
  until_ms: number;
};

/**
 * Files beside those that the words name. They are read if they continue a file that was read, or
 * came between it and the one that is now at its path.
 */
export class Neighbours {
  readonly #known: KnownFiles;
  readonly #words: WordScan;
  readonly #rotations = new Map<string, Rotation>();
  /** Paths that are missing, and were noted as such. */
  readonly #missing = new Set<string>();
  readonly #others = new Map<string, readonly FoundFile[]>();

  constructor(known: KnownFiles, words: WordScan) {
    this.#known = known;
    this.#words = words;
  }

  /** Whether rotations were seen of late. */
  get isExpected(): boolean {
    for (const [path, { until_ms }] of this.#rotations) {
      if (performance.now() > until_ms) this.#rotations.delete(path);
    }
    return this.#rotations.size > 0;
  }

  /** Notes that the file at a path was replaced or truncated. */
  expect(path: string, former: StoredMark): void {
    const until_ms = performance.now() + ROTATED_MS;
    const rotation = this.#rotations.get(path);
    if (rotation !== undefined) rotation.until_ms = until_ms;
    else this.#rotations.set(path, { former, changed_ns: this.#known.firstChangeOf(path), name: null, until_ms });
  }

  /** Notes the paths whose files were not read when an earlier run was killed. */
  expectUnread(): void {
    for (const path of this.#known.unreadSources()) {
      if (this.#words.fenceBeside(path) !== null) this.#expectFormer(path);
    }
  }

  /** Lists the files beside the wanted ones and beside those that were read earlier. */
  async find(wanted: readonly FoundFile[]): Promise<FoundFile[]> {
    const folders = new Map<string, readonly string[]>();
    const paths = new Set([...wanted.map(({ path }) => path), ...this.#known.sources()]);
    for (const path of paths) {
      const fence = this.#words.fenceBeside(path);
      if (fence === null) continue;
      folders.set(dirname(path), fence);
      const real = await realpath(path).catch(() => path);
      if (real !== path) folders.set(dirname(real), fence);
    }
    const seen = new Set(wanted.map(fileKey));
    const found: FoundFile[] = [];
    this.#others.clear();
    for (const [folder, fence] of folders) {
      const here: FoundFile[] = [];
      for (const path of await filesIn(folder)) {
        const file = await fileAt(path, { fence, isWanted: false, isDiscovered: true });
        if (file === null || seen.has(fileKey(file))) continue;
        seen.add(fileKey(file));
        here.push(file);
      }
      this.#others.set(folder, here);
      found.push(...here);
    }
    return found;
  }

  /** Notes at which paths other files are now than those that were read. */
  noteRotations(unknown: readonly FoundFile[], present: ReadonlyMap<string, FoundFile>): void {
    const there = new Set([...present.values()].map(({ path }) => path));
    for (const { path } of unknown) this.#expectFormer(path);
    for (const path of this.#known.sources()) {
      if (there.has(path)) this.#missing.delete(path);
      else if (!this.#missing.has(path) && this.#words.fenceBeside(path) !== null) {
        this.#missing.add(path);
        this.#expectFormer(path);
      }
    }
    for (const [path, rotation] of this.#rotations) {
      const file = present.get(fileKey(rotation.former.mark));
      if (file !== undefined && file.path !== path) rotation.name = basename(file.path);
    }
  }

  #expectFormer(path: string): void {
    const former = this.#known.lastOf(path);
    if (former !== null) this.expect(path, former);
  }

  /** Learns under which name the former file of a path is kept. */
  noteScheme(path: string, file: FoundFile): void {
    const rotation = this.#rotations.get(path);
    if (rotation !== undefined && file.path !== path) rotation.name = basename(file.path);
  }

  /** Whether files of this path were read before. */
  isHome(path: string): boolean {
    return this.#known.lastOf(path) !== null;
  }

  /** Whether a file may be known as a generation of some file once that was rotated. */
  mayBeGeneration(file: FoundFile): boolean {
    const folder = dirname(file.path);
    return [...this.#known.sources()].some(
      (path) => dirname(path) === folder && mayBeGenerationName(basename(path), basename(file.path)),
    );
  }

  /** Returns the path of which an unknown file is a generation that came and went unseen, or null. */
  homeOf(file: FoundFile): string | null {
    const name = basename(file.path);
    for (const [path, { changed_ns, name: scheme }] of this.#rotations) {
      if (dirname(path) !== dirname(file.path) || file.changed_ns < changed_ns) continue;
      const isUsual = scheme === null || isGenerationName(basename(path), scheme);
      if (isUsual ? isGenerationName(basename(path), name) : areOfOneScheme(scheme, name)) return path;
    }
    return null;
  }

  /** Notes the files that lie beside one that is read for the first time: they are not read. */
  async noteOthers(path: string, isHeld: (file: FoundFile) => boolean): Promise<void> {
    for (const other of this.#others.get(dirname(path)) ?? []) {
      if (!mayBeGenerationName(basename(path), basename(other.path)) || this.#known.at(other).length > 0) continue;
      if (isHeld(other)) continue;
      await using source = await openBytes(other.path, other.fence).catch(() => null);
      if (source !== null && fileKey(source) === fileKey(other)) await this.#known.addOther(path, other, source);
    }
  }
}
