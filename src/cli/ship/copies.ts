import { ArchiveError } from "../archive-error.ts";
import { type ByteSource, openBytes } from "./byte-source.ts";
import { compareContents, seemsBeginningOf } from "./compare.ts";
import { fileKey } from "./mark.ts";
import type { FoundFile } from "./word-scan.ts";

/** The files that others may be copies of. */
export type Originals = {
  readonly present: ReadonlyMap<string, FoundFile>;
  /** Keys of those that are removed, and still open to be read to their end. */
  readonly removed: ReadonlySet<string>;
};

/** How long a file that equals the beginning of another may be a copy that is being made. */
const COPY_MS = 5_000;
const BEGIN_BYTES = 64;

type Held = {
  readonly size_bytes: number;
  readonly changed_ns: bigint;
  readonly since_ms: number;
  readonly original: string;
  /** Whether it is the whole other, compressed or unpacked. */
  readonly isCopy: boolean;
};

/**
 * Finds files that are copies of others that exist: those are not read. A compressed file is a copy
 * while the other is there. A file of equal beginning may be a copy that its maker has not finished,
 * before it truncates the original; it is another file if it stays as it is.
 */
export class Copies {
  readonly #isFollowed: boolean;
  /** The first bytes of the files that are read. */
  readonly #beginnings = new Map<string, Buffer>();
  readonly #held = new Map<string, Held>();

  constructor({ isFollowed }: { readonly isFollowed: boolean }) {
    this.#isFollowed = isFollowed;
  }

  /** Notes a file of which others may be copies. */
  async note(key: string, bytes: ByteSource): Promise<void> {
    this.#beginnings.set(key, Buffer.from(await bytes.read(0, BEGIN_BYTES)));
  }

  /** Whether a file was too short to be recognized when it was noted. */
  isShort(key: string): boolean {
    return (this.#beginnings.get(key)?.length ?? 0) < BEGIN_BYTES;
  }

  forget(key: string): void {
    this.#beginnings.delete(key);
  }

  /** Whether a file is held back as a copy of another one that did not change. */
  isHeld(file: FoundFile, originals: Originals): boolean {
    const key = fileKey(file);
    const held = this.#held.get(key);
    if (held === undefined) return false;
    const isSame = held.size_bytes === file.size_bytes && held.changed_ns === file.changed_ns;
    const { present, removed } = originals;
    const isThere = (present.has(held.original) || removed.has(held.original)) && this.#beginnings.has(held.original);
    if (!isSame || !isThere) this.#held.delete(key);
    else if (held.isCopy || performance.now() - held.since_ms < COPY_MS) return true;
    return false;
  }

  /** Holds a file back if it is a copy of one of the others. */
  async hold(file: FoundFile, bytes: ByteSource, originals: Originals): Promise<boolean> {
    const key = fileKey(file);
    // It was held for long enough, and is no copy.
    if (this.#held.has(key)) return !this.#held.delete(key);
    const begin = await bytes.read(0, BEGIN_BYTES);
    if (begin.length === 0) return false;
    for (const [original, beginning] of this.#beginnings) {
      if (original === key || !areAlike(begin, beginning)) continue;
      const other = originals.present.get(original);
      const relation =
        other !== undefined
          ? await this.#relation(bytes, other)
          : originals.removed.has(original) && bytes.isArchive
            ? "copy"
            : null;
      if (relation === null) continue;
      // The next scan knows where the other one is now.
      if (relation === "unclear") return true;
      const { size_bytes, changed_ns } = file;
      const isCopy = relation === "copy";
      this.#held.set(key, { size_bytes, changed_ns, since_ms: performance.now(), original, isCopy });
      return true;
    }
    return false;
  }

  async #relation(bytes: ByteSource, other: FoundFile): Promise<"copy" | "beginning" | "unclear" | null> {
    await using original = await openBytes(other.path, other.fence).catch(() => null);
    if (original === null || fileKey(original) !== fileKey(other)) return "unclear";
    // It was truncated since the folder was listed: the next scan finds the mark of what it was.
    if (!original.isArchive && (await original.size()) < other.size_bytes) return "unclear";
    if (original.isArchive !== bytes.isArchive) {
      const found = await compareContents(bytes, original);
      const fault = bytes.fault();
      if (fault === null) return found === "equal" && original.fault() === null ? "copy" : null;
      const isBeingWritten = fault instanceof ArchiveError && fault.isTruncated && found !== "different";
      return isBeingWritten ? "copy" : null;
    }
    return this.#isFollowed && (await seemsBeginningOf(bytes, original)) ? "beginning" : null;
  }
}

/** Whether one of two texts begins with the other. */
function areAlike(a: Buffer, b: Buffer): boolean {
  const size_bytes = Math.min(a.length, b.length);
  return size_bytes > 0 && a.subarray(0, size_bytes).equals(b.subarray(0, size_bytes));
}
