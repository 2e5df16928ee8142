import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { eventOfAttributes } from "../document.ts";
import { add, compactJson, flattenInto, put } from "../flatten.ts";
import type { MutableAttributes } from "../flatten.ts";
import { isObject, objectIn, valueIn, withoutMark } from "../json.ts";
import { tagIfCut } from "../line.ts";
import { beginOf, isBlank, linesOf } from "../lines.ts";
import { runOfValues, WHOLE_BYTES } from "../long-json.ts";
import { PENDING } from "../protocol.ts";
import type { ReadEvent } from "../protocol.ts";
import { severityOf } from "../severity.ts";

type Query = URLSearchParams;
type Log = Readonly<Record<string, unknown>>;

/**
 * Decodes a list of objects, one object, or objects one behind another. Clients probe the endpoint
 * with an object without members, which is not an event.
 * @throws LoggiaError `bad_body`
 */
export function* decodeLogs(given: Buffer, query: Query, choice: FieldChoice): Generator<ReadEvent> {
  const body = withoutMark(given);
  const posted = body.length > WHOLE_BYTES ? null : valueIn(body.toString("utf8"));
  if (Array.isArray(posted) || isObject(posted)) {
    for (const one of Array.isArray(posted) ? (posted as unknown[]) : [posted]) yield* logOf(one, query, choice);
    return;
  }
  if (!/^\s*[[{]/.test(body.toString("latin1", 0, BEGIN_BYTES))) throw noLogs();
  for (const read of runOfValues(body)) {
    if ("fault" in read) yield read;
    else for (const event of logOf(read.value, query, choice)) yield tagIfCut(read.isCut, event);
  }
}

/** Decodes a body of plain text, one log per line. Browsers label JSON lines as text. */
export function* decodeText(body: Buffer, query: Query, choice: FieldChoice): Generator<ReadEvent> {
  const begin = body.toString("latin1", 0, BEGIN_BYTES);
  const posted =
    body.length > WHOLE_BYTES || !/^\s*[[{]/.test(begin) ? null : valueIn(withoutMark(body).toString("utf8"));
  if (posted !== null || LIST.test(begin)) return yield* decodeLogs(body, query, choice);
  for (const line of linesOf(withoutMark(body))) {
    if (isBlank(line)) {
      yield PENDING;
      continue;
    }
    const isCut = typeof line !== "string";
    const log = isCut ? null : documentOf(line);
    if (log !== null) yield* logOf(log, query, choice);
    else yield tagIfCut(isCut, eventOf({ message: isCut ? beginOf(line) : line }, query, choice));
  }
}

/** Matches the beginning of a list of objects. */
const LIST = /^\s*\[\s*\{/;
/** Bytes searched for the beginning of the list. Clients do not send more white space before it. */
const BEGIN_BYTES = 256;

function noLogs(): LoggiaError {
  return new LoggiaError("bad_body", "The body must be an object or an array of objects");
}

function* logOf(one: unknown, query: Query, choice: FieldChoice): Generator<ReadEvent> {
  if (!isObject(one)) yield { fault: "a log entry is not an object" };
  else if (Object.keys(one).length > 0) yield eventOf(one, query, choice);
}

/** Members that may be given in the query string instead. */
const COMMON = ["ddsource", "ddtags", "hostname", "service"] as const;
/** Prefix of a member that has the name of a field of the message. */
const PREFIX = "dd.";

/** Creates the event of a log. Fields of a message in JSON are recognized by name. */
function eventOf({ ddtags, ...log }: Log, query: Query, choice: FieldChoice): ReadEvent {
  const attributes: MutableAttributes = new Map();
  for (const name of COMMON) {
    const value = query.get(name);
    if (name !== "ddtags" && value !== null && log[name] === undefined) attributes.set(name, value);
  }
  const document = documentOf(log["message"]);
  flattenInto(attributes, document === null ? log : { ...log, message: null });
  const tags = readTags(ddtags ?? query.get("ddtags"), attributes);
  const severity = severityOf(log["status"] ?? log["level"]);
  if (document === null) return eventOfAttributes(attributes, choice, { tags, severity });
  const fields: MutableAttributes = new Map();
  flattenInto(fields, document);
  for (const [name, value] of attributes) put(fields, fields.has(name) ? PREFIX + name : name, value);
  const event = eventOfAttributes(fields, choice, { tags });
  const { message } = log;
  const text = event.text !== "" ? event.text : typeof message === "string" ? message : compactJson(message);
  return { ...event, text, severity: event.severity ?? severity };
}

/** Returns the object that a message is, or that its text is in JSON; null for other messages. */
function documentOf(message: unknown): object | null {
  if (isObject(message)) return Object.keys(message).length > 0 ? message : null;
  if (typeof message !== "string" || message.length > WHOLE_BYTES) return null;
  return objectIn(message.replace(JSON_BLANKS, ""));
}

/** Matches the blanks before a value in JSON, which are fewer than those of other texts. */
const JSON_BLANKS = /^[ \t\r\n]+/;

/** Reads tags. Tags with a value, such as `env:prod`, become attributes. */
function readTags(given: unknown, attributes: MutableAttributes): readonly string[] {
  const list = Array.isArray(given) ? given : typeof given === "string" ? given.split(",") : [];
  const tags: string[] = [];
  for (const one of list.filter((tag): tag is string => typeof tag === "string")) {
    const colon = one.indexOf(":");
    if (colon > 0) add(attributes, one.slice(0, colon).trim(), one.slice(colon + 1));
    else if (one.trim() !== "") tags.push(one.trim());
  }
  return tags;
}
