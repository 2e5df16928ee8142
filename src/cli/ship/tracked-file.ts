import { basename, dirname, join } from "node:path";

import { ArchiveError } from "../archive-error.ts";
import { type ByteSource, openBytes } from "./byte-source.ts";
import type { Fence } from "./fence.ts";
import { frame, type Framing, type FrameResult, hasGroups, type TextRecord } from "./framing.ts";
import { baseName } from "./generation-names.ts";
import { type FileEncoding, detectEncoding, ENCODING_BYTES, LINE_MAX_BYTES } from "./lines.ts";
import { checkpointsAt, fileKey, fingerprintBytes, HEAD_BYTES, hasTail, type StoredMark, TAIL_BYTES } from "./mark.ts";
import type { ShipPosition } from "./state.ts";
import { type FoundFile, fileKeyAt } from "./word-scan.ts";

export type TrackedFileOptions = {
  readonly isFollowed: boolean;
  readonly framing: Framing;
};

export type FilePiece = {
  readonly records: readonly TextRecord[];
  readonly position: ShipPosition;
  readonly path: string;
};

/**
 * Why reading ended: everything was read; the bytes before the position have changed; the path
 * leads elsewhere; an archive is still being written; nothing was written for long.
 */
export type FileOutcome = "read" | "renewed" | "lost" | "unfinished" | "idle";

const READ_BYTES = 256 * 1024;
/** Largest read: the longest line with its line break, and some more. */
const READ_MAX_BYTES = LINE_MAX_BYTES + READ_BYTES;
/**
 * How long a replaced file is still read before it is finished. Its writer may go on writing for a
 * while after the rotation.
 */
const REPLACED_MS = 2_000;
/** After this time without new bytes, a file that was discovered is left to the scan. */
const IDLE_MS = 60_000;

/**
 * Reads one file, from its stored position to its end and then what is appended. No bytes are kept
 * while waiting for more: an unfinished record is read again.
 */
export class TrackedFile {
  readonly stored: StoredMark;
  /** The file as it was when it was found. */
  readonly found: FoundFile;
  readonly key: string;
  /** The path whose file it is; once another file is there, this one is finished. */
  readonly home: string;
  /** The name that it has in common with its generations. */
  readonly lane: string;
  path: string;
  fence: Fence;
  changed_ns: bigint;
  outcome: FileOutcome | null = null;
  isStarted = false;
  /** Whether its folder was searched after it was replaced. */
  isRotationScanned = false;
  readonly #options: TrackedFileOptions;
  readonly #isDiscovered: boolean;
  #source: ByteSource | null;
  #encoding: FileEncoding | null = null;
  #bytes: Buffer = Buffer.alloc(0);
  /** Bytes asked for from the position on. If `#bytes` has fewer, it reaches the file's end. */
  #read_bytes = READ_BYTES;
  /** End of the file at the last read, and when it last changed. */
  #end = -1;
  #grownAt_ms = performance.now();
  /** When another file was first seen at `home`; Infinity if none was. */
  #replacedAt_ms = Infinity;
  /** Up to here bytes are known to be zero, and whether others follow. */
  #hole: { readonly end: number; readonly isClosed: boolean } = { end: 0, isClosed: false };
  /** Whether an archive without an end is read as it is. */
  readonly #takesTruncated: boolean;

  constructor(found: FoundFile, stored: StoredMark, source: ByteSource, options: TrackedFileOptions) {
    this.stored = stored;
    this.found = found;
    this.key = fileKey(found);
    this.home = stored.source;
    this.lane = join(dirname(this.home), baseName(basename(this.home)));
    this.path = found.path;
    this.fence = found.fence;
    this.changed_ns = found.changed_ns;
    this.#isDiscovered = found.isDiscovered;
    this.#source = source;
    this.#options = options;
    const age_ms = Date.now() - Number(found.changed_ns / 1_000_000n);
    this.#takesTruncated = !options.isFollowed || age_ms >= REPLACED_MS;
    // It may wait for its turn longer than for its writer.
    if (this.home !== found.path) this.#replacedAt_ms = performance.now() - age_ms;
  }

  /** Notes where the file was found. */
  moveTo({ path, fence }: FoundFile): void {
    [this.path, this.fence] = [path, fence];
    if (path !== this.home && !this.isReplaced) this.#replacedAt_ms = performance.now();
  }

  get isReplaced(): boolean {
    return this.#replacedAt_ms !== Infinity;
  }

  /** The open file; null while it is closed. */
  get source(): ByteSource | null {
    return this.#source;
  }

  /** Returns the next records; null if there are none now, or once there is an outcome. */
  async next(mostRecords: number): Promise<FilePiece | null> {
    if (this.outcome !== null) return null;
    this.isStarted = true;
    const source = (this.#source ??= await this.#reopen());
    if (source === null) {
      this.outcome = "lost";
      return null;
    }
    const piece = await this.#read(source, mostRecords);
    if (piece !== null || this.outcome !== null) return piece;
    this.outcome = await this.#outcomeAtEnd(source);
    return this.outcome === "read" && source.isArchive ? this.#ended() : null;
  }

  /**
   * Whether the file was truncated, or written anew, since it was read: the bytes before the position
   * have changed. Reading shows it too, but only in the file's turn.
   */
  async isRenewed({ size_bytes, changed_ns }: FoundFile): Promise<boolean> {
    const { mark } = this.stored;
    if (this.outcome !== null || (changed_ns === this.changed_ns && size_bytes >= mark.position)) return false;
    const source = (this.#source ??= await this.#reopen());
    if (source === null || source.isArchive || (await hasTail(mark, source))) return false;
    this.outcome = "renewed";
    return true;
  }

  async close(): Promise<void> {
    const source = this.#source;
    this.#source = null;
    this.#bytes = Buffer.alloc(0);
    await source?.[Symbol.asyncDispose]();
  }

  async #reopen(): Promise<ByteSource | null> {
    const source = await openBytes(this.path, this.fence).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (source === null || fileKey(source) === this.key) return source;
    await source[Symbol.asyncDispose]();
    return null;
  }

  async #read(source: ByteSource, mostRecords: number): Promise<FilePiece | null> {
    for (;;) {
      if (this.#bytes.length === 0 && !(await this.#fill(source))) {
        this.outcome = "renewed";
        return null;
      }
      const framed = this.#frame(source, mostRecords);
      if (framed.consumed > 0) {
        await this.#advance(source, framed);
        if (framed.records.length > 0) return this.#piece(framed.records);
        continue;
      }
      if (this.#isAll) {
        // Read again once the file has grown.
        this.#bytes = Buffer.alloc(0);
        return null;
      }
      if (this.#bytes.length >= READ_MAX_BYTES) {
        if (await this.#findEndOfHole(source)) continue;
        this.#bytes = Buffer.alloc(0);
        return null;
      }
      this.#read_bytes = Math.min(this.#bytes.length * 4 + READ_BYTES, READ_MAX_BYTES);
      this.#bytes = await source.read(this.stored.mark.position, this.#read_bytes);
    }
  }

  /** Whether the bytes reach the end of the file. */
  get #isAll(): boolean {
    return this.#bytes.length < this.#read_bytes;
  }

  #frame(source: ByteSource, mostRecords: number): FrameResult {
    const { position, isWithin } = this.stored.mark;
    const { end, isClosed } = this.#hole;
    const flush = this.#isAll ? this.#flush(source) : "nothing";
    const encoding = this.#encoding ?? detectEncoding(this.#bytes, flush === "all");
    return frame(encoding === null ? Buffer.alloc(0) : this.#bytes, this.#options.framing, {
      encoding: encoding ?? "utf8",
      isFirst: position === 0,
      isWithin,
      flush,
      isHoleClosed: isClosed && end >= position + this.#bytes.length,
      mostRecords,
    });
  }

  #flush(source: ByteSource): "nothing" | "groups" | "all" {
    if (source.isArchive) return this.#isBeingWritten(source) ? "nothing" : "all";
    if (!this.#options.isFollowed) return "all";
    const now_ms = performance.now();
    const isSilent = now_ms - this.#grownAt_ms >= this.#options.framing.wait_ms;
    if (now_ms - this.#replacedAt_ms >= REPLACED_MS && (isSilent || !hasGroups(this.#options.framing))) return "all";
    return isSilent ? "groups" : "nothing";
  }

  /** Reads from the position on; false if the bytes before it are not those that were read. */
  async #fill(source: ByteSource): Promise<boolean> {
    const { position, tail } = this.stored.mark;
    this.#read_bytes = READ_BYTES;
    const bytes = await source.read(position - tail.size_bytes, tail.size_bytes + READ_BYTES);
    this.#bytes = bytes.subarray(tail.size_bytes);
    const end = position + this.#bytes.length;
    if (end !== this.#end) [this.#end, this.#grownAt_ms] = [end, performance.now()];
    if (fingerprintBytes(bytes.subarray(0, tail.size_bytes)).hash !== tail.hash) return false;
    if (this.#encoding === null) {
      this.#encoding = detectEncoding(
        position === 0 ? this.#bytes : await source.read(0, ENCODING_BYTES),
        position > 0,
      );
    }
    return true;
  }

  /** Looks behind zero bytes that fill the buffer; false if the file ends with them so far. */
  async #findEndOfHole(source: ByteSource): Promise<boolean> {
    const { position } = this.stored.mark;
    if (this.#bytes.at(-1) !== 0) return false;
    let end = Math.max(this.#hole.end, position + this.#bytes.length);
    for (;;) {
      const bytes = await source.read(end, READ_BYTES);
      const other = bytes.findIndex((byte) => byte !== 0);
      end += other === -1 ? bytes.length : other;
      this.#hole = { end, isClosed: other !== -1 };
      if (other === -1 && bytes.length === READ_BYTES) continue;
      if (other === -1 && this.#flush(source) === "all") this.#hole = { end, isClosed: true };
      return this.#hole.isClosed;
    }
  }

  /** Moves the position in memory. The piece carries it to the state. */
  async #advance(source: ByteSource, { consumed, isWithin }: FrameResult): Promise<void> {
    const { mark } = this.stored;
    const position = mark.position + consumed;
    const head_bytes = Math.min(position, HEAD_BYTES);
    const tail = fingerprintBytes(this.#bytes.subarray(Math.max(consumed - TAIL_BYTES, 0), consumed));
    let { head } = mark;
    if (head.size_bytes < head_bytes) {
      const first = mark.position === 0 ? this.#bytes.subarray(0, head_bytes) : await source.read(0, head_bytes);
      head = fingerprintBytes(first);
    }
    const changed_ms = Number(this.changed_ns / 1_000_000n);
    const checkpoints = checkpointsAt(position, mark);
    this.stored.mark = { ...mark, position, head, tail, checkpoints, isWithin, seen_ms: Date.now(), changed_ms };
    this.#bytes = this.#bytes.subarray(consumed);
    this.#read_bytes -= consumed;
  }

  #piece(records: readonly TextRecord[]): FilePiece {
    const { id, source, mark } = this.stored;
    return { records, position: { source, id, mark }, path: this.path };
  }

  /** Records, in order with the pieces, that an archive was read to its end. */
  #ended(): FilePiece {
    this.stored.mark = { ...this.stored.mark, isDone: true, seen_ms: Date.now() };
    return this.#piece([]);
  }

  /** Returns the outcome once nothing more is expected. @throws the error that cut an archive */
  async #outcomeAtEnd(source: ByteSource): Promise<FileOutcome | null> {
    const fault = source.fault();
    if (this.#isBeingWritten(source)) return "unfinished";
    if (fault !== null) throw fault;
    this.changed_ns = (await source.changed_ns()) ?? this.changed_ns;
    if (source.isArchive || !this.#options.isFollowed) return "read";
    const now_ms = performance.now();
    const there = await fileKeyAt(this.home);
    const isReplaced = there === null ? this.#isDiscovered || this.home !== this.path : there !== this.key;
    if (!isReplaced) this.#replacedAt_ms = Infinity;
    else if (!this.isReplaced) this.#replacedAt_ms = now_ms;
    if (this.isReplaced) return this.#flush(source) === "all" && (await this.#isReadWhole(source)) ? "read" : null;
    return this.#isDiscovered && now_ms - this.#grownAt_ms >= IDLE_MS && this.#isAtEnd ? "idle" : null;
  }

  #isBeingWritten(source: ByteSource): boolean {
    const fault = source.fault();
    return fault instanceof ArchiveError && fault.isTruncated && !this.#takesTruncated;
  }

  get #isAtEnd(): boolean {
    return this.#end === this.stored.mark.position;
  }

  async #isReadWhole(source: ByteSource): Promise<boolean> {
    return (await source.size()) <= this.stored.mark.position;
  }
}
