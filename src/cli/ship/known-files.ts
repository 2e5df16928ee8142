import type { ByteSource } from "./byte-source.ts";
import { fileKey, type FileMark, fingerprintBytes, HEAD_BYTES, hasTail, isBeginningOf, newMark } from "./mark.ts";
import type { StoredMark } from "./mark.ts";
import type { ShipState } from "./state.ts";
import type { FoundFile } from "./word-scan.ts";

/** After this time without being seen, a mark is removed. */
const FORGET_MS = 30 * 86_400_000;
/** A mark that is seen again is stored anew after this time. */
const REFRESH_MS = 86_400_000;

type Identity = Pick<FileMark, "dev" | "ino">;

/**
 * The files that were read before, told apart by device, inode and content. A file that was
 * compressed, or copied before it was truncated, has another inode than its mark.
 */
export class KnownFiles {
  readonly #state: ShipState;
  readonly #marks = new Set<StoredMark>();
  readonly #byKey = new Map<string, Set<StoredMark>>();

  constructor(state: ShipState) {
    this.#state = state;
    for (const stored of state.marksBut("journal") as StoredMark[]) this.#index(stored);
  }

  /** Returns the marks of an inode, which may be those of files that had it before. */
  at(file: Identity): StoredMark[] {
    const found = [...(this.#byKey.get(fileKey(file)) ?? [])];
    return found.toSorted((a, b) => b.mark.position - a.mark.position);
  }

  /** Returns the paths whose files were read. */
  sources(): Set<string> {
    return new Set([...this.#marks].filter(({ mark }) => mark.isOther !== true).map(({ source }) => source));
  }

  /** Returns the newest mark of a path. */
  lastOf(source: string): StoredMark | null {
    let last: StoredMark | null = null;
    for (const stored of this.#marks) {
      if (stored.source !== source || stored.mark.isOther === true) continue;
      if (last === null || stored.id > last.id) last = stored;
    }
    return last;
  }

  /** Returns when the first file known of a path was last changed. Unknown generations came later. */
  firstChangeOf(source: string): bigint {
    let first_ms = Infinity;
    for (const { source: path, mark } of this.#marks)
      if (path === source && mark.isOther !== true) first_ms = Math.min(first_ms, mark.changed_ms);
    return first_ms === Infinity ? 0n : BigInt(Math.floor(first_ms)) * 1_000_000n;
  }

  /**
   * Returns the paths of files of which nothing was read when a run was killed. If such a file was
   * compressed or copied since, its content does not tell.
   */
  unreadSources(): Set<string> {
    const unread = [...this.#marks].filter(({ mark }) => mark.position === 0 && !mark.isDone && mark.isOther !== true);
    return new Set(unread.map(({ source }) => source));
  }

  add(source: string, mark: FileMark): StoredMark {
    const stored = { id: this.#state.addMark(source, mark), source, mark };
    this.#index(stored);
    return stored;
  }

  /** Notes a file that lies beside a named one and is not read. */
  async addOther(source: string, file: FoundFile, bytes: ByteSource): Promise<void> {
    this.add(source, { ...newMark(file), head: await headOf(bytes), isOther: true });
  }

  /** Notes a copy of which all was read from the file that it was copied from. */
  async addRead(source: string, file: FoundFile, bytes: ByteSource): Promise<void> {
    this.add(source, { ...newMark(file), head: await headOf(bytes), position: await bytes.size() });
  }

  /** Points a mark at the file that has its content now. */
  move(stored: StoredMark, { dev, ino }: Identity): void {
    if (stored.mark.dev !== dev || stored.mark.ino !== ino) this.#patch(stored, { dev, ino });
  }

  /** Frees a mark from an inode that has other content now. A copy may have the former content. */
  detach(stored: StoredMark): void {
    this.#patch(stored, { ino: "" });
  }

  remove(stored: StoredMark): void {
    this.#unindex(stored);
    this.#state.removeMark(stored.id);
  }

  /** Marks those that were seen, and removes marks of files that are long gone. */
  refresh(present: ReadonlySet<string>): void {
    const now_ms = Date.now();
    for (const stored of this.#marks) {
      const { seen_ms } = stored.mark;
      if (present.has(fileKey(stored.mark))) {
        if (now_ms - seen_ms >= REFRESH_MS) this.#patch(stored, { seen_ms: now_ms });
      } else if (now_ms - seen_ms >= FORGET_MS) this.remove(stored);
    }
  }

  /** Finds the mark of a file whose device has another number now, as after a reboot. */
  async renumbered(file: Identity, bytes: ByteSource, isThere: (key: string) => boolean): Promise<StoredMark | null> {
    return this.#firstMatch(bytes, ({ mark }) => mark.ino === file.ino && !isThere(fileKey(mark)));
  }

  /**
   * Finds the mark that a file continues: for an archive that of a file that is gone, for any file
   * that of one which was truncated.
   */
  async continued(bytes: ByteSource, isThere: (key: string) => boolean): Promise<StoredMark | null> {
    return this.#firstMatch(bytes, ({ mark }) =>
      bytes.isArchive ? !isThere(fileKey(mark)) : mark.ino === "" && !mark.isDone,
    );
  }

  /** Whether a file is a copy of one that was truncated and of which more was read than it holds. */
  async isReadCopy(bytes: ByteSource): Promise<boolean> {
    const size_bytes = await bytes.size();
    for (const { mark } of this.#marks) {
      if (mark.ino === "" && (await isBeginningOf(mark, bytes, size_bytes))) return true;
    }
    return false;
  }

  /** Returns the mark of most bytes among those that a file may continue and whose content it has. */
  async #firstMatch(bytes: ByteSource, isPossible: (stored: StoredMark) => boolean): Promise<StoredMark | null> {
    const possible = [...this.#marks].filter(
      (stored) => stored.mark.position > 0 && stored.mark.isOther !== true && isPossible(stored),
    );
    if (possible.length === 0) return null;
    const head = await bytes.read(0, HEAD_BYTES);
    const hashes = new Map<number, string>();
    const hashOf = (size_bytes: number): string => {
      if (!hashes.has(size_bytes)) hashes.set(size_bytes, fingerprintBytes(head.subarray(0, size_bytes)).hash);
      return hashes.get(size_bytes)!;
    };
    const alike = possible.filter(
      ({ mark }) => mark.head.size_bytes > 0 && hashOf(mark.head.size_bytes) === mark.head.hash,
    );
    for (const stored of alike.toSorted((a, b) => b.mark.position - a.mark.position))
      if (await hasTail(stored.mark, bytes)) return stored;
    return null;
  }

  #patch(stored: StoredMark, members: Partial<FileMark>): void {
    this.#unindex(stored);
    stored.mark = { ...stored.mark, ...members };
    this.#index(stored);
    this.#state.patchMark(stored.id, members);
  }

  #index(stored: StoredMark): void {
    const key = fileKey(stored.mark);
    this.#marks.add(stored);
    this.#byKey.set(key, (this.#byKey.get(key) ?? new Set()).add(stored));
  }

  #unindex(stored: StoredMark): void {
    const key = fileKey(stored.mark);
    const ofKey = this.#byKey.get(key);
    ofKey?.delete(stored);
    if (ofKey?.size === 0) this.#byKey.delete(key);
    this.#marks.delete(stored);
  }
}

async function headOf(bytes: ByteSource) {
  return fingerprintBytes(await bytes.read(0, HEAD_BYTES));
}
