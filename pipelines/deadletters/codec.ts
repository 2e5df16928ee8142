import { isUtf8 } from "node:buffer";
import type { BusRecord, NewRecord, Topic } from "../../src/bus/bus.ts";

/**
 * A dead letter: something of the `events` topic that the pipeline could not take, why, and what it
 * takes to send it through again. On the `dead-letters` topic it is one JSON object in UTF-8:
 *
 *     {"v":1,"time":1308491673911,"stage":"decode","reason":"the line is not a JSON object",
 *      "origin":{"topic":"events","partition":0,"offset":17,"line":3},
 *      "key":"shop","part":1,"parts":1,"encoding":"utf8","content":"{\"v\":1,\"log\":\"shop\"}\n{oops"}
 *
 * `content` is a whole record once more: the record's first line and the one line that failed, or
 * all of a record whose first line cannot be read. So a letter is sent through again by appending
 * {@link recordOf} to `events`; as all writes are create-only, doing that too often does no harm.
 * Content too large for one record of the bus is spread over several letters, which differ in
 * `part` alone.
 *
 * Letters may come twice where the pipeline was cut off between writing them and moving its offset:
 * `origin` and `part` tell.
 */
export type DeadLetter = {
  /** When the pipeline gave up, in milliseconds since the Unix epoch. */
  readonly time: number;
  readonly stage: StageName;
  readonly reason: string;
  readonly origin: Origin;
  /** The key of the record that it came from. */
  readonly key: string;
  /** From 1. */
  readonly part: number;
  readonly parts: number;
  readonly content: Buffer;
};

export type StageName = "decode" | "track" | "delete" | "enrich" | "classify" | "alert" | "notify" | "index";

type Origin = {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  /** From 1, the first line after the record's head; 0 stands for the whole record. */
  readonly line: number;
};

/** What failed: a line of a record (0: all of it), and why. */
export type Failure = { readonly record: BusRecord; readonly line: number; readonly reason: string };

const VERSION = 1;
/** A reason may quote what an engine said about a large document. */
const REASON_MAX_CHARACTERS = 1_000;
/** Grows by a third in base64; the bus takes records of up to 1 MB. */
const PART_MAX_BYTES = 256 * 1024;

/** The records that hold the letters of failures: one each, or several where the content is large. */
export function encodeLetters(failures: readonly Failure[], stage: StageName, time: number): NewRecord[] {
  const starts = new Map<BusRecord, readonly number[]>();
  return failures.flatMap(({ record, line, reason }) => {
    const lineStarts = starts.get(record) ?? findLines(record.value);
    starts.set(record, lineStarts);
    const content = contentOf(record.value, line, lineStarts);
    const parts = Math.max(1, Math.ceil(content.length / PART_MAX_BYTES));
    return Array.from({ length: parts }, (_, i): NewRecord => {
      const letter = {
        v: VERSION,
        time,
        stage,
        reason: shorten(reason),
        origin: { ...record.position, line },
        key: record.key,
        part: i + 1,
        parts,
        ...encodeContent(content.subarray(i * PART_MAX_BYTES, (i + 1) * PART_MAX_BYTES)),
      };
      return { key: record.key, value: Buffer.from(JSON.stringify(letter)) };
    });
  });
}

/** The letter that a record of the `dead-letters` topic holds, or null where it holds none. */
export function decodeLetter(value: Buffer): DeadLetter | null {
  try {
    const { v, time, stage, reason, origin, key, part, parts, encoding, content } = JSON.parse(value.toString("utf8"));
    if (v !== VERSION || typeof content !== "string" || (encoding !== "utf8" && encoding !== "base64")) return null;
    return { time, stage, reason, origin, key, part, parts, content: Buffer.from(content, encoding) };
  } catch {
    return null;
  }
}

/**
 * The record to append to `events` to send something through the pipeline again.
 * @param letters all parts of one failure, in any order
 */
export function recordOf(letters: readonly [DeadLetter, ...DeadLetter[]]): NewRecord {
  const parts = letters.toSorted((a, b) => a.part - b.part).map(({ content }) => content);
  return { key: letters[0].key, value: Buffer.concat(parts) };
}

const LINE_BREAK = 0x0a;

/** Where each line of a record starts, and where one more would. */
function findLines(value: Buffer): number[] {
  const starts = [0];
  for (let at = value.indexOf(LINE_BREAK); at >= 0; at = value.indexOf(LINE_BREAK, at + 1)) starts.push(at + 1);
  starts.push(value.length + 1);
  return starts;
}

/** The bytes of a record's head and of one of its lines: bytes, because what failed may not be text at all. */
function contentOf(value: Buffer, line: number, lineStarts: readonly number[]): Buffer {
  if (line === 0) return value;
  return Buffer.concat([value.subarray(0, lineStarts[1]), value.subarray(lineStarts[line], lineStarts[line + 1]! - 1)]);
}

/**
 * Text as text where it is, for people who read it; base64 where it is not, or where JSON's
 * escapes would swell it more.
 */
function encodeContent(content: Buffer): { encoding: "utf8" | "base64"; content: string } {
  if (isUtf8(content)) {
    const text = content.toString("utf8");
    if (Buffer.byteLength(JSON.stringify(text)) <= Math.max(1_024, (content.length * 4) / 3))
      return { encoding: "utf8", content: text };
  }
  return { encoding: "base64", content: content.toString("base64") };
}

function shorten(reason: string): string {
  return reason.length <= REASON_MAX_CHARACTERS ? reason : `${reason.slice(0, REASON_MAX_CHARACTERS).toWellFormed()}…`;
}
