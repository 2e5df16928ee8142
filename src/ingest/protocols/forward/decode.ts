import { LoggiaError } from "../../../errors.ts";
import { USUAL } from "../choice.ts";
import { eventOfText } from "../document.ts";
import { FluentEntries } from "../fluent-entry.ts";
import { decodeValue, textOfBytes } from "../msgpack.ts";
import { headAt, Scan } from "../msgpack-scan.ts";
import type { ProducerEvent } from "../protocol.ts";

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

const KEPT_BYTES = 64 * 1024;

/**
 * Decodes the envelope of a message in any of the four modes of the protocol.
 * @throws LoggiaError `bad_body`
 */
export function readMessage(bytes: Buffer): ForwardMessage {
  const head = headAt(bytes, 0);
  if (head?.kind !== "list" || head.values < 2 || head.values > 4)
    throw malformed("it is not an array of two to four values");
  const places: number[] = [head.size_bytes];
  for (let i = 0; i < head.values; i++) {
    const end = new Scan(bytes.length, places[i]).end(bytes);
    if (end === -1) throw malformed("it is incomplete");
    places.push(end);
  }
  const [start = 0, second = 0, third = 0, fourth = 0] = places;
  const tag = decodeValue(bytes.subarray(start, second));
  if (typeof tag !== "string" && !(tag instanceof Uint8Array)) throw malformed("its tag is not a string");
  const body = headAt(bytes, second)!;
  const isSingle = body.kind === "other";
  if (isSingle && head.values < 3) throw malformed("it has a time but no record");
  if (body.kind === "map") throw malformed("its entries are a map");
  const optionAt = isSingle ? fourth : third;
  const hasOption = head.values > (isSingle ? 3 : 2);
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
export function* eventsOf(message: ForwardMessage, entries: Buffer, onFault: () => void): Generator<ProducerEvent> {
  const { tag } = message;
  const attributes = new Map([["tag", tag]]);
  const decoder = new FluentEntries(USUAL, attributes);
  let n = 0;
  for (let at = 0; at < entries.length; n++) {
    const end = endOf(entries, at);
    const bytes = entries.subarray(at, end);
    at = end;
    const read = readEntry(bytes, decoder);
    if (read === "group") continue;
    if (read === null) onFault();
    const event = read ?? eventOfBytes(bytes, attributes, tag);
    const named = event.source === "" ? { ...event, source: tag } : event;
    yield { ...named, id: idOf(message, String(n)) };
  }
}

/** Returns the id by which a repeated entry is recognized; none without an acknowledgement. */
function idOf({ tag, chunk, earlier }: ForwardMessage, entry: string): string | undefined {
  if (chunk === null) return undefined;
  const id = entry === "" ? `${tag}\n${chunk}` : `${tag}\n${chunk}\n${entry}`;
  return earlier === 0 ? id : `${id}\n${earlier} earlier`;
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
function endOf(entries: Buffer, at: number): number {
  try {
    const end = new Scan(entries.length, at).end(entries);
    return end === -1 ? entries.length : end;
  } catch {
    return entries.length;
  }
}

function eventOfBytes(bytes: Buffer, attributes: ReadonlyMap<string, string>, tag: string): ProducerEvent {
  return eventOfText(bytes.toString("utf8", 0, KEPT_BYTES), { source: tag, attributes });
}

function malformed(why: string): LoggiaError {
  return new LoggiaError("bad_body", `A Fluent forward message is malformed: ${why}`);
}
