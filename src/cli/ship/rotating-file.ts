import { ArchiveError } from "../archives.ts";
import { type ByteSource, openBytes } from "./byte-source.ts";
import { type Fence, FenceError } from "./fence.ts";
import { frame, type Framing, LINE_MAX_BYTES, type TextRecord } from "./framing.ts";
import { type FileMark, fingerprintOf, HEAD_BYTES, hasHead, matches, NO_FINGERPRINT, TAIL_BYTES } from "./mark.ts";
import { earlierGenerations, type Generation, generationAt } from "./rotation.ts";
import type { Position, ShipState } from "./state.ts";

export type RotatingFileOptions = {
  readonly path: string;
  readonly isFollowed: boolean;
  /** Whether rotated generations from before the first run are read too. */
  readonly readsEarlierGenerations: boolean;
  /** Whether the path came from a folder or a glob; then it is dropped once the file is gone. */
  readonly isDiscovered: boolean;
  /** Folders that the file and its generations must lie in: see {@link Fence}. */
  readonly fence: readonly string[];
  /** Whether the path is a link that the operator named, which may lead anywhere. */
  readonly isNamedLink: boolean;
  readonly framing: Framing;
  readonly state: ShipState;
  /** Called if a file cannot be read, or not to its end. */
  readonly unreadable: (path: string, error: Error) => void;
};

export type RotatingFilePiece = { readonly records: readonly TextRecord[]; readonly position: Position };

const READ_BYTES = 256 * 1024;
/** Largest read: the longest line with its line break, and some more. */
const READ_MAX_BYTES = LINE_MAX_BYTES + READ_BYTES;
/**
 * How long a replaced file is still read before it is finished. Its writer may go on writing for a
 * while after the rotation.
 */
const REPLACED_MS = 2_000;
/** How long an unfinished record waits for more lines, in milliseconds. */
const GROUP_MS = 1_000;
/** Time for one more read after `REPLACED_MS`, which turns the unfinished rest into records. */
const FLUSHED_MS = 1;
/** After this time without being seen, the mark of a generation is removed. */
const FORGET_MS = 30 * 86_400_000;

type Stored = { readonly id: number; mark: FileMark };

type Current = {
  readonly id: number;
  readonly source: ByteSource;
  readonly path: string;
  /** Whether it is the file's path itself rather than an earlier generation. */
  readonly isLatest: boolean;
  mark: FileMark;
  /** Bytes read from the position. Fewer than `read_bytes`: they reach the end of the file. */
  bytes: Buffer;
  read_bytes: number;
  /** File size at the last check, and when it last changed. */
  size_bytes: number;
  idleSince_ms: number;
  /** When the file was first seen replaced; Infinity if it was not. */
  replacedAt_ms: number;
};

/**
 * Reads one log file across rotations: appended lines, the generations that replace it, and the
 * rotated ones that a previous run did not finish.
 *
 * Generations are told apart by inode and content, see `FileMark`. No bytes are kept while waiting
 * for a file to grow: an unfinished record is read again.
 */
export class RotatingFile {
  readonly path: string;
  readonly #options: RotatingFileOptions;
  #stored: Stored[];
  #current: Current | null = null;
  /** Files that could not be read, by device and inode, so that each is reported once. */
  readonly #broken = new Set<string>();
  #isFenceReported = false;
  isFinished = false;

  constructor(options: RotatingFileOptions) {
    this.path = options.path;
    this.#options = options;
    this.#stored = options.state.marks(options.path) as Stored[];
  }

  /** Whether an earlier run stored a position. */
  get isKnown(): boolean {
    return this.#stored.length > 0;
  }

  /** Removes old marks. On the first run, marks existing generations as read. */
  async prepare(): Promise<void> {
    const before_ms = Date.now() - FORGET_MS;
    for (const { id } of this.#stored.filter(({ mark }) => mark.seen_ms < before_ms))
      this.#options.state.removeMark(id);
    this.#stored = this.#stored.filter(({ mark }) => mark.seen_ms >= before_ms);
    if (this.isKnown || this.#options.readsEarlierGenerations) return;
    for (const generation of await earlierGenerations(this.path)) {
      await using source = await openBytes(generation.path, this.#options.fence).catch(() => null);
      if (source === null) continue;
      const isDone = source.isArchive;
      const position = isDone ? 0 : await source.size();
      const head = isDone ? NO_FINGERPRINT : fingerprintOf(await source.read(0, Math.min(position, HEAD_BYTES)));
      this.#add({ ...newMark(generation), position, head, isDone });
    }
  }

  /**
   * Returns the next records and the position after them; null if there are none now. Sets
   * `isFinished` once no more can come.
   */
  async next(mostRecords: number): Promise<RotatingFilePiece | null> {
    while (!this.isFinished) {
      this.#current ??= await this.#openNext();
      const current = this.#current;
      if (current === null) return null;
      let isOver = true;
      try {
        const piece = await this.#read(current, mostRecords);
        if (piece !== null && piece !== "renewed") return piece;
        isOver = piece === "renewed" || (await this.#isOver(current));
      } catch (error) {
        if (!isFileError(error)) throw error;
        this.#giveUp(current.path, current.source, error);
      }
      if (!isOver) return null;
      await this.close();
      if (current.source.isArchive) return this.#ended(current);
    }
    return null;
  }

  async close(): Promise<void> {
    const current = this.#current;
    this.#current = null;
    await current?.source[Symbol.asyncDispose]();
  }

  /** Reads the next records; `renewed` if the file's content before the position has changed. */
  async #read(current: Current, mostRecords: number): Promise<RotatingFilePiece | "renewed" | null> {
    for (;;) {
      if (current.bytes.length === 0 && !(await this.#fill(current))) return "renewed";
      const { position, isWithin } = current.mark;
      const isAll = current.bytes.length < current.read_bytes;
      const flush = isAll ? this.#flush(current) : "nothing";
      const options = { isFirst: position === 0, isWithin, flush, mostRecords } as const;
      const framed = frame(current.bytes, this.#options.framing, options);
      if (framed.consumed > 0) {
        await this.#advancePosition(current, framed.consumed, framed.isWithin);
        if (framed.records.length === 0) continue;
        const { id, mark } = current;
        return { records: framed.records, position: { source: this.path, id, mark } };
      }
      if (isAll) {
        // Read again once the file has grown.
        current.bytes = Buffer.alloc(0);
        return null;
      }
      current.read_bytes = Math.min(current.bytes.length * 4 + READ_BYTES, READ_MAX_BYTES);
      current.bytes = await current.source.read(position, current.read_bytes);
    }
  }

  /** Reads from the position on; false if the bytes before it are not those that were read. */
  async #fill(current: Current): Promise<boolean> {
    const { source, mark } = current;
    const { size_bytes } = mark.tail;
    current.read_bytes = READ_BYTES;
    const bytes = await source.read(mark.position - size_bytes, size_bytes + READ_BYTES);
    current.bytes = bytes.subarray(size_bytes);
    if (fingerprintOf(bytes.subarray(0, size_bytes)).hash === mark.tail.hash) return true;
    this.#detach(current.id);
    return false;
  }

  /** Moves the position in memory. The piece carries it to the state. */
  async #advancePosition(current: Current, consumed: number, isWithin: boolean): Promise<void> {
    const { mark, bytes, source } = current;
    const position = mark.position + consumed;
    const head_bytes = Math.min(position, HEAD_BYTES);
    const known = bytes.subarray(Math.max(consumed - TAIL_BYTES, 0), consumed);
    let { head } = mark;
    if (head.size_bytes < head_bytes) {
      const first = mark.position === 0 ? bytes.subarray(0, head_bytes) : await source.read(0, head_bytes);
      head = fingerprintOf(first);
    }
    current.mark = { ...mark, position, head, tail: fingerprintOf(known), isWithin, seen_ms: Date.now() };
    this.#find(current.id).mark = current.mark;
    current.bytes = bytes.subarray(consumed);
    current.read_bytes -= consumed;
  }

  #flush({ idleSince_ms, replacedAt_ms, source }: Current): "nothing" | "groups" | "all" {
    if (!this.#options.isFollowed || source.isArchive) return "all";
    if (performance.now() - replacedAt_ms >= REPLACED_MS) return "all";
    return performance.now() - idleSince_ms >= GROUP_MS ? "groups" : "nothing";
  }

  /** Whether the open file is finished: everything was read and nothing more will be written. */
  async #isOver(current: Current): Promise<boolean> {
    const { source, isLatest } = current;
    const fault = source.fault();
    if (fault !== null) throw fault;
    if (source.isArchive || !this.#options.isFollowed) {
      if (isLatest) this.isFinished = true;
      return true;
    }
    const size = await source.size();
    const now_ms = performance.now();
    if (size !== current.size_bytes) [current.size_bytes, current.idleSince_ms] = [size, now_ms];
    if (isLatest) {
      const there = await generationAt(this.path);
      const isReplaced =
        there === null ? this.#options.isDiscovered : there.ino !== source.ino || there.dev !== source.dev;
      if (!isReplaced) current.replacedAt_ms = Infinity;
      else if (current.replacedAt_ms === Infinity) current.replacedAt_ms = now_ms;
    }
    return now_ms - current.replacedAt_ms >= REPLACED_MS + FLUSHED_MS;
  }

  /** Records, in order with the pieces, that an archive was read to its end. */
  #ended({ id, mark }: Current): RotatingFilePiece {
    const done = { ...mark, isDone: true, seen_ms: Date.now() };
    this.#find(id).mark = done;
    return { records: [], position: { source: this.path, id, mark: done } };
  }

  /** Opens the oldest generation with unread bytes; null if there is none now. */
  async #openNext(): Promise<Current | null> {
    const earlier = await earlierGenerations(this.path);
    const latest = await generationAt(this.path);
    const there = (latest === null ? earlier : [...earlier, latest]).filter((one) => !this.#broken.has(keyOf(one)));
    const opened: { generation: Generation; source: ByteSource; stored: Stored | null }[] = [];
    let found: Current | null = null;
    try {
      const claimed = new Set<Stored>();
      for (const generation of there) {
        const stored = this.#byInode(generation);
        if (stored?.mark.isDone === true) continue;
        const source = await this.#open(generation);
        if (source === null) continue;
        const isSame = stored !== undefined && (await matches(stored.mark, source));
        if (stored !== undefined && !isSame) this.#detach(stored.id);
        if (isSame) claimed.add(stored);
        opened.push({ generation, source, stored: isSame ? stored : null });
      }
      for (const { generation, source, stored } of opened) {
        const known = stored ?? (await this.#byContent(source, claimed));
        if (known === null && source.isArchive && (await isCopy(source, claimed))) continue;
        if (known !== null) claimed.add(known);
        const current = this.#currentOf(generation, source, known, generation === latest);
        if (generation !== latest && !(await hasMore(current))) continue;
        found = current;
        return found;
      }
    } finally {
      for (const { source } of opened) if (source !== found?.source) await source[Symbol.asyncDispose]();
    }
    if (latest === null && (this.#options.isDiscovered || !this.#options.isFollowed)) this.isFinished = true;
    return null;
  }

  #currentOf(
    { path, dev, ino, changed_ns }: Generation,
    source: ByteSource,
    known: Stored | null,
    isLatest: boolean,
  ): Current {
    let stored = known;
    if (stored === null) stored = this.#add(newMark({ dev, ino }));
    else if (stored.mark.ino !== ino || stored.mark.dev !== dev) {
      stored.mark = { ...stored.mark, dev, ino };
      this.#options.state.patchMark(stored.id, { dev, ino });
    }
    const now_ms = performance.now();
    const age_ms = Date.now() - Number(changed_ns / 1_000_000n);
    const replacedAt_ms = isLatest ? Infinity : age_ms < REPLACED_MS ? now_ms : -Infinity;
    const times = { idleSince_ms: now_ms, size_bytes: -1, replacedAt_ms };
    const { id, mark } = stored;
    return { id, mark, source, path, isLatest, bytes: Buffer.alloc(0), read_bytes: READ_BYTES, ...times };
  }

  #fenceOf(path: string): Fence {
    return path === this.path && this.#options.isNamedLink ? null : this.#options.fence;
  }

  async #open({ path, dev, ino }: Generation): Promise<ByteSource | null> {
    let source: ByteSource | null = null;
    try {
      source = await openBytes(path, this.#fenceOf(path));
      // An archive may open and still be unreadable, so read a byte of it.
      await source.read(0, 1);
      const fault = source.fault();
      if (fault !== null && (await source.size()) === 0) throw fault;
      if (source.ino === ino) return source;
    } catch (error) {
      if (!isFileError(error)) throw error;
      if (error.code !== "ENOENT") this.#giveUp(path, { dev, ino }, error);
    }
    // It was renamed since the folder was listed. The next call finds it.
    await source?.[Symbol.asyncDispose]();
    return null;
  }

  #giveUp(path: string, file: Pick<FileMark, "dev" | "ino">, error: Error): void {
    // Once, as a link may be changed over and over.
    if (!(error instanceof FenceError) || !this.#isFenceReported) this.#options.unreadable(path, error);
    this.#isFenceReported ||= error instanceof FenceError;
    this.#broken.add(keyOf(file));
    // A link in place of a followed file may be replaced by the file again.
    const mayReturn = error instanceof FenceError && this.#options.isFollowed;
    if (path === this.path && !mayReturn) this.isFinished = true;
  }

  #byInode({ dev, ino }: Generation): Stored | undefined {
    return this.#stored.find(({ mark }) => mark.ino === ino && mark.dev === dev);
  }

  /** Finds the mark of a file that was compressed or copied, and so has another inode. */
  async #byContent(source: ByteSource, claimed: ReadonlySet<Stored>): Promise<Stored | null> {
    for (const stored of this.#stored) {
      const { position, isDone } = stored.mark;
      if (position > 0 && !isDone && !claimed.has(stored) && (await matches(stored.mark, source))) return stored;
    }
    return null;
  }

  /** Removes a reused inode from its mark, whose content may exist elsewhere as a copy. */
  #detach(id: number): void {
    const stored = this.#find(id);
    stored.mark = { ...stored.mark, ino: "" };
    this.#options.state.patchMark(id, { ino: "" });
  }

  #find(id: number): Stored {
    return this.#stored.find((stored) => stored.id === id)!;
  }

  #add(mark: FileMark): Stored {
    const stored = { id: this.#options.state.addMark(this.path, mark), mark };
    this.#stored.push(stored);
    return stored;
  }
}

function keyOf({ dev, ino }: Pick<FileMark, "dev" | "ino">): string {
  return `${dev} ${ino}`;
}

function newMark({ dev, ino }: Pick<FileMark, "dev" | "ino">): FileMark {
  const none = { head: NO_FINGERPRINT, tail: NO_FINGERPRINT, isWithin: false, isDone: false };
  return { dev, ino, position: 0, ...none, seen_ms: Date.now() };
}

/** Whether an archive is a copy of another generation. */
async function isCopy(source: ByteSource, claimed: ReadonlySet<Stored>): Promise<boolean> {
  for (const { mark } of claimed) {
    if (mark.head.size_bytes > 0 && (await hasHead(mark, source))) return true;
  }
  return false;
}

async function hasMore({ source, mark }: Current): Promise<boolean> {
  return source.isArchive || (await source.size()) > mark.position;
}

type FileError = Error & { readonly code: string };

function isFileError(error: unknown): error is FileError {
  if (error instanceof ArchiveError || error instanceof FenceError) return true;
  return error instanceof Error && "code" in error && "syscall" in error;
}
