import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { FluentEntries } from "../fluent-entry.ts";
import { isObject } from "../json.ts";
import { decodeValue } from "../msgpack.ts";
import { headAt, Scan } from "../msgpack-scan.ts";
import type { Head } from "../msgpack-scan.ts";
import { BODY_MAX_BYTES, PENDING } from "../protocol.ts";
import type { ReadEvent } from "../protocol.ts";

/**
 * Decodes consecutive MessagePack values: records, entries of a time and a record as Fluent Bit
 * sends them, or lists of either.
 * @throws LoggiaError `bad_body` if a value is anything else, or there is no event
 */
export function* decodeMessagePack(body: Buffer, choice: FieldChoice): Generator<ReadEvent> {
  const entries = new FluentEntries(choice);
  let count = 0;
  for (const bytes of valuesOf(body)) {
    const value = decodeValue(bytes);
    const event =
      isObject(value) && !(value instanceof Uint8Array) ? entries.eventOfRecord(value) : entries.eventOf(value);
    if (event === "group") {
      yield PENDING;
      continue;
    }
    if (event === null) throw new LoggiaError("bad_body", `Value ${count} is neither a record nor a time and a record`);
    count += 1;
    yield event;
  }
  if (count === 0) throw new LoggiaError("bad_body", "The body must have at least one MessagePack record");
}

/** Yields the bytes of each value, and of each value of a list that is not an entry. */
function* valuesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length;) {
    const head = headOf(body, at);
    if (head.kind === "list" && !isEntry(body, at, head)) {
      at += head.size_bytes;
      for (let left = head.values; left > 0; left--) {
        const end = endOf(body, at);
        yield body.subarray(at, end);
        at = end;
      }
      continue;
    }
    const end = endOf(body, at);
    yield body.subarray(at, end);
    at = end;
  }
}

/** Returns whether a list is a time, alone or with metadata, and a record. */
function isEntry(body: Buffer, at: number, { values, size_bytes }: Head): boolean {
  const first = at + size_bytes;
  if (values !== 2 || first >= body.length || headOf(body, first).kind === "map") return false;
  const second = endOf(body, first);
  return second < body.length && headOf(body, second).kind === "map";
}

function headOf(body: Buffer, at: number): Head {
  const head = headAt(body, at);
  if (head === null) throw incomplete();
  return head;
}

function endOf(body: Buffer, at: number): number {
  const end = new Scan(BODY_MAX_BYTES, at).end(body);
  if (end === -1) throw incomplete();
  return end;
}

function incomplete(): LoggiaError {
  return new LoggiaError("bad_body", "The body ends within a MessagePack value");
}
