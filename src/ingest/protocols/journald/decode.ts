import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { eventOfAttributes } from "../document.ts";
import { add } from "../flatten.ts";
import type { MutableAttributes } from "../flatten.ts";
import type { ProducerEvent } from "../protocol.ts";
import { severityOf } from "../severity.ts";
import { timeOf } from "../times.ts";

const LINE_END = 10;
const EQUALS = 61;
const LENGTH_BYTES = 8;
const NAME_MAX_BYTES = 256;
/** Size limits of a field and an entry, in bytes. journald's own limit of 768 MB is far larger. */
const FIELD_MAX_BYTES = 16 * 1024 * 1024;
export const ENTRY_MAX_BYTES = 32 * 1024 * 1024;

/** Address fields, which locate and identify an entry. They do not become attributes. */
const ADDRESS_FIELDS: ReadonlySet<string> = new Set([
  "__CURSOR",
  "__REALTIME_TIMESTAMP",
  "__MONOTONIC_TIMESTAMP",
  "__SEQNUM",
  "__SEQNUM_ID",
]);
/** Fields that name the source of an entry, most specific first. */
const SOURCES = ["SYSLOG_IDENTIFIER", "_SYSTEMD_UNIT", "_COMM", "_HOSTNAME"] as const;

/** One field: its name and the range of its value. "end" is the blank line after an entry. */
type Field = { readonly name: string; readonly from: number; readonly to: number; readonly next: number };

/**
 * Decodes the entries of a body in journald's export format.
 * https://systemd.io/JOURNAL_EXPORT_FORMATS/
 * @throws LoggiaError `bad_body` if the format is invalid, or the body ends within an entry
 */
export function* decodeJournal(body: Buffer, choice: FieldChoice): Generator<ProducerEvent> {
  let fields: Field[] = [];
  for (let at = 0; at < body.length;) {
    const field = fieldAt(body, at);
    if (field === null) throw bad("it ends within a field");
    at = field === "end" ? at + 1 : field.next;
    if (field !== "end") fields.push(field);
    if ((field === "end" || at === body.length) && fields.length > 0) {
      yield eventOf(body, fields, choice);
      fields = [];
    }
  }
}

/**
 * Returns count and end of the whole entries at the beginning, at most `most`. Bodies are split at
 * these positions, which are the same when a body is sent again.
 */
export function wholeEntries(bytes: Buffer, most: number): { readonly count: number; readonly end: number } {
  let count = 0;
  let end = 0;
  let hasFields = false;
  for (let at = 0; at < bytes.length && count < most;) {
    const field = fieldAt(bytes, at);
    if (field === null) break;
    at = field === "end" ? at + 1 : field.next;
    if (field !== "end") hasFields = true;
    else {
      if (hasFields) count += 1;
      hasFields = false;
      end = at;
    }
  }
  return { count, end };
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

function eventOf(body: Buffer, fields: readonly Field[], choice: FieldChoice): ProducerEvent {
  const attributes: MutableAttributes = new Map();
  const addressFields = new Map<string, string>();
  let message: string | undefined;
  for (const { name, from, to } of fields) {
    const value = body.toString("utf8", from, to);
    if (ADDRESS_FIELDS.has(name)) addressFields.set(name, value);
    else if (name === "MESSAGE" && message === undefined && choice.text.length === 0) message = value;
    else add(attributes, name, value);
  }
  const one = (name: string): string => {
    const value = attributes.get(name);
    return typeof value === "string" ? value : "";
  };
  const source = SOURCES.map(one).find((text) => text !== "");
  const context = {
    severity: severityOf(one("PRIORITY")),
    time: timeOf(addressFields.get("__REALTIME_TIMESTAMP")),
    ...(source !== undefined && { source }),
    ...(message !== undefined && { text: message }),
  };
  return { ...eventOfAttributes(attributes, choice, context), id: addressFields.get("__CURSOR") };
}
