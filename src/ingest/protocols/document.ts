import { isIP } from "node:net";

import type { AttributeValue } from "../../events/attributes.ts";
import type { Geo } from "../../events/event.ts";
import type { FieldChoice } from "./choice.ts";
import { flattenInto } from "./flatten.ts";
import type { Gathered } from "./flatten.ts";
import type { ProducerEvent, ProducerTime } from "./protocol.ts";
import { severityOf } from "./severity.ts";
import type { Severity } from "./severity.ts";
import { timeOf } from "./times.ts";

/** The names by which producers call a field, the most telling first. */
const TEXT = ["message", "msg", "log", "text", "body", "short_message", "_msg", "MESSAGE", "@message", "event"];
const TIME = ["@timestamp", "timestamp", "time", "ts", "datetime", "date", "created", "_time", "eventTime"];
const SEVERITY = [
  "log.level",
  "level",
  "severity",
  "loglevel",
  "log_level",
  "lvl",
  "levelname",
  "severity_text",
  "detected_level",
];
const SOURCE = (
  "service.name service_name service app application appname app_name " +
  "program process.name ident syslog_identifier container.name kubernetes.container.name container_name container job source " +
  "host.name hostname host source_host instance"
).split(" ");
const USER = ["user.name", "user.id", "user.email", "enduser.id", "user", "username", "usr.name", "usr.id"];
const LINK = ["url.full", "http.url", "link"];
const GEO_PREFIXES = ["geo.location", "client.geo.location", "source.geo.location"];
const IP = ["client.ip", "client.address", "source.ip"];

/** What a protocol knows of an event besides its document. */
export type Surrounding = {
  readonly text?: string;
  readonly severity?: Severity | null;
  readonly source?: string;
  readonly time?: ProducerTime | null;
  readonly tags?: readonly string[];
  /** Attributes that each event of a request has, such as an index. */
  readonly attributes?: ReadonlyMap<string, AttributeValue | readonly AttributeValue[]>;
};

/**
 * The event of a document of JSON: fields of the usual names, or of those that are chosen, become
 * fields of the event; text and time are taken out of the rest, which are its attributes.
 */
export function eventOfDocument(document: object, choice: FieldChoice, around: Surrounding = {}): ProducerEvent {
  const attributes: Gathered = new Map(around.attributes);
  flattenInto(attributes, document);
  return eventOfAttributes(attributes, choice, around);
}

/** The same of attributes that are flat already. They are changed. */
export function eventOfAttributes(attributes: Gathered, choice: FieldChoice, around: Surrounding): ProducerEvent {
  const tags = takeTags(attributes);
  return {
    text: around.text ?? takeText(attributes, choice.text.length > 0 ? choice.text : TEXT),
    severity: around.severity ?? severityAmong(attributes),
    source: sourceAmong(attributes, choice.source) ?? around.source ?? firstText(attributes, SOURCE) ?? "",
    user: firstText(attributes, USER) ?? "",
    link: firstText(attributes, LINK) ?? "",
    geo: geoAmong(attributes),
    tags: around.tags === undefined ? tags : [...around.tags, ...tags],
    time: takeTime(attributes, choice, around),
    attributes,
  };
}

function sourceAmong(attributes: Gathered, chosen: readonly string[]): string | null {
  return chosen.length === 0 ? null : firstText(attributes, chosen);
}

function takeText(attributes: Gathered, names: readonly string[]): string {
  for (const name of names) {
    const value = attributes.get(name);
    if (typeof value !== "string" || value.trim() === "") continue;
    attributes.delete(name);
    return value;
  }
  return "";
}

/** A time that was given around the document is the time, unless one of its fields was chosen. */
function takeTime(attributes: Gathered, choice: FieldChoice, around: Surrounding): ProducerTime | null {
  if (around.time !== undefined && around.time !== null && choice.time.length === 0) return around.time;
  for (const name of choice.time.length > 0 ? choice.time : TIME) {
    const value = attributes.get(name);
    if (typeof value !== "string" && typeof value !== "number") continue;
    const time = timeOf(value);
    if (time === null) continue;
    attributes.delete(name);
    return time;
  }
  return around.time ?? null;
}

/** The tags of a document are tags where they are a list, or one text. */
function takeTags(attributes: Gathered): readonly string[] {
  const given = attributes.get("tags");
  const tags = typeof given === "string" ? given.split(/[\s,]+/u) : given;
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === "string" && tag.length <= LONGEST_TAG)) return [];
  attributes.delete("tags");
  return tags as readonly string[];
}

const LONGEST_TAG = 100;

function severityAmong(attributes: Gathered): Severity | null {
  for (const name of SEVERITY) {
    const value = attributes.get(name);
    const severity = value === undefined ? null : severityOf(value);
    if (severity !== null) return severity;
  }
  return null;
}

function firstText(attributes: Gathered, names: readonly string[]): string | null {
  for (const name of names) {
    const value = attributes.get(name);
    if (typeof value === "string" && value.trim() !== "") return value;
    if (typeof value === "number") return String(value);
  }
  return null;
}

function geoAmong(attributes: Gathered): Geo | null {
  for (const prefix of GEO_PREFIXES) {
    const lat = attributes.get(`${prefix}.lat`);
    const lon = attributes.get(`${prefix}.lon`);
    if (typeof lat !== "number" || typeof lon !== "number") continue;
    if (Math.abs(lat) <= 90 && Math.abs(lon) <= 180) return { lat, lon };
  }
  for (const name of IP) {
    const ip = attributes.get(name);
    if (typeof ip === "string" && isIP(ip) !== 0) return { ip };
  }
  return null;
}
