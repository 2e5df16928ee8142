import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { eventOfAttributes } from "../document.ts";
import { add, flattenInto } from "../flatten.ts";
import type { MutableAttributes } from "../flatten.ts";
import { isObject, parseBody, withoutMark } from "../json.ts";
import { tagIfCut } from "../line.ts";
import { elementsOf, WHOLE_BYTES } from "../long-json.ts";
import type { ReadEvent } from "../protocol.ts";
import { severityOf } from "../severity.ts";

/**
 * Decodes a list of objects, or one object. Clients probe the endpoint with an object without
 * members, which is not an event.
 * @throws LoggiaError `bad_body`
 */
export function* decodeLogs(body: Buffer, query: URLSearchParams, choice: FieldChoice): Generator<ReadEvent> {
  if (body.length > WHOLE_BYTES) return yield* decodeLong(withoutMark(body), query, choice);
  const posted = parseBody(body);
  if (!Array.isArray(posted) && !isObject(posted)) throw noLogs();
  for (const one of Array.isArray(posted) ? (posted as unknown[]) : [posted]) yield* logOf(one, query, choice);
}

/** Decodes a long body, one log at a time. */
function* decodeLong(body: Buffer, query: URLSearchParams, choice: FieldChoice): Generator<ReadEvent> {
  if (!/^\s*[[{]/.test(body.toString("latin1", 0, BEGIN_BYTES))) throw noLogs();
  for (const read of elementsOf(body)) {
    if ("fault" in read) yield read;
    else for (const event of logOf(read.value, query, choice)) yield tagIfCut(read.isCut, event);
  }
}

/** Bytes searched for the beginning of the list. Clients do not send more white space before it. */
const BEGIN_BYTES = 256;

function noLogs(): LoggiaError {
  return new LoggiaError("bad_body", "The body must be an object or an array of objects");
}

function* logOf(one: unknown, query: URLSearchParams, choice: FieldChoice): Generator<ReadEvent> {
  if (!isObject(one)) yield { fault: "a log entry is not an object" };
  else if (Object.keys(one).length > 0) yield eventOf(one, query, choice);
}

/** Members that may be given in the query string instead. */
const COMMON = ["ddsource", "ddtags", "hostname", "service"] as const;

function eventOf(
  { ddtags, ...log }: Readonly<Record<string, unknown>>,
  query: URLSearchParams,
  choice: FieldChoice,
): ReadEvent {
  const attributes: MutableAttributes = new Map();
  flattenInto(attributes, log);
  for (const name of COMMON) {
    const value = query.get(name);
    if (name !== "ddtags" && value !== null && !attributes.has(name)) attributes.set(name, value);
  }
  const tags = readTags(ddtags ?? query.get("ddtags"), attributes);
  const severity = severityOf(log["status"] ?? log["level"]);
  return eventOfAttributes(attributes, choice, { tags, severity });
}

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
