import { LoggiaError } from "../../../errors.ts";
import type { FieldLimits } from "../../../events/limits.ts";
import { USUAL } from "../../kit/choice.ts";
import { eventOfText } from "../../kit/document.ts";
import { FluentEntries } from "../../kit/fluent-entry.ts";
import { decodeValue, textOfBytes } from "../../kit/msgpack.ts";
import type { Steps } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { lineBeginning } from "../../kit/text-lines.ts";
import { endOfValue, headAt } from "../../kit/msgpack-scan.ts";
import { shortValue } from "../../kit/msgpack-shorten.ts";
import type { ShortValue } from "../../kit/msgpack-shorten.ts";
import { PENDING } from "../../kit/steps.ts";
import type { ProducerEvent, ReadEvent } from "../../kit/endpoint.ts";

/** A message with its entries not decoded yet. */
export type ForwardMessage = {
  readonly tag: string;
  /** Consecutive entries, each a list of a time and a record. */
  readonly entries: Buffer;
  /** Compression of `entries`; "" if there is none. */
  readonly compressed: string;
  /** Id that the client expects in the acknowledgement, once the entries are stored. */
  readonly chunk: string | null;
  /** Number of messages with the same chunk that were acknowledged on its connection before. */
  readonly earlier: number;
  /** Whether the entries are events. Fluent Bit also forwards metrics, traces and profiles. */
  readonly isLogs: boolean;
};

/** Size limits of a tag, which each event of a message repeats, and of the options. */
const LONGEST_TAG = 4 * 1024;
const LONGEST_OPTION = 64 * 1024;

/**
 * Decodes the envelope of a message in any of the four modes of the protocol.
 * @throws LoggiaError `bad_body`
 */
export function* readMessage(bytes: Buffer): Steps<ForwardMessage> {
  const head = headAt(bytes, 0);
  if (head?.kind !== "list" || head.values < 2 || head.values > 4)
    throw malformed("it is not an array of two to four values");
  const places: number[] = [head.size_bytes];
  for (let i = 0; i < head.values; i++) {
    const { end } = yield* endOfValue(bytes, places[i]!, bytes.length);
    if (end === -1) throw malformed("it is incomplete");
    places.push(end);
  }
  const [start = 0, second = 0, third = 0, fourth = 0] = places;
  if (second - start > LONGEST_TAG) throw malformed(`its tag has more than ${LONGEST_TAG} bytes`);
  const tag = decodeValue(bytes.subarray(start, second));
  if (typeof tag !== "string" && !(tag instanceof Uint8Array)) throw malformed("its tag is not a string");
  const body = headAt(bytes, second)!;
  const isSingle = body.kind === "other";
  if (isSingle && head.values < 3) throw malformed("it has a time but no record");
  if (body.kind === "map") throw malformed("its entries are a map");
  const optionAt = isSingle ? fourth : third;
  const hasOption = head.values > (isSingle ? 3 : 2);
  if (hasOption && bytes.length - optionAt > LONGEST_OPTION) throw malformed("its options are too long");
  const option = hasOption ? decodeValue(bytes.subarray(optionAt)) : null;
  const {
    chunk,
    compressed,
    fluent_signal: signal,
  } = (typeof option === "object" && option !== null ? option : {}) as Record<string, unknown>;
  return {
    tag: textOfBytes(tag),
    entries: isSingle
      ? Buffer.concat([PAIR, bytes.subarray(second, fourth)])
      : bytes.subarray(second + body.head_bytes, third),
    compressed: compressed === undefined || compressed === null || compressed === "text" ? "" : textOfBytes(compressed),
    chunk: chunk === undefined || chunk === null ? null : textOfBytes(chunk),
    earlier: 0,
    isLogs: signal === undefined || signal === null || Number(signal) === 0,
  };
}

/** Head of a list of two values. */
const PAIR = Buffer.from([0x92]);

/**
 * Yields the events of a message. The bytes of a malformed entry become the text of an event.
 * @param entries decompressed entries
 * @param onFault called for each malformed entry
 */
export function* forwardEvents(
  message: ForwardMessage,
  entries: Buffer,
  limits: FieldLimits,
  onFault: () => void,
): Generator<ReadEvent> {
  const { tag } = message;
  const attributes = new Map([["tag", tag]]);
  const decoder = new FluentEntries({ choice: USUAL, sent_bytes: message.entries.length, limits }, attributes);
  let n = 0;
  for (let at = 0; at < entries.length; n++) {
    const { end, values } = yield* endOf(entries, at);
    const bytes = entries.subarray(at, end);
    at = end;
    const short = yield* shortEntry(bytes, values);
    const read = short === null ? null : readEntry(short.bytes, decoder);
    if (read === "group") {
      yield PENDING;
      continue;
    }
    if (read === null) onFault();
    const event = read ?? eventOfBytes(bytes, attributes, tag);
    if ("fault" in event) yield event;
    else {
      const named = event.source === "" || event.sourceKind === "logger" ? { ...event, source: tag } : event;
      yield tagIfCut(short?.isCut === true, { ...named, id: idOf(message, String(n)) });
    }
  }
}

/** Returns the id by which a repeated entry is recognized; none without an acknowledgement. */
function idOf({ tag, chunk, earlier }: ForwardMessage, entry: string): string | undefined {
  if (chunk === null) return undefined;
  const id = entry === "" ? `${tag}\n${chunk}` : `${tag}\n${chunk}\n${entry}`;
  return earlier === 0 ? id : `${id}\n${earlier} earlier`;
}

/** Returns an entry that is short enough to be decoded; null if it is malformed. */
function* shortEntry(bytes: Buffer, values: number): Steps<ShortValue | null> {
  try {
    return yield* shortValue(bytes, values);
  } catch (error) {
    if (error instanceof LoggiaError) return null;
    throw error;
  }
}

function readEntry(bytes: Buffer, decoder: FluentEntries): ReturnType<FluentEntries["eventOf"]> {
  try {
    return decoder.eventOf(decodeValue(bytes));
  } catch (error) {
    if (error instanceof LoggiaError) return null;
    throw error;
  }
}

/** Returns the event that replaces the entries of a message that cannot be decompressed. */
export function malformedEvent(message: ForwardMessage): ProducerEvent {
  const { tag, compressed, entries } = message;
  const text = `Entries of ${entries.length} bytes cannot be decompressed (${compressed})`;
  const event = { ...eventOfBytes(Buffer.from(text), new Map([["tag", tag]]), tag), severity: "error" } as const;
  return { ...event, id: idOf(message, "") };
}

/** Returns the end of an entry. A malformed entry extends to the end of all entries. */
function* endOf(entries: Buffer, at: number): Steps<{ end: number; values: number }> {
  try {
    const found = yield* endOfValue(entries, at, entries.length);
    return found.end === -1 ? { ...found, end: entries.length } : found;
  } catch (error) {
    if (error instanceof LoggiaError) return { end: entries.length, values: 0 };
    throw error;
  }
}

function eventOfBytes(bytes: Buffer, attributes: ReadonlyMap<string, string>, tag: string): ProducerEvent {
  return eventOfText(lineBeginning(bytes).text, { source: tag, attributes });
}

function malformed(why: string): LoggiaError {
  return new LoggiaError("bad_body", `A Fluent forward message is malformed: ${why}`);
}
