import { LoggiaError } from "../../../errors.ts";
import { SharedParts } from "../../kit/amplification.ts";
import type { SharedPart } from "../../kit/amplification.ts";
import type { FieldChoice } from "../../kit/choice.ts";
import { eventOfAttributes } from "../../kit/document.ts";
import { add, compactJson, flattenInto, put } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { AT_ONCE_BYTES, isObject, objectIn, valueIn, withoutMark } from "../../kit/json.ts";
import { messageText } from "../../kit/message-text.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { lineBeginning, readFilledLines } from "../../kit/text-lines.ts";
import { KEPT_BYTES, runOfValues } from "../../kit/long-json.ts";
import { isPending, PENDING } from "../../kit/steps.ts";
import type { ReadEvent, Received } from "../../kit/endpoint.ts";
import { parseSeverity, severityOfSyslog } from "../../kit/severity.ts";

type Log = Readonly<Record<string, unknown>>;

/**
 * Decodes a list of objects, one object, or objects one behind another. Clients probe the endpoint
 * with an object without members, which is not an event.
 * @throws LoggiaError `bad_body`
 */
export function decodeLogs(received: Received): Generator<ReadEvent> {
  return new LogDecoder(received).logs(withoutMark(received.body));
}

/** Decodes a body of plain text, one log per line. Browsers label JSON lines as text. */
export function decodeText(received: Received): Generator<ReadEvent> {
  return new LogDecoder(received).text(withoutMark(received.body));
}

/** Matches the beginning of a list of objects. */
const LIST = /^\s*\[\s*\{/;
/** Bytes searched for the beginning of the list. Clients do not send more white space before it. */
const BEGIN_BYTES = 256;

function noLogs(): LoggiaError {
  return new LoggiaError("bad_body", "The body must be an object or an array of objects");
}

/** Members that may be given in the query string instead. */
const COMMON = ["ddsource", "hostname", "service"] as const;
/** Prefix of a member that has the name of a field of the message. */
const PREFIX = "dd.";

class LogDecoder {
  readonly #choice: FieldChoice;
  readonly #shared: SharedParts;
  /** Members of the query string, and its tags. */
  readonly #common: SharedPart;
  readonly #tags: SharedPart;

  constructor(received: Received) {
    const { query } = received;
    this.#choice = received.choice;
    this.#shared = new SharedParts(received);
    const common: MutableAttributes = new Map();
    for (const name of COMMON) {
      const value = query.get(name);
      if (value !== null) common.set(name, value);
    }
    this.#common = this.#shared.part(common);
    const ofTags: MutableAttributes = new Map();
    const tags = readTags(query.get("ddtags"), ofTags);
    this.#tags = this.#shared.part(ofTags, tags);
  }

  *logs(body: Buffer): Generator<ReadEvent> {
    const posted = body.length > AT_ONCE_BYTES ? null : valueIn(messageText(body));
    if (Array.isArray(posted) || isObject(posted)) {
      for (const one of Array.isArray(posted) ? (posted as unknown[]) : [posted]) yield* this.#log(one);
      return;
    }
    if (!/^\s*[[{]/.test(body.toString("latin1", 0, BEGIN_BYTES))) throw noLogs();
    for (const read of runOfValues(body)) {
      if ("fault" in read) yield read;
      else for (const event of this.#log(read.value)) yield tagIfCut(read.isCut, event);
    }
  }

  *text(body: Buffer): Generator<ReadEvent> {
    const begin = body.toString("latin1", 0, BEGIN_BYTES);
    const posted = body.length > AT_ONCE_BYTES || !/^\s*[[{]/.test(begin) ? null : valueIn(messageText(body));
    if (posted !== null || LIST.test(begin)) return yield* this.logs(body);
    for (const line of readFilledLines(body)) {
      if (isPending(line)) {
        yield line;
        continue;
      }
      const { text, isCut } = typeof line === "string" ? { text: line, isCut: false } : lineBeginning(line);
      const log = isCut ? null : documentOf(text);
      if (log !== null) yield* this.#log(log);
      else yield tagIfCut(isCut, this.#event({ message: text }));
    }
  }

  *#log(one: unknown): Generator<ReadEvent> {
    if (!isObject(one)) yield { fault: "a log entry is not an object" };
    else yield Object.keys(one).length > 0 ? this.#event(one) : PENDING;
  }

  /** Creates the event of a log. Fields of a message in JSON are recognized by name. */
  #event({ ddtags, ...log }: Log): ReadEvent {
    const common = this.#shared.take(this.#common);
    const attributes: MutableAttributes = new Map();
    for (const [name, value] of common.attributes) if (log[name] === undefined) attributes.set(name, value);
    const document = documentOf(log["message"]);
    flattenInto(attributes, document === null ? log : { ...log, message: null });
    const shared = ddtags === undefined || ddtags === null ? this.#shared.take(this.#tags) : null;
    for (const [name, value] of shared?.attributes ?? []) add(attributes, name, value);
    const tags = shared?.tags ?? readTags(ddtags, attributes);
    const isCut = common.isCut || shared?.isCut === true;
    // Numbers of a status are those of syslog.
    const severity = severityOfSyslog(log["status"]) ?? parseSeverity(log["status"] ?? log["level"]);
    if (document === null) return tagIfCut(isCut, eventOfAttributes(attributes, this.#choice, { tags, severity }));
    const fields: MutableAttributes = new Map();
    flattenInto(fields, document);
    for (const [name, value] of attributes) put(fields, fields.has(name) ? PREFIX + name : name, value);
    const event = eventOfAttributes(fields, this.#choice, { tags });
    const { message } = log;
    const text = event.text !== "" ? event.text : typeof message === "string" ? message : compactJson(message);
    return tagIfCut(isCut, { ...event, text, severity: event.severity ?? severity });
  }
}

/** Returns the object that a message is, or that its text is in JSON; null for other messages. */
function documentOf(message: unknown): object | null {
  if (isObject(message)) return Object.keys(message).length > 0 ? message : null;
  if (typeof message !== "string" || message.length > KEPT_BYTES) return null;
  return objectIn(message.replace(JSON_BLANKS, ""));
}

/** Matches JSON white space at the beginning, a subset of `\s`. */
const JSON_BLANKS = /^[ \t\r\n]+/;

/** Limit of the tags that are read, in UTF-16 units: more than an event keeps. */
const MAX_TAGS_UNITS = 64 * 1024;

/** Reads tags. Tags with a value, such as `env:prod`, become attributes. */
function readTags(given: unknown, attributes: MutableAttributes): readonly string[] {
  const text = typeof given === "string" ? given.slice(0, MAX_TAGS_UNITS) : "";
  const list = Array.isArray(given) ? given : text.split(",");
  const tags: string[] = [];
  for (const one of list.filter((tag): tag is string => typeof tag === "string")) {
    const colon = one.indexOf(":");
    if (colon > 0) add(attributes, one.slice(0, colon).trim(), one.slice(colon + 1));
    else if (one.trim() !== "") tags.push(one.trim());
  }
  return tags;
}
