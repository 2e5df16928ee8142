import { isIP } from "node:net";

import type { AttributeValue } from "../../events/attributes.ts";
import type { Geo } from "../../events/event.ts";
import type { FieldChoice } from "./choice.ts";
import { NO_TAGS } from "../../events/tags.ts";
import { flattenInto } from "./flatten.ts";
import type { MutableAttributes } from "./flatten.ts";
import { objectIn } from "./json.ts";
import { isTemplateName, renderedTemplate } from "./message-template.ts";
import type { ProducerEvent } from "./endpoint.ts";
import { meaningOfName, producerNames, severityNamed } from "./producer-names.ts";
import type { ProducerField } from "./producer-names.ts";
import type { Severity } from "./severity.ts";
import type { ProducerTime, TimeReading } from "./time-forms.ts";
import { isTimeExpected, readProducerTime, timeOfMembers, USED_MEMBERS } from "./times.ts";
import type { GivenTime } from "./times.ts";

/** Fields of an event that a protocol knows from outside the document. */
export type EventContext = {
  readonly text?: string;
  readonly severity?: Severity | null;
  readonly source?: string;
  readonly time?: ProducerTime | null;
  readonly isTimeUnread?: boolean;
  readonly tags?: readonly string[];
  /** Attributes common to the events of a request, such as an index. */
  readonly attributes?: ReadonlyMap<string, AttributeValue | readonly AttributeValue[]>;
};

/**
 * Creates the event of a JSON document. Fields with usual or chosen names become fields of the
 * event. All fields except text, time and tags remain as attributes.
 */
export function eventOfDocument(document: object, choice: FieldChoice, context: EventContext = {}): ProducerEvent {
  const attributes: MutableAttributes = new Map(context.attributes);
  flattenInto(attributes, document);
  return eventOfAttributes(attributes, choice, context);
}

/** Like {@link eventOfDocument}, for flat attributes. Modifies them. */
export function eventOfAttributes(
  attributes: MutableAttributes,
  choice: FieldChoice,
  context: EventContext,
): ProducerEvent {
  const tags = takeTags(attributes);
  const found = findFields(attributes, choice.times);
  const severity =
    context.severity ?? (found.severity === undefined ? null : severityNamed(found.severity, attributes));
  const { time, isTimeUnread } = takeTime(attributes, found, choice, context);
  return {
    text:
      context.text ?? takeText(attributes, choice.text.length > 0 ? firstText(attributes, choice.text) : found.text),
    severity,
    ...sourceAmong(attributes, found, choice.source, context.source),
    user: nameOf(attributes, found.user),
    link: textOf(attributes, found.link),
    geo: geoAmong(attributes, found),
    tags: context.tags === undefined ? tags : [...context.tags, ...tags],
    time,
    ...(isTimeUnread && { isTimeUnread }),
    attributes,
  };
}

const NO_ATTRIBUTES: ProducerEvent["attributes"] = new Map();
const NOTHING: Partial<Pick<ProducerEvent, "source" | "tags" | "attributes">> = {};

/** Creates the event of a text, with only the given fields. */
export function eventOfText(
  text: string,
  { source = "", tags = NO_TAGS, attributes = NO_ATTRIBUTES } = NOTHING,
): ProducerEvent {
  return { text, severity: null, source, geo: null, tags, time: null, attributes };
}

/** Attribute name of each field: the most specific one present. */
type Found = { -readonly [F in ProducerField]?: string | undefined } & {
  /** Decoded value of the time attribute. */
  moment?: ProducerTime;
  /** Whether an attribute has the name of a time and a value that is none. */
  isTimeUnread?: boolean;
};

/** Finds the attributes that become fields of an event. */
export function findFields(attributes: MutableAttributes, times?: TimeReading): Found {
  const found: Found = {};
  const ranks: { [F in ProducerField]?: number } = {};
  for (const [name, value] of attributes) {
    const meaning = meaningOfName(name, attributes);
    if (meaning === undefined) continue;
    const { field, rank, object } = meaning;
    if (rank >= (ranks[field] ?? Infinity)) continue;
    if (field === "time") {
      const moment = object === undefined ? readProducerTime(value, times) : timeOfAttribute(attributes, object, times);
      if (moment === null) {
        found.isTimeUnread ||= isTimeExpected(value);
        continue;
      }
      found.moment = moment;
    } else if (!isLike(field, name, attributes)) continue;
    found[field] = object ?? name;
    ranks[field] = rank;
  }
  return found;
}

/** Returns whether the value of a name is valid for a field. */
function isLike(field: Exclude<ProducerField, "time">, name: string, attributes: MutableAttributes): boolean {
  const value = attributes.get(name);
  switch (field) {
    case "text":
    case "logger":
      return isText(value);
    case "severity":
      return severityNamed(name, attributes) !== null;
    case "source":
    case "host":
      return isSource(value);
    case "user":
    case "link":
      return isText(value) || typeof value === "number";
    case "latitude":
      return typeof value === "number" && Math.abs(value) <= 90;
    case "longitude":
      return typeof value === "number" && Math.abs(value) <= 180;
    case "ip":
      return typeof value === "string" && isIP(value) !== 0;
    default:
      return field satisfies never;
  }
}

function isSource(value: unknown): boolean {
  return !isStream(value) && (isText(value) || typeof value === "number");
}

/** Returns the value of a usual name of a time that cannot be read as one; "" if there is none. */
export function unreadTimeAmong(attributes: ProducerEvent["attributes"]): string {
  const values = producerNames("time").map((name) => attributes.get(name));
  return textOfValue(values.find(isTimeExpected));
}

/** Returns the source: a chosen one, the protocol's, a service or program, the host, or the logger. */
function sourceAmong(
  attributes: MutableAttributes,
  found: Found,
  chosen: readonly string[],
  ofProtocol = "",
): Pick<ProducerEvent, "source" | "sourceKind"> {
  const choice = firstText(attributes, chosen);
  const own = withoutSlash(choice, textOf(attributes, choice)) || ofProtocol;
  const source = own || withoutSlash(found.source, nameOf(attributes, found.source));
  if (source !== "") return { source };
  const host = nameOf(attributes, found.host);
  if (host !== "") return { source: host, sourceKind: "host" };
  const logger = textOf(attributes, found.logger);
  return logger === "" ? { source } : { source: logger, sourceKind: "logger" };
}

/** Returns a source without the slash with which Docker's names of containers begin. */
function withoutSlash(name: string | undefined, source: string): string {
  return source.startsWith("/") && name?.includes("container") === true ? source.slice(1) : source;
}

/** Returns whether a value names a container's output stream, which identifies no source. */
export function isStream(value: unknown): boolean {
  return value === "stdout" || value === "stderr";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** Returns the first of these names whose value is a text or a number. */
function firstText(attributes: MutableAttributes, names: readonly string[]): string | undefined {
  return names.find((name) => isSource(attributes.get(name)));
}

function valueOf(attributes: MutableAttributes, name: string | undefined): unknown {
  return name === undefined ? undefined : attributes.get(name);
}

function textOf(attributes: MutableAttributes, name: string | undefined): string {
  return textOfValue(valueOf(attributes, name));
}

function textOfValue(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}

/** Members that name an object, such as a user. */
const NAMING = ["name", "id", "email", "username"];
/** Longer texts are not searched for a name. */
const NAMED_UNITS = 10_000;

/**
 * Returns the text of an attribute, or the name in it: clients whose protocol has no objects send
 * them as JSON, such as `{"name":"ann","id":7}`.
 */
function nameOf(attributes: MutableAttributes, name: string | undefined): string {
  const text = textOf(attributes, name);
  const object = text.length > NAMED_UNITS ? null : objectIn(text);
  if (object === null) return text;
  return textOfValue(NAMING.map((member) => object[member]).find(isSource));
}

function takeText(attributes: MutableAttributes, name: string | undefined): string {
  const text = textOf(attributes, name);
  if (name === undefined) return text;
  // The template stays: it is equal for all messages of its kind.
  if (isTemplateName(name)) return renderedTemplate(text, attributes);
  attributes.delete(name);
  return text;
}

/** Reads the time of an attribute, or of an object whose members are attributes. */
function timeOfAttribute(
  attributes: MutableAttributes,
  name: string,
  times: TimeReading | undefined,
): ProducerTime | null {
  const value = attributes.get(name);
  return value === undefined
    ? timeOfMembers((member) => attributes.get(`${name}.${member}`), times)
    : readProducerTime(value, times);
}

/** Removes an attribute that is the time, or the members of an object that is. */
function deleteTime(attributes: MutableAttributes, name: string): void {
  if (attributes.delete(name)) return;
  for (const member of USED_MEMBERS) attributes.delete(`${name}.${member}`);
}

/** Matches a time of day without a date. */
const CLOCK = /^\d{1,2}:\d\d(?::\d\d)?/;

/** Takes the time of day that some producers send beside the date, and returns their moment. */
function takeClock(attributes: MutableAttributes, found: Found, times: TimeReading | undefined): ProducerTime | null {
  if (found.time !== "date") return null;
  const [date, clock] = [attributes.get("date"), attributes.get("time")];
  if (typeof date !== "string" || typeof clock !== "string" || date.includes(":") || !CLOCK.test(clock)) return null;
  const time = readProducerTime(`${date} ${clock}`, times);
  if (time !== null) attributes.delete("time");
  return time;
}

/** Takes the time: of a chosen field, else the one given by the protocol, else a usual field's. */
function takeTime(
  attributes: MutableAttributes,
  found: Found,
  { time: chosen, times }: FieldChoice,
  { time: protocolTime = null, isTimeUnread = false }: EventContext,
): GivenTime {
  if (chosen.length === 0) {
    if (protocolTime !== null) return { time: protocolTime, isTimeUnread: false };
    const time = takeClock(attributes, found, times) ?? found.moment ?? null;
    if (found.time !== undefined) deleteTime(attributes, found.time);
    return { time, isTimeUnread: time === null && (isTimeUnread || found.isTimeUnread === true) };
  }
  for (const name of chosen) {
    const time = timeOfAttribute(attributes, name, times);
    if (time === null) continue;
    deleteTime(attributes, name);
    return { time, isTimeUnread: false };
  }
  const isUnread = isTimeUnread || chosen.some((name) => isTimeExpected(attributes.get(name)));
  return { time: protocolTime, isTimeUnread: protocolTime === null && isUnread };
}

const LONGEST_TAG = 100;
/** A longer text is no list of tags. */
const LONGEST_TAGS = 16 * 1024;

/** Takes the tags, if they are a list of short texts, or one text. */
function takeTags(attributes: MutableAttributes): readonly string[] {
  const given = attributes.get("tags");
  if (given === undefined) return NO_TAGS;
  if (typeof given === "string" && given.length > LONGEST_TAGS) return NO_TAGS;
  const tags = typeof given === "string" ? given.split(/[\s,]+/u) : given;
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === "string" && tag.length <= LONGEST_TAG)) return [];
  attributes.delete("tags");
  return tags as readonly string[];
}

function geoAmong(attributes: MutableAttributes, { latitude, longitude, ip }: Found): Geo | null {
  const lat = valueOf(attributes, latitude);
  const lon = valueOf(attributes, longitude);
  if (typeof lat === "number" && typeof lon === "number") return { lat, lon };
  return ip === undefined ? null : { ip: textOf(attributes, ip) };
}
