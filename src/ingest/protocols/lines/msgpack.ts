import { LoggiaError } from "../../../errors.ts";
import { FluentEntries } from "../../kit/fluent-entry.ts";
import { isObject } from "../../kit/json.ts";
import { decodeValue } from "../../kit/msgpack.ts";
import type { Steps, Pending } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { endOfValue, headAt } from "../../kit/msgpack-scan.ts";
import type { Head } from "../../kit/msgpack-scan.ts";
import { shortValue } from "../../kit/msgpack-shorten.ts";
import type { ShortValue } from "../../kit/msgpack-shorten.ts";
import { BODY_MAX_BYTES } from "../../kit/endpoint.ts";
import { isPending, PENDING } from "../../kit/steps.ts";
import type { ReadEvent, Received } from "../../kit/endpoint.ts";

/**
 * Decodes consecutive MessagePack values: records, entries of a time and a record as Fluent Bit
 * sends them, or lists of either.
 * @throws LoggiaError `bad_body` if a value is anything else, or there is no event
 */
export function* decodeMessagePack(received: Received): Generator<ReadEvent> {
  const entries = new FluentEntries(received);
  let count = 0;
  for (const read of valuesOf(received.body)) {
    if (isPending(read)) {
      yield read;
      continue;
    }
    const value = decodeValue(read.bytes);
    const isRecord = isObject(value) && !(value instanceof Uint8Array);
    const event = isRecord ? entries.eventOfRecord(value) : entries.eventOf(value);
    if (event === "group") {
      yield PENDING;
      continue;
    }
    if (event === null) throw new LoggiaError("bad_body", `Value ${count} is neither a record nor a time and a record`);
    count += 1;
    yield tagIfCut(read.isCut, event);
  }
  if (count === 0) throw new LoggiaError("bad_body", "The body must have at least one MessagePack record");
}

/** Yields each value, and each value of a list that is not an entry. */
function* valuesOf(body: Buffer): Generator<ShortValue | Pending> {
  for (let at = 0; at < body.length;) {
    const head = headOf(body, at);
    let left = 1;
    if (head.kind === "list" && !(yield* isEntry(body, at, head))) {
      at += head.size_bytes;
      left = head.values;
    }
    for (; left > 0; left--) {
      const { end, values } = yield* endOf(body, at);
      yield yield* shortValue(body.subarray(at, end), values);
      at = end;
    }
  }
}

/** Returns whether a list is a time, alone or with metadata, and a record. */
function* isEntry(body: Buffer, at: number, { values, size_bytes }: Head): Steps<boolean> {
  const first = at + size_bytes;
  if (values !== 2 || first >= body.length || headOf(body, first).kind === "map") return false;
  const { end: second } = yield* endOf(body, first);
  return second < body.length && headOf(body, second).kind === "map";
}

function headOf(body: Buffer, at: number): Head {
  const head = headAt(body, at);
  if (head === null) throw incomplete();
  return head;
}

function* endOf(body: Buffer, at: number): Steps<{ end: number; values: number }> {
  const found = yield* endOfValue(body, at, BODY_MAX_BYTES);
  if (found.end === -1) throw incomplete();
  return found;
}

function incomplete(): LoggiaError {
  return new LoggiaError("bad_body", "The body ends within a MessagePack value");
}
