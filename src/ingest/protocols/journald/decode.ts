import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../../kit/choice.ts";
import { eventOfAttributes } from "../../kit/document.ts";
import { add } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { messageText } from "../../kit/message-text.ts";
import type { Steps } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { KEPT_BYTES } from "../../kit/long-json.ts";
import { PENDING } from "../../kit/steps.ts";
import type { ReadEvent } from "../../kit/endpoint.ts";
import { readGivenTime } from "../../kit/times.ts";

const LINE_END = 10;
const EQUALS = 61;
const LENGTH_BYTES = 8;
const NAME_MAX_BYTES = 256;
/** Size limits of a field and an entry, in bytes. journald's own limit of 768 MB is far larger. */
const FIELD_MAX_BYTES = 16 * 1024 * 1024;
export const ENTRY_MAX_BYTES = 32 * 1024 * 1024;

/** Fields read between two pauses. */
const PAUSE_FIELDS = 2_048;

/** Address fields, which locate and identify an entry. They do not become attributes. */
const REALTIME = "__REALTIME_TIMESTAMP";
const ADDRESS_FIELDS: ReadonlySet<string> = new Set([
  "__CURSOR",
  REALTIME,
  "__MONOTONIC_TIMESTAMP",
  "__SEQNUM",
  "__SEQNUM_ID",
]);

/** One field: its name and the range of its value. "end" is the blank line after an entry. */
type Field = { readonly name: string; readonly from: number; readonly to: number; readonly next: number };

/**
 * Decodes the entries of a body in journald's export format.
 * https://systemd.io/JOURNAL_EXPORT_FORMATS/
 * @throws LoggiaError `bad_body` if the format is invalid, or the body ends within an entry
 */
export function* decodeJournal(body: Buffer, choice: FieldChoice): Generator<ReadEvent> {
  let entry = new Entry(body, choice);
  let read = 0;
  for (let at = 0; at < body.length;) {
    const field = fieldAt(body, at);
    if (field === null) throw bad("it ends within a field");
    at = field === "end" ? at + 1 : field.next;
    if (field !== "end") entry.add(field);
    if (++read % PAUSE_FIELDS === 0) yield PENDING;
    if ((field === "end" || at === body.length) && !entry.isEmpty) {
      yield entry.event();
      entry = new Entry(body, choice);
    }
  }
}

/**
 * Finds the whole entries at the beginning of bytes that arrive in pieces. Bodies are split at
 * these positions, which are the same when a body is sent again. It examines each field once.
 */
export class EntrySplitter {
  #at = 0;
  #end = 0;
  #count = 0;
  #hasFields = false;

  /**
   * Returns count and end of the whole entries found, at most `most`. Count starts anew after
   * `most`, or after {@link restart}.
   * @param bytes all bytes since the last end
   */
  *split(bytes: Buffer, most: number): Steps<{ readonly count: number; readonly end: number }> {
    for (let read = 1; this.#at < bytes.length && this.#count < most; read++) {
      if (read % PAUSE_FIELDS === 0) yield PENDING;
      const field = fieldAt(bytes, this.#at);
      if (field === null) break;
      this.#at = field === "end" ? this.#at + 1 : field.next;
      if (field !== "end") this.#hasFields = true;
      else {
        if (this.#hasFields) this.#count += 1;
        this.#hasFields = false;
        this.#end = this.#at;
      }
    }
    return { count: this.#count, end: this.#end };
  }

  /** Continues with the bytes after the last end. */
  restart(): void {
    this.#at -= this.#end;
    this.#end = 0;
    this.#count = 0;
  }
}

/** Parses the field at a position; null if it is incomplete. @throws LoggiaError `bad_body` */
function fieldAt(bytes: Buffer, at: number): Field | "end" | null {
  if (bytes[at] === LINE_END) return "end";
  const lineEnd = bytes.indexOf(LINE_END, at);
  const equals = bytes.subarray(at, Math.min(at + NAME_MAX_BYTES, bytes.length)).indexOf(EQUALS);
  if (lineEnd === -1 && bytes.length - at > FIELD_MAX_BYTES)
    throw bad(`a field has more than ${FIELD_MAX_BYTES} bytes`);
  if (lineEnd === -1) return null;
  if (equals !== -1 && at + equals < lineEnd) {
    return { name: nameAt(bytes, at, at + equals), from: at + equals + 1, to: lineEnd, next: lineEnd + 1 };
  }
  const name = nameAt(bytes, at, lineEnd);
  const from = lineEnd + 1 + LENGTH_BYTES;
  if (from > bytes.length) return null;
  const length = bytes.readBigUInt64LE(lineEnd + 1);
  if (length > FIELD_MAX_BYTES)
    throw bad(`the field ${name} has ${length} bytes, at most ${FIELD_MAX_BYTES} are allowed`);
  const to = from + Number(length);
  if (to >= bytes.length) return null;
  if (bytes[to] !== LINE_END) throw bad(`the field ${name} does not end after its announced ${length} bytes`);
  return { name, from, to, next: to + 1 };
}

function nameAt(bytes: Buffer, from: number, to: number): string {
  const name = bytes.toString("latin1", from, Math.min(to, from + NAME_MAX_BYTES));
  if (to - from >= NAME_MAX_BYTES || !/^\w+$/.test(name))
    throw bad("the name of a field is invalid, a name such as MESSAGE is expected");
  return name;
}

function bad(why: string): LoggiaError {
  return new LoggiaError("bad_body", `The body is not in journald's export format: ${why}`);
}

/** Collects the fields of an entry, as many as an event keeps. */
class Entry {
  readonly #body: Buffer;
  readonly #choice: FieldChoice;
  readonly #attributes: MutableAttributes = new Map();
  readonly #addressFields = new Map<string, string>();
  #message: string | undefined;
  #kept_bytes = 0;
  #isCut = false;
  isEmpty = true;

  constructor(body: Buffer, choice: FieldChoice) {
    this.#body = body;
    this.#choice = choice;
  }

  add({ name, from, to }: Field): void {
    this.isEmpty = false;
    const room = Math.min(to - from, KEPT_BYTES - this.#kept_bytes);
    if (room < to - from) this.#isCut = true;
    if (room <= 0 && to > from) return;
    this.#kept_bytes += room;
    const value = messageText(this.#body.subarray(from, from + room), room < to - from);
    if (ADDRESS_FIELDS.has(name)) this.#addressFields.set(name, value);
    else if (name === "MESSAGE" && this.#message === undefined && this.#choice.text.length === 0) this.#message = value;
    else add(this.#attributes, name, value);
  }

  event(): ReadEvent {
    const attributes = this.#attributes;
    const context = {
      ...readGivenTime(attributes, REALTIME, this.#addressFields.get(REALTIME)),
      ...(this.#message !== undefined && { text: this.#message }),
    };
    const event = eventOfAttributes(attributes, this.#choice, context);
    return tagIfCut(this.#isCut, { ...event, id: this.#addressFields.get("__CURSOR") });
  }
}
