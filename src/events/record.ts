import { areAttributes, encodeAttributes, flatten } from "./attributes.ts";
import type { Deletion } from "./deletion.ts";
import type { AcceptedEvent, LogKey, PostedEvent, StoredEvent, UserId } from "./event.ts";
import { isEventId, type EventId } from "./id.ts";
import { LINE_FIELD_NAMES } from "./field-order.ts";
import { KEYWORD_FIELDS } from "./keywords.ts";
import type { Keywords } from "./keywords.ts";
import { mapKeywords } from "./map-keywords.ts";
import type { LineFields } from "./line-fields.ts";
import { splitLines } from "./lines.ts";
import type { LineReader, OpenLines } from "./lines.ts";
import { objectMaker } from "./object-maker.ts";
import type { BoundedField } from "./schema.ts";
import { NO_TAGS } from "./tags.ts";
import type { Visit } from "./visit.ts";

/**
 * The format of a bus record: events, visits and deletions of one log, as JSON lines in UTF-8.
 *
 *     {"v":1,"log":"shop"}
 *     {"id":"…","created":1308491673911,"text":"…", …absent fields are left out…}
 *     {"id":"…","created":1308491673912,"kind":"visit","user":"…", …}
 *     {"id":"…","created":1308491673913,"kind":"deletion","event":"…"}
 *     {"id":"…","created":1308491673914,"kind":"deletion","event":"…","user":"…"}
 *
 * A deletion has an id of its own and names the event. With `user`, only that user's alert is
 * deleted.
 *
 * Many events in one record cost the bus one checksum and one append. With one event per line, a
 * broken line affects no other event. A line without `kind` is an event.
 */
const VERSION = 1;
/**
 * The furthest time from the Unix epoch, either way, that a JavaScript date can hold. A later one
 * could be stored, but no list containing it could be displayed.
 */
const LAST_MOMENT_MS = 8.64e15;

/**
 * One line of a record: an event, a visit, a deletion, or the reason why it is none of them. An
 * event has room for the results of the pipeline, which are set in place: its pattern is "" and its
 * class null.
 */
export type RecordLine =
  | { readonly kind: "event"; readonly event: StoredEvent }
  | { readonly kind: "visit"; readonly visit: Visit }
  | { readonly kind: "deletion"; readonly id: EventId; readonly deletion: Deletion }
  | { readonly kind: "broken"; readonly reason: string; readonly line: string };

/** Returns the line of an event, without its line break. */
export function encodeLine(event: AcceptedEvent): string {
  return completeLine(event.id, String(event.created), encodeFields(event));
}

/** Returns the line of a visit, without its line break. */
export function encodeVisitLine(visit: Visit): string {
  return completeLine(visit.id, String(visit.created), encodeVisitFields(visit));
}

/** Returns the line of a deletion. `id` and `created` belong to the deletion, not to the event. */
export function encodeDeletionLine(id: EventId, created: number, { event, alertOf }: Deletion): string {
  return JSON.stringify({ id, created, kind: "deletion", event, user: alertOf ?? undefined });
}

/**
 * Returns a line, given its id, time and fields. The fields come from {@link encodeFields} or
 * {@link encodeVisitFields}, called before the id is assigned, or unchanged from a plain posted
 * line (`LineScanner`).
 * @param created in digits
 */
export function completeLine(id: EventId, created: string, fields: string): string {
  return `{"id":"${id}","created":${created},${fields}`;
}

/** Makes the fields of a line, in their order. JSON leaves out those that are undefined. */
const lineFieldsOf = objectMaker<[event: PostedEvent], Record<BoundedField, unknown>>(
  ["event"],
  inLineOrder({
    ...mapKeywords((name) => `event.${name} === "" ? undefined : event.${name}`),
    text: "event.text",
    tags: "event.tags.length === 0 ? undefined : event.tags",
    value: "event.value ?? undefined",
    geo: "event.geo ?? undefined",
    data: "event.data ?? undefined",
  }),
);

function inLineOrder(codes: Readonly<Record<BoundedField, string>>): Record<BoundedField, string> {
  return Object.fromEntries(LINE_FIELD_NAMES.map((name) => [name, codes[name]])) as Record<BoundedField, string>;
}

/** Returns the fields of an event's line without id and time. */
export function encodeFields(event: PostedEvent): string {
  const fields = JSON.stringify(lineFieldsOf(event));
  const { attributes } = event;
  return attributes === null ? fields.slice(1) : `${fields.slice(1, -1)},"attributes":${attributes}}`;
}

/** Returns the fields of a visit's line without id and time. */
export function encodeVisitFields(visit: Omit<Visit, "id" | "log" | "created">): string {
  return JSON.stringify({
    kind: "visit",
    user: visit.user,
    email: visit.email === "" ? undefined : visit.email,
    page: visit.page === "" ? undefined : visit.page,
  }).slice(1);
}

/**
 * Returns a record of `log`, given lines made by {@link encodeLine}, {@link encodeVisitLine} or
 * {@link completeLine}.
 */
export function encodeRecord(log: LogKey, lines: readonly string[]): Buffer {
  return Buffer.from(`{"v":${VERSION},"log":${JSON.stringify(log)}}\n${lines.join("\n")}`, "utf8");
}

/** Returns the lines of a record; see {@link RecordReader}. */
export function decodeRecord(value: Buffer, openLines: OpenLines = splitLines): RecordLine[] {
  const reader = new RecordReader(value, openLines);
  const lines: RecordLine[] = [];
  while (reader.hasNext) lines.push(reader.next());
  return lines;
}

/**
 * Reads the lines of a record one after the other. A record with an invalid first line is returned
 * as one broken line that holds all of it. Never throws: everything on the topic becomes events,
 * visits, deletions or dead letters.
 */
export class RecordReader {
  /** Whether the record is returned as one broken line. */
  readonly isBroken: boolean;
  readonly #log: LogKey;
  /** null if the first line is invalid or the only one. */
  readonly #reader: LineReader | null;
  #broken: RecordLine | null;

  constructor(value: Buffer, openLines: OpenLines) {
    const end = value.indexOf("\n");
    const header = parseObject(value.toString("utf8", 0, end === -1 ? undefined : end));
    const reason = faultOf(header);
    this.isBroken = reason !== null;
    this.#broken = reason === null ? null : broken(reason, value.toString("utf8"));
    this.#reader = this.isBroken || end === -1 ? null : openLines(value, end + 1);
    this.#log = header?.["log"] as LogKey;
  }

  get hasNext(): boolean {
    return this.#broken !== null || (this.#reader !== null && this.#reader.hasNext);
  }

  /** May be called only while {@link hasNext} is true. */
  next(): RecordLine {
    const line = this.#broken ?? this.#read(this.#reader!);
    this.#broken = null;
    return line;
  }

  #read(reader: LineReader): RecordLine {
    const event = reader.next() ? eventOf(this.#log, reader.fields) : null;
    // The general decoder reads the line, or finds out what is wrong with it.
    return event === null ? decodeLine(this.#log, reader.text) : { kind: "event", event };
  }
}

/** Returns why a record's first line is invalid, or null. */
function faultOf(header: Record<string, unknown> | null): string | null {
  if (header === null) return "the record's first line is not a JSON object";
  const { v: version, log } = header;
  if (version !== VERSION) {
    return `the record's version is ${JSON.stringify(version)}, this process reads ${VERSION}`;
  }
  return typeof log !== "string" || log === "" ? "the record names no log" : null;
}

/** Makes the event of a line whose fields are as those of an event. */
const makeEvent = objectMaker<[log: LogKey, fields: LineFields, tags: readonly string[]], StoredEvent>(
  ["log", "fields", "tags"],
  {
    id: "fields.id",
    log: "log",
    created: "fields.created",
    text: "fields.text",
    ...mapKeywords((name) => `fields.${name} === undefined ? "" : fields.${name}`),
    tags: "tags",
    value: "fields.value ?? null",
    geo: "fields.geo ?? null",
    data: "fields.data ?? null",
    attributes: "fields.attributes ?? null",
    pattern: '""',
    class: "null",
  },
);

/** Returns the event of a line written by {@link encodeLine}, or null for any other line. */
function eventOf(log: LogKey, fields: LineFields): StoredEvent | null {
  const { id, created, text, tags = NO_TAGS, value, geo = null, attributes = null } = fields;
  const isAccepted = typeof id === "string" && isEventId(id) && typeof created === "number" && isMoment(created);
  if (!isAccepted || typeof text !== "string" || typeof tags === "string" || tags === null) return null;
  if (typeof value === "string" || !isGeo(geo) || (attributes !== null && !areAttributes(attributes))) return null;
  const event = makeEvent(log, fields, tags);
  return areTexts(event) ? event : null;
}

function decodeLine(log: LogKey, line: string): RecordLine {
  const fields = parseObject(line);
  if (fields === null) return broken("the line is not a JSON object", line);
  const { id, created, kind = "event" } = fields;
  if (typeof id !== "string" || !isEventId(id)) return broken("id is not 24 hex digits", line);
  if (typeof created !== "number" || !Number.isSafeInteger(created))
    return broken("created is not a whole number", line);
  if (!isMoment(created)) return broken("created is not a valid time", line);
  const accepted = { id, log, created };
  if (kind === "event") return decodeEvent(accepted, fields, line);
  if (kind === "visit") return decodeVisit(accepted, fields, line);
  if (kind === "deletion") return decodeDeletion(id, log, fields, line);
  return broken(`the line is of kind ${JSON.stringify(kind)}, this process reads events, visits and deletions`, line);
}

type Accepted = Pick<AcceptedEvent, "id" | "log" | "created">;

function decodeEvent(accepted: Accepted, fields: Record<string, unknown>, line: string): RecordLine {
  const { text, tags = [], value = null, geo = null, data = null } = fields;
  if (typeof text !== "string") return broken("text is not a string", line);
  const keywords = mapKeywords((name) => (fields[name] === undefined ? "" : fields[name]));
  if (!areTexts(keywords)) return broken(NOT_TEXTS, line);
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === "string"))
    return broken("tags is not a list of strings", line);
  if (value !== null && !(typeof value === "number" && Number.isFinite(value)))
    return broken("value is not a number", line);
  if (data !== null && typeof data !== "string") return broken("data is not a string", line);
  if (!isGeo(geo)) return broken("geo is neither coordinates nor an address", line);
  const attributes = attributesOf(fields["attributes"] ?? null);
  if (attributes === undefined) return broken("attributes is not an object of strings, numbers and booleans", line);
  const event = { ...keywords, ...accepted, text, tags, value, geo, data, attributes };
  return { kind: "event", event: { ...event, pattern: "", class: null } };
}

function areTexts(keywords: Keywords<unknown>): keywords is Keywords {
  for (const name of KEYWORD_FIELDS) if (typeof keywords[name] !== "string") return false;
  return true;
}

const NOT_TEXTS = `${KEYWORD_FIELDS.join(", ").replace(/, (\w+)$/, " or $1")} is not a string`;

/** Returns attributes as JSON text, null if there are none, undefined if `given` is invalid. */
function attributesOf(given: unknown): string | null | undefined {
  if (given === null) return null;
  if (typeof given !== "object" || Array.isArray(given)) return undefined;
  const { attributes, faults } = flatten(given);
  if (faults.length > 0) return undefined;
  return attributes.size === 0 ? null : encodeAttributes(attributes);
}

function decodeVisit(accepted: Accepted, fields: Record<string, unknown>, line: string): RecordLine {
  const { user, email = "", page = "" } = fields;
  if (typeof user !== "string" || user.trim() === "") return broken("user is not a string, or is blank", line);
  if (typeof email !== "string" || typeof page !== "string") return broken("email or page is not a string", line);
  return { kind: "visit", visit: { ...accepted, user, email, page } };
}

function decodeDeletion(id: EventId, log: LogKey, fields: Record<string, unknown>, line: string): RecordLine {
  const { event, user = null } = fields;
  if (typeof event !== "string" || !isEventId(event)) return broken("event is not 24 hex digits", line);
  if (user !== null && (typeof user !== "string" || user === "")) return broken("user is not the id of a user", line);
  return { kind: "deletion", id, deletion: { log, event, alertOf: user as UserId | null } };
}

function isMoment(ms: number): boolean {
  return Number.isSafeInteger(ms) && Math.abs(ms) <= LAST_MOMENT_MS;
}

function isGeo(geo: unknown): geo is AcceptedEvent["geo"] {
  if (geo === null) return true;
  if (typeof geo !== "object") return false;
  const { lat, lon, ip } = geo as Record<string, unknown>;
  return (Number.isFinite(lat) && Number.isFinite(lon)) || typeof ip === "string";
}

function parseObject(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function broken(reason: string, line: string): RecordLine {
  return { kind: "broken", reason, line };
}
