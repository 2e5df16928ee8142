const [NUL, LINE_FEED, CARRIAGE_RETURN, SPACE] = [0x00, 0x0a, 0x0d, 0x20];
const [LESS, GREATER, ZERO, NINE] = [0x3c, 0x3e, 0x30, 0x39];
/** Maximum number of digits of a length. */
const MAX_DIGITS = 10;
/** End of a message, followed by the priority that begins the next one. */
const NEXT_LINE = "\n<";
const NEXT_NUL = "\0<";
const MAX_PRIORITY_DIGITS = 3;
const NOTHING = Buffer.alloc(0);

/** Bytes between two delimiters of a stream, or one datagram. */
export type Frame = {
  readonly bytes: Buffer;
  /** Whether the frame is longer than the bytes kept of it. */
  readonly isCut: boolean;
};

export type FrameOptions = {
  /** Maximum number of bytes kept of a frame. */
  readonly most_bytes: number;
  /** Whether NUL alone ends a frame. */
  readonly nulOnly: boolean;
  /** Whether a frame may begin with its length: digits, a blank, and "<". */
  readonly counted: boolean;
};

/**
 * Splits a stream into frames: lines that end with LF, CRLF or NUL, and frames that begin with
 * their length. If a client's first bytes end with NUL, only NUL ends its frames, which may then
 * hold lines.
 */
export class Frames {
  readonly #options: FrameOptions;
  #nulOnly: boolean;
  /** Beginning of an incomplete frame, in a buffer that grows by doubling up to the longest frame. */
  #buffer = NOTHING;
  #held_bytes = 0;
  /** Total size of that frame; 0 if a delimiter ends it. */
  #wanted_bytes = 0;
  /** Bytes of a counted frame that are still to come and are skipped. */
  #skip_bytes = 0;
  /** Whether the rest of a line is skipped. */
  #skipsLine = false;
  /** Position of the next NUL in the current bytes; -1 if unknown. */
  #nul = -1;
  count = 0;

  constructor(options: FrameOptions) {
    this.#options = options;
    this.#nulOnly = options.nulOnly;
  }

  get hasPartialFrame(): boolean {
    return this.#held_bytes > 0 || this.#skip_bytes > 0 || this.#skipsLine;
  }

  /** Memory of the incomplete frame. */
  get held_bytes(): number {
    return this.#buffer.length;
  }

  /** Returns the memory of the incomplete frame with this many bytes more. */
  heldWith(more_bytes: number): number {
    const needed_bytes = this.#held_bytes + more_bytes;
    if (needed_bytes <= this.#buffer.length) return this.#buffer.length;
    return Math.max(needed_bytes, Math.min(2 * needed_bytes, this.#options.most_bytes));
  }

  *push(given: Buffer): Generator<Frame> {
    let bytes = given;
    if (this.count === 0 && !this.#nulOnly) this.#nulOnly = endsByNul(given);
    if (this.#skip_bytes > 0) {
      const skipped = Math.min(this.#skip_bytes, bytes.length);
      this.#skip_bytes -= skipped;
      bytes = bytes.subarray(skipped);
    }
    if (this.#held_bytes > 0) {
      const isDone = this.#isDone(bytes);
      this.#hold(bytes);
      if (!isDone) return;
      bytes = this.#buffer.subarray(0, this.#held_bytes);
      this.drop();
    }
    this.#nul = -1;
    for (let at = 0; at < bytes.length;) {
      const next = this.#skipsLine ? this.#skipLine(bytes, at) : yield* this.#next(bytes, at);
      if (next === -1) return;
      at = next;
    }
  }

  /** Yields what is left at the end of the stream. */
  *end(): Generator<Frame> {
    if (this.#held_bytes === 0) return;
    const bytes = this.#buffer.subarray(0, this.#held_bytes);
    this.drop();
    this.count += 1;
    const length = this.#options.counted ? lengthAt(bytes, 0) : NOT_COUNTED;
    const isCounted = length !== NOT_COUNTED && length !== UNKNOWN;
    yield { bytes: trimmed(isCounted ? bytes.subarray(length.start) : bytes), isCut: isCounted };
  }

  /** Forgets what is held of an incomplete frame. */
  drop(): void {
    this.#buffer = NOTHING;
    this.#held_bytes = 0;
  }

  /** Returns whether the incomplete frame ends, or becomes too long, with these bytes. */
  #isDone(bytes: Buffer): boolean {
    const size_bytes = this.#held_bytes + bytes.length;
    if (this.#held_bytes <= MAX_DIGITS + 1 || size_bytes > this.#options.most_bytes) return true;
    if (this.#wanted_bytes > 0) return size_bytes >= this.#wanted_bytes;
    return bytes.includes(NUL) || (!this.#nulOnly && bytes.includes(LINE_FEED));
  }

  #hold(bytes: Buffer, wanted_bytes = this.#wanted_bytes): void {
    const capacity_bytes = this.heldWith(bytes.length);
    if (capacity_bytes > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(capacity_bytes);
      this.#buffer.copy(larger, 0, 0, this.#held_bytes);
      this.#buffer = larger;
    }
    bytes.copy(this.#buffer, this.#held_bytes);
    this.#held_bytes += bytes.length;
    this.#wanted_bytes = wanted_bytes;
  }

  /** Reads the frame at `at`. Returns the start of the next one; -1 if it is incomplete. */
  *#next(bytes: Buffer, at: number): Generator<Frame, number> {
    const { most_bytes, counted } = this.#options;
    const length = counted ? lengthAt(bytes, at) : NOT_COUNTED;
    if (length === UNKNOWN) {
      this.#hold(bytes.subarray(at), 0);
      return -1;
    }
    if (length !== NOT_COUNTED) {
      const { start, size_bytes } = length;
      const end = start + size_bytes;
      if (end <= bytes.length) {
        this.count += 1;
        const kept = bytes.subarray(start, Math.min(end, start + most_bytes));
        yield { bytes: trimmed(kept), isCut: size_bytes > most_bytes };
        return end;
      }
      if (bytes.length - start < most_bytes) {
        this.#hold(bytes.subarray(at), end - at);
        return -1;
      }
      this.count += 1;
      this.#skip_bytes = end - bytes.length;
      yield { bytes: bytes.subarray(start, start + most_bytes), isCut: true };
      return -1;
    }
    const end = this.#endOfLine(bytes, at);
    const isLong = (end === -1 ? bytes.length : end) - at > most_bytes;
    if (end === -1 && !isLong) {
      this.#hold(bytes.subarray(at), 0);
      return -1;
    }
    if (end === at && !this.#nulOnly) return at + 1;
    this.count += 1;
    this.#skipsLine = end === -1;
    yield { bytes: trimmed(bytes.subarray(at, isLong ? at + most_bytes : end)), isCut: isLong };
    return end === -1 ? -1 : end + 1;
  }

  #skipLine(bytes: Buffer, at: number): number {
    const end = this.#endOfLine(bytes, at);
    if (end === -1) return -1;
    this.#skipsLine = false;
    return end + 1;
  }

  /** Returns the next delimiter. NUL is searched once in all bytes, not once per line. */
  #endOfLine(bytes: Buffer, at: number): number {
    if (this.#nul < at) {
      const found = bytes.indexOf(NUL, at);
      this.#nul = found === -1 ? bytes.length : found;
    }
    const nul = this.#nul === bytes.length ? -1 : this.#nul;
    if (this.#nulOnly) return nul;
    const feed = bytes.indexOf(LINE_FEED, at);
    return nul === -1 || (feed !== -1 && feed < nul) ? feed : nul;
  }
}

/** Returns whether NUL ends messages and no line looks like a message. */
function endsByNul(bytes: Buffer): boolean {
  const nul = bytes.indexOf(NUL);
  if (nul === -1 || messageAt(bytes, NEXT_LINE)) return false;
  return bytes[bytes.length - 1] === NUL || messageAt(bytes, NEXT_NUL, nul);
}

/** Returns whether a priority follows such a delimiter: "<" alone may occur within a text. */
function messageAt(bytes: Buffer, end: string, from = 0): boolean {
  for (let at = bytes.indexOf(end, from); at !== -1; at = bytes.indexOf(end, at + 1)) {
    let i = at + end.length;
    while (i - at - end.length < MAX_PRIORITY_DIGITS && bytes[i]! >= ZERO && bytes[i]! <= NINE) i += 1;
    if (i > at + end.length && bytes[i] === GREATER) return true;
  }
  return false;
}

const NOT_COUNTED = "not counted";
/** More bytes are needed to decide. */
const UNKNOWN = "unknown";

type Length = { readonly start: number; readonly size_bytes: number } | typeof NOT_COUNTED | typeof UNKNOWN;

/** Returns the length at the beginning of a frame. It counts only before "<". */
function lengthAt(bytes: Buffer, at: number): Length {
  let size_bytes = 0;
  let i = at;
  for (; i < bytes.length && i - at <= MAX_DIGITS; i++) {
    const byte = bytes[i]!;
    if (byte < ZERO || byte > NINE) break;
    size_bytes = 10 * size_bytes + byte - ZERO;
  }
  if (i === at && i < bytes.length) return NOT_COUNTED;
  if (i - at > MAX_DIGITS) return NOT_COUNTED;
  if (i < bytes.length && bytes[i] !== SPACE) return NOT_COUNTED;
  if (i + 1 >= bytes.length) return UNKNOWN;
  if (bytes[i + 1] !== LESS || size_bytes === 0) return NOT_COUNTED;
  return { start: i + 1, size_bytes };
}

/** Returns a frame without its delimiter: CR before LF, and LF or NUL within a counted frame. */
function trimmed(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && isEnd(bytes[end - 1]!)) end -= 1;
  return end === bytes.length ? bytes : bytes.subarray(0, end);
}

function isEnd(byte: number): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === NUL;
}
