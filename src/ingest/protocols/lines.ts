import { WHOLE_BYTES } from "./long-json.ts";

export const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** A line: its text, or the bytes of a line that is too long to be parsed at once. */
export type TextLine = string | Buffer;

/** Yields the lines of a body, without their endings. */
export function* linesOf(body: Buffer): Generator<TextLine> {
  for (let start = 0; start < body.length;) {
    const feed = body.indexOf(LINE_FEED, start);
    const next = feed === -1 ? body.length : feed;
    const end = next > start && body[next - 1] === CARRIAGE_RETURN ? next - 1 : next;
    yield end - start > WHOLE_BYTES ? body.subarray(start, end) : body.toString("utf8", start, end);
    start = next + 1;
  }
}

/** Returns the beginning of a line that is too long, as text: more than an event holds. */
export function beginOf(line: Buffer): string {
  return line.toString("utf8", 0, WHOLE_BYTES);
}

/** Returns whether a line contains only white space. */
export function isBlank(line: TextLine): boolean {
  return typeof line === "string" ? line.trim() === "" : line.every((byte) => byte === 0x20 || byte === 0x09);
}
