const [NUL, LINE_FEED, CARRIAGE_RETURN, SPACE] = [0x00, 0x0a, 0x0d, 0x20];
const [LESS, GREATER, ZERO, NINE] = [0x3c, 0x3e, 0x30, 0x39];
/** Digits of a length: more are none. */
const MOST_DIGITS = 10;
/** Where a message begins behind the end of another one, and its priority. */
const NEXT_LINE = "\n<";
const NEXT_NUL = "\0<";
const MOST_PRIORITY_DIGITS = 3;
const NOTHING = Buffer.alloc(0);

/** What stands between two ends of a stream, or in one datagram. */
export type Frame = {
  readonly bytes: Buffer;
  /** Whether the frame is longer than what was kept of it. */
  readonly isCut: boolean;
};

export type FrameOptions = {
  /** Of a longer frame only so much is kept. */
  readonly most_bytes: number;
  /** Whether NUL alone ends a frame. */
  readonly nulOnly: boolean;
  /** Whether a frame may begin with its length: digits, a blank, and "<". */
  readonly counted: boolean;
};

/**
 * Cuts a stream into frames: lines that end by LF, CRLF or NUL, and frames that begin with their
 * length. A client whose bytes end by NUL ends its frames by that alone, so that these may hold
 * lines.
 */
export class Frames {
  readonly #options: FrameOptions;
  #nulOnly: boolean;
  /** The begin of a frame whose end is missing, in a buffer that grows by doubling. */
  #buffer = NOTHING;
  #held_bytes = 0;
  /** How many bytes that frame has in all; 0: its end tells. */
  #wanted_bytes = 0;
  /** Bytes of a counted frame that are still to come and are not kept. */
  #skip_bytes = 0;
  /** Whether the rest of a line is not kept. */
  #skipsLine = false;
  /** Where the next NUL is among the bytes that are looked at; -1: unknown. */
  #nul = -1;
  count = 0;

  constructor(options: FrameOptions) {
    this.#options = options;
    this.#nulOnly = options.nulOnly;
  }

  get isWithin(): boolean {
    return this.#held_bytes > 0 || this.#skip_bytes > 0 || this.#skipsLine;
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
      this.#buffer = NOTHING;
      this.#held_bytes = 0;
    }
    this.#nul = -1;
    for (let at = 0; at < bytes.length;) {
      const next = this.#skipsLine ? this.#skipLine(bytes, at) : yield* this.#next(bytes, at);
      if (next === -1) return;
      at = next;
    }
  }

  /** What is left at the end of the stream. */
  *end(): Generator<Frame> {
    if (this.#held_bytes === 0) return;
    const bytes = this.#buffer.subarray(0, this.#held_bytes);
    this.#held_bytes = 0;
    this.count += 1;
    const length = this.#options.counted ? lengthAt(bytes, 0) : NOT_COUNTED;
    const isCounted = length !== NOT_COUNTED && length !== UNKNOWN;
    yield { bytes: trimmed(isCounted ? bytes.subarray(length.start) : bytes), isCut: isCounted };
  }

  /** Whether the frame that is held ends, or becomes too long, with these bytes. */
  #isDone(bytes: Buffer): boolean {
    const size_bytes = this.#held_bytes + bytes.length;
    if (this.#held_bytes <= MOST_DIGITS + 1 || size_bytes > this.#options.most_bytes) return true;
    if (this.#wanted_bytes > 0) return size_bytes >= this.#wanted_bytes;
    return bytes.includes(NUL) || (!this.#nulOnly && bytes.includes(LINE_FEED));
  }

  #hold(bytes: Buffer, wanted_bytes = this.#wanted_bytes): void {
    const size_bytes = this.#held_bytes + bytes.length;
    if (size_bytes > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(2 * size_bytes);
      this.#buffer.copy(larger, 0, 0, this.#held_bytes);
      this.#buffer = larger;
    }
    bytes.copy(this.#buffer, this.#held_bytes);
    this.#held_bytes = size_bytes;
    this.#wanted_bytes = wanted_bytes;
  }

  /** Reads the frame that begins at `at`. Returns where the next one begins; -1: not known yet. */
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

  /** Looks for NUL once in all bytes, not once for each line. */
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

/** Whether NUL ends messages here, and no line is a message. */
function endsByNul(bytes: Buffer): boolean {
  const nul = bytes.indexOf(NUL);
  if (nul === -1 || messageAt(bytes, NEXT_LINE)) return false;
  return bytes[bytes.length - 1] === NUL || messageAt(bytes, NEXT_NUL, nul);
}

/** Whether a priority stands behind this end of a message anywhere: within a text, "<" may begin anything. */
function messageAt(bytes: Buffer, end: string, from = 0): boolean {
  for (let at = bytes.indexOf(end, from); at !== -1; at = bytes.indexOf(end, at + 1)) {
    let i = at + end.length;
    while (i - at - end.length < MOST_PRIORITY_DIGITS && bytes[i]! >= ZERO && bytes[i]! <= NINE) i += 1;
    if (i > at + end.length && bytes[i] === GREATER) return true;
  }
  return false;
}

const NOT_COUNTED = "not counted";
/** More bytes are needed to tell. */
const UNKNOWN = "unknown";

type Length = { readonly start: number; readonly size_bytes: number } | typeof NOT_COUNTED | typeof UNKNOWN;

/** The length that stands at the begin of a frame: only before "<" is it one. */
function lengthAt(bytes: Buffer, at: number): Length {
  let size_bytes = 0;
  let i = at;
  for (; i < bytes.length && i - at <= MOST_DIGITS; i++) {
    const byte = bytes[i]!;
    if (byte < ZERO || byte > NINE) break;
    size_bytes = 10 * size_bytes + byte - ZERO;
  }
  if (i === at && i < bytes.length) return NOT_COUNTED;
  if (i - at > MOST_DIGITS) return NOT_COUNTED;
  if (i < bytes.length && bytes[i] !== SPACE) return NOT_COUNTED;
  if (i + 1 >= bytes.length) return UNKNOWN;
  if (bytes[i + 1] !== LESS || size_bytes === 0) return NOT_COUNTED;
  return { start: i + 1, size_bytes };
}

/** Without what ends it: CR before LF, and LF or NUL within a counted frame. */
function trimmed(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && isEnd(bytes[end - 1]!)) end -= 1;
  return end === bytes.length ? bytes : bytes.subarray(0, end);
}

function isEnd(byte: number): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === NUL;
}
