import { isUtf8 } from "node:buffer";
import type { BusRecord, NewRecord, Topic } from "../../src/bus/bus.ts";

/**
 * A dead letter: content of the `events` topic that the pipeline refused, the reason, and what is
 * needed to redrive it. On the `dead-letters` topic it is one JSON object in UTF-8:
 *
 *     {"v":1,"time":1308491673911,"stage":"decode","reason":"the line is not a JSON object",
 *      "origin":{"topic":"events","partition":0,"offset":17,"line":3},
 *      "key":"shop","part":1,"parts":1,"encoding":"utf8","content":"{\"v\":1,\"log\":\"shop\"}\n{oops"}
 *
 * `content` is a complete record: the first line of the original record and the line that failed,
 * or the whole record if its first line is malformed. Appending {@link deadLetterRecord} to `events`
 * redrives a letter; as all writes are create-only, repeating that does no harm. Content too large
 * for one bus record is split into several letters that differ in `part` and `content` only.
 *
 * A letter can occur twice if the pipeline stopped between writing it and moving its offset;
 * `origin` and `part` identify duplicates.
 */
export type DeadLetter = {
  /** Time of the failure, in milliseconds since the Unix epoch. */
  readonly time: number;
  readonly stage: StageName;
  readonly reason: string;
  readonly origin: Origin;
  /** Key of the original record. */
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
  /** Line number from 1, the first line after the record's head; 0 means the whole record. */
  readonly line: number;
};

/** A line of a record that failed (0: the whole record), and why. */
export type RecordFailure = { readonly record: BusRecord; readonly line: number; readonly reason: string };

const VERSION = 1;
/** Maximum length of a reason. A reason may quote an engine's message about a large document. */
const REASON_MAX_CHARACTERS = 1_000;
/** Base64 adds a third; the bus accepts records of up to 1 MB. */
const PART_MAX_BYTES = 256 * 1024;

/** Encodes failures as records: one each, or several if the content is large. */
export function encodeLetters(failures: readonly RecordFailure[], stage: StageName, time: number): NewRecord[] {
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

/** Decodes a record of the `dead-letters` topic; returns null if it is not a dead letter. */
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
 * Returns the record to append to `events` to redrive a letter.
 * @param letters all parts of one failure, in any order
 */
export function deadLetterRecord(letters: readonly [DeadLetter, ...DeadLetter[]]): NewRecord {
  const parts = letters.toSorted((a, b) => a.part - b.part).map(({ content }) => content);
  return { key: letters[0].key, value: Buffer.concat(parts) };
}

const LINE_BREAK = 0x0a;

/** Returns the start of each line of a record, and of the line after the last. */
function findLines(value: Buffer): number[] {
  const starts = [0];
  for (let at = value.indexOf(LINE_BREAK); at >= 0; at = value.indexOf(LINE_BREAK, at + 1)) starts.push(at + 1);
  starts.push(value.length + 1);
  return starts;
}

/** Returns the bytes of a record's head and of one line. These need not be valid text. */
function contentOf(value: Buffer, line: number, lineStarts: readonly number[]): Buffer {
  if (line === 0) return value;
  return Buffer.concat([value.subarray(0, lineStarts[1]), value.subarray(lineStarts[line], lineStarts[line + 1]! - 1)]);
}

/**
 * Encodes content as text for readability, or as base64 if it is not UTF-8 or JSON escapes would
 * make it larger.
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
