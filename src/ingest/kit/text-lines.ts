import { LoggiaError } from "../../errors.ts";
import { AT_ONCE_BYTES, isObject, parseExactly } from "./json.ts";
import type { Steps, Pending } from "./steps.ts";
import { readOnly, TEXT_KEPT_BYTES } from "./long-json.ts";
import { messageText } from "./message-text.ts";
import { PENDING } from "./steps.ts";

export const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** Bytes searched between two pauses. */
const SEARCH_BYTES = 256 * 1024;
/** Blank lines skipped between two pauses. */
const BLANK_LINES = 1_024;

/** A line: its text, or the bytes of a line that is too long to be parsed at once. */
export type TextLine = string | Buffer;

/** Yields the lines of a body, without their endings. A blank line is an empty text. */
export function* readTextLines(body: Buffer): Generator<TextLine | Pending> {
  for (let start = 0; start < body.length;) start = yield* lineAt(body, start);
}

/** Like {@link readTextLines}, without the blank lines. */
export function* readFilledLines(body: Buffer): Generator<TextLine | Pending> {
  let blank = 0;
  for (let start = yield* afterBlankLines(body, 0); start < body.length;) {
    const line = lineAt(body, start);
    let step = line.next();
    for (; step.done !== true; step = line.next()) {
      if (step.value !== "") yield step.value;
      else if (++blank % BLANK_LINES === 0) yield PENDING;
    }
    start = yield* afterBlankLines(body, step.value);
  }
}

/** Yields the line that begins at `start`. Returns the start of the next one. */
function* lineAt(body: Buffer, start: number): Generator<TextLine | Pending, number> {
  const feed = yield* indexIn(body, LINE_FEED, start);
  const next = feed === -1 ? body.length : feed;
  const end = next > start && body[next - 1] === CARRIAGE_RETURN ? next - 1 : next;
  yield yield* lineOfBytes(body.subarray(start, end));
  return next + 1;
}

/** Returns the start of the first line that holds more than blanks, faster than line by line. */
function* afterBlankLines(body: Buffer, from: number): Steps<number> {
  let start = from;
  for (let at = from; ; at++) {
    const byte = body[at];
    if (byte === LINE_FEED) start = at + 1;
    else if (byte !== 0x20 && byte !== 0x09 && byte !== CARRIAGE_RETURN) return byte === undefined ? at : start;
    if ((at - from) % SEARCH_BYTES === SEARCH_BYTES - 1) yield PENDING;
  }
}

/**
 * Returns a line as text if it is short.
 * @param isCut whether the line was cut
 */
export function* lineOfBytes(bytes: Buffer, isCut = false): Steps<TextLine> {
  if (bytes.length > AT_ONCE_BYTES) return (yield* isBlank(bytes)) ? "" : bytes;
  const text = messageText(bytes, isCut);
  return text.trim() === "" ? "" : text;
}

/**
 * Returns the beginning of a long line as text, and whether there is more of it.
 * @param isLineCut whether the line itself was cut
 */
export function lineBeginning(line: Buffer, isLineCut = false): { readonly text: string; readonly isCut: boolean } {
  const isCut = isLineCut || line.length > TEXT_KEPT_BYTES;
  return { text: messageText(line.subarray(0, TEXT_KEPT_BYTES), isCut), isCut };
}

/** The JSON of a line, and whether parts of it were left out because it is too long. */
export type LineValue<T = unknown> = { readonly value: T; readonly isCut: boolean };
export type LineObject = LineValue<Readonly<Record<string, unknown>>>;

/** Reads the JSON value that a line is. Returns the error if it is not JSON. */
export function* valueOfLine(line: TextLine): Steps<LineValue | Error> {
  try {
    return typeof line === "string" ? { value: parseExactly(line), isCut: false } : yield* readOnly(line);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof LoggiaError) return error;
    throw error;
  }
}

/** Reads the JSON object that a line is; null for other lines. */
export function* objectOfLine(line: TextLine): Steps<LineObject | null> {
  // Most lines are plain text. A parser's error takes long to create.
  if (typeof line === "string" && !line.trimStart().startsWith("{")) return null;
  const read = yield* valueOfLine(line);
  return read instanceof Error || !isObject(read.value) ? null : (read as LineObject);
}

/** Like `Buffer.indexOf`, in steps. */
export function* indexIn(bytes: Buffer, wanted: number | Buffer, start = 0): Steps<number> {
  const overlap = typeof wanted === "number" ? 0 : wanted.length - 1;
  for (let from = start; ; from += SEARCH_BYTES) {
    const part = bytes.subarray(from, from + SEARCH_BYTES + overlap);
    const found = part.indexOf(wanted);
    if (found !== -1) return from + found;
    if (from + part.length >= bytes.length) return -1;
    yield PENDING;
  }
}

function* isBlank(bytes: Buffer): Steps<boolean> {
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== 0x20 && bytes[at] !== 0x09) return false;
    if (at % SEARCH_BYTES === SEARCH_BYTES - 1) yield PENDING;
  }
  return true;
}
