import type { JournalRecord } from "../../../bus/bus.ts";
import { decodeKeyRecord, type Claim, type KeyHash, type Outcomes } from "../key-record.ts";
import { OpenSegment, SEGMENT_OFFSETS, type SealedSegment, type Summary } from "./key-segment.ts";

const HOUR_MS = 3_600_000;
/** Hours after that of its first record for which a segment is kept: its last key lives a day. */
export const KEPT_HOURS = 25;
/** Memory of all sealed segments. With the open one and a summary being written: 64 MB. */
const SEALED_BYTES = 62 * 1024 * 1024;

/** Result of a claim: the offset of the claim that stands now, which may be this one. */
export type ClaimVerdict = { readonly claim: Claim; readonly offset: number; readonly standing: number };

/**
 * The claims of a day, as the journal of keys tells them. The first claim of a key stands, until
 * its outcome is "void" or a claim that names its offset replaces it. All that this table holds
 * follows from the records alone, so it is the same in all processes that have read as far.
 *
 * Segments end at the first record of another hour, or when they span too many offsets. They are
 * dropped whole: after a day, or, the oldest first, when memory is full.
 */
export class KeyTable {
  readonly #most_bytes: number;
  readonly #onSealed: (summary: Summary) => void;
  readonly #sealed: SealedSegment[] = [];
  #open: OpenSegment | null = null;
  #hour = 0;
  #sealed_bytes = 0;
  #forgotten = 0;

  /** @param options.onSealed called with each segment that ends here, but not with summaries */
  constructor({
    most_bytes = SEALED_BYTES,
    onSealed = () => {},
  }: { readonly most_bytes?: number; readonly onSealed?: (summary: Summary) => void } = {}) {
    this.#most_bytes = most_bytes;
    this.#onSealed = onSealed;
  }

  get keys(): number {
    return this.#sealed.reduce((sum, { keys }) => sum + keys, this.#open?.keys ?? 0);
  }

  get size_bytes(): number {
    return this.#sealed_bytes + (this.#open?.size_bytes ?? 0);
  }

  /** Keys dropped before they were a day old. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Applies the next record. Returns the verdict if it is a claim. */
  apply({ offset, appended, value }: JournalRecord): ClaimVerdict | null {
    this.#passHour(Math.floor(appended / HOUR_MS));
    if (this.#open !== null && (this.#open.hour !== this.#hour || offset - this.#open.base >= SEGMENT_OFFSETS))
      this.#seal(this.#open, offset);
    this.#open ??= new OpenSegment(offset, this.#hour);
    const record = decodeKeyRecord(value);
    if (record === null) return null;
    if (record.kind === "claim") return { claim: record, offset, standing: this.#claim(this.#open, record, offset) };
    this.#settle(this.#open, record, offset);
    return null;
  }

  /**
   * Applies the records of a range at once. The table must hold what comes before it, and nothing
   * of it or behind it.
   */
  load({ segment, earlier }: Summary): void {
    if (this.#open !== null) this.#seal(this.#open, segment.base);
    this.#passHour(segment.hour);
    for (const kind of ["done", "void"] as const)
      for (const offset of earlier[kind]) this.#segmentOf(offset)?.settle(kind, offset);
    this.#push(segment);
  }

  /** Returns the offset of the claim that stands for a key; null if there is none. */
  standing(hash: KeyHash): number | null {
    const found = this.#open?.find(hash) ?? null;
    if (found !== null) return found;
    for (let i = this.#sealed.length - 1; i >= 0; i--) {
      const offset = this.#sealed[i]!.find(hash);
      if (offset !== null) return offset;
    }
    return null;
  }

  /** Returns the outcome of a claim; "open" while it is not known. */
  outcome(offset: number): "done" | "void" | "open" {
    const segment = this.#segmentOf(offset);
    if (segment === null) return "open";
    if (segment.isVoid(offset)) return "void";
    return segment.isDone(offset) ? "done" : "open";
  }

  #claim(open: OpenSegment, { hash, replaces }: Claim, offset: number): number {
    const standing = this.standing(hash);
    if (standing !== null && standing !== replaces) return standing;
    if (standing !== null) this.#settleOne(open, "void", standing);
    open.add(hash, offset);
    return offset;
  }

  #settle(open: OpenSegment, { kind, offsets }: Outcomes, at: number): void {
    // A batch that is on the bus stays there, whatever is said later.
    for (const offset of offsets)
      if (offset < at && this.outcome(offset) === "open") this.#settleOne(open, kind, offset);
  }

  #settleOne(open: OpenSegment, kind: "done" | "void", offset: number): void {
    const segment = this.#segmentOf(offset);
    if (segment?.settle(kind, offset) === true && segment !== open) open.earlier[kind].push(offset);
  }

  /** Returns the segment of an offset; null if it was dropped. */
  #segmentOf(offset: number): OpenSegment | SealedSegment | null {
    if (this.#open !== null && offset >= this.#open.base) return this.#open;
    return this.#sealed.findLast(({ base }) => base <= offset) ?? null;
  }

  #seal(open: OpenSegment, end: number): void {
    this.#open = null;
    const summary = open.seal(end);
    this.#push(summary.segment);
    this.#onSealed(summary);
  }

  #push(segment: SealedSegment): void {
    this.#sealed.push(segment);
    this.#sealed_bytes += segment.size_bytes;
    this.#dropExpired();
    while (this.#sealed_bytes > this.#most_bytes) this.#forgotten += this.#drop().keys;
  }

  #passHour(hour: number): void {
    if (hour <= this.#hour) return;
    this.#hour = hour;
    this.#dropExpired();
  }

  /** Drops segments by the time of the journal, so that all processes drop them at one record. */
  #dropExpired(): void {
    while (this.#sealed.length > 0 && this.#hour - this.#sealed[0]!.hour >= KEPT_HOURS) this.#drop();
  }

  #drop(): SealedSegment {
    const oldest = this.#sealed.shift()!;
    this.#sealed_bytes -= oldest.size_bytes;
    return oldest;
  }
}
