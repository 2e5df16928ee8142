import { WHOLE_BYTES } from "./long-json.ts";

export const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** A line: its text, or the bytes of one that is too long to be read at once. */
export type TextLine = string | Buffer;

/** The lines of a body, without what ends them. */
export function* linesOf(body: Buffer): Generator<TextLine> {
  for (let start = 0; start < body.length;) {
    const feed = body.indexOf(LINE_FEED, start);
    const next = feed === -1 ? body.length : feed;
    const end = next > start && body[next - 1] === CARRIAGE_RETURN ? next - 1 : next;
    yield end - start > WHOLE_BYTES ? body.subarray(start, end) : body.toString("utf8", start, end);
    start = next + 1;
  }
}

/** So much of a line that is too long is kept where it is text: more than an event holds. */
export function beginOf(line: Buffer): string {
  return line.toString("utf8", 0, WHOLE_BYTES);
}

/** Whether a line has nothing but white space. */
export function isBlank(line: TextLine): boolean {
  return typeof line === "string" ? line.trim() === "" : line.every((byte) => byte === 0x20 || byte === 0x09);
}
