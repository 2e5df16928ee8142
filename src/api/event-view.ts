import { EVENT_FIELDS, XML_FIELD_NAMES } from "../events/field-order.ts";
import type { EventField } from "../events/field-order.ts";
import { parseAttributes, textsOfAttribute } from "../events/attributes.ts";
import type { EventRow, UserId } from "../events/event.ts";
import { levelOfTags } from "../events/level.ts";
import type { EventId } from "../events/id.ts";
import { objectMaker } from "../events/object-maker.ts";
import { EVENT_SCHEMA } from "../events/schema.ts";
import { Moment, momentAsJson } from "../http/moment.ts";
import type { LongList } from "../http/streamed-list.ts";
import { renderElement, renderNamedTexts } from "../http/xml.ts";
import type { XmlValue } from "../http/xml.ts";
import { readFlag } from "../query/parameters.ts";
import { isAttribute } from "../query/plan.ts";
import type { AttributeField, EventColumn } from "../query/plan.ts";
import type { Annotations } from "../store/store.ts";
import { pick } from "./view.ts";

type Fields = { readonly [field: string]: XmlValue };

/** The parts of an event that are shown. */
export type EventShape = {
  /** Columns in order; null: all {@link EVENT_FIELDS}. */
  readonly columns: readonly EventColumn[] | null;
  /** Whether all attributes are shown after them. */
  readonly attributes: boolean;
};

/** All fields, without attributes. */
export const PLAIN: EventShape = { columns: null, attributes: false };

/**
 * Whether to show all attributes: if columns are given, they must include `attributes`; otherwise
 * the parameter `attributes` decides. @throws LoggiaError `bad_parameter`
 */
export function showsAttributes(query: URLSearchParams, columns: EventShape["columns"] = null): boolean {
  const isAsked = readFlag(query, "attributes");
  return columns === null ? isAsked : columns.includes("attributes");
}

/** The fields that XML shows by default. It includes annotations only if a query names them. */
const XML_FIELDS = XML_FIELD_NAMES.filter(
  (name) => EVENT_SCHEMA[name].isShown && EVENT_SCHEMA[name].type !== "annotation",
);

/** Formats a page of events, each of which may be large. */
export function listEvents(
  rows: readonly EventRow[],
  annotations: ReadonlyMap<EventId, Annotations>,
  shape: EventShape = PLAIN,
): LongList {
  return {
    length: rows.length,
    element: "event",
    isOfLargeRecords: true,
    show: (from, to) => rows.slice(from, to).map((row) => eventElement(row, annotations.get(row.id), shape.columns)),
    writeAsXml: (index) => eventAsXml(rows[index]!, annotations.get(rows[index]!.id), shape),
    writeAsJson: (index) => eventAsJson(rows[index]!, annotations.get(rows[index]!.id), shape),
  };
}

/**
 * Formats an event as JSON: fields in the order of {@link EVENT_FIELDS}, then pattern,
 * level and attributes. It concatenates strings, as V8 serializes only plain data fast. Ids, moments and
 * attributes contain nothing to escape.
 */
export function eventAsJson(
  row: EventRow,
  annotations: Annotations | undefined,
  { columns, attributes }: EventShape,
  momentOf: (ms: number) => string = momentAsJson,
): string {
  const rest = restOfEvent(row, annotations);
  const fields = columns === null ? JSON.stringify(rest) : columnsAsJson(row, rest, columns);
  const isShown = (field: EventField): boolean => columns === null || columns.includes(field);
  const id = isShown("id") ? `"id":"${row.id}",` : "";
  const created = isShown("created") ? `"created":${momentOf(row.created)},` : "";
  const all = attributes ? `"attributes":${row.attributes ?? "{}"},` : "";
  return `{${`${id}${created}${fields === "{}" ? "" : `${fields.slice(1, -1)},`}${all}`.slice(0, -1)}}`;
}

function columnsAsJson(row: EventRow, rest: Rest, columns: readonly EventColumn[]): string {
  const named = columns.filter((column): column is keyof Rest => column in rest);
  const shown: Record<string, unknown> = pick(rest, named);
  if (columns.includes("pattern")) shown["pattern"] = row.pattern;
  if (columns.includes("level")) shown["level"] = levelOfTags(row.tags);
  return JSON.stringify(Object.assign(shown, attributeColumns(row, columns)));
}

/** Returns the attributes named by columns; null for those that the event lacks. */
export function attributeColumns(row: EventRow, columns: readonly EventColumn[]): Readonly<Record<string, XmlValue>> {
  const named = columns.filter(isAttribute);
  if (named.length === 0) return {};
  const attributes = parseAttributes(row.attributes);
  return Object.fromEntries(named.map((column) => [column, attributes.get(nameOf(column)) ?? null]));
}

function nameOf(column: AttributeField): string {
  return column.slice(1);
}

/** The fields of an event in a view that its row lacks. */
type Marks = { filter: string | null; bookmarks: readonly UserId[]; alerts: readonly UserId[] | null };
type RestField = Exclude<EventField, "id" | "created">;
type Rest = { readonly [Name in RestField]: Name extends keyof Marks ? Marks[Name] : EventRow[Name & keyof EventRow] };

const MARKS: Readonly<Record<string, string>> = { filter: "row.class", bookmarks: "bookmarks", alerts: "alerts" };
const REST_FIELDS = EVENT_FIELDS.filter((name): name is RestField => name !== "id" && name !== "created");

type RestParts = [row: EventRow, bookmarks: Marks["bookmarks"], alerts: Marks["alerts"]];
const makeRest = objectMaker<RestParts, Rest>(
  ["row", "bookmarks", "alerts"],
  Object.fromEntries(REST_FIELDS.map((name) => [name, MARKS[name] ?? `row.${name}`])) as Record<RestField, string>,
);

/** Returns all fields except id and created, in the order of {@link EVENT_FIELDS}. */
export function restOfEvent(row: EventRow, annotations: Annotations | undefined): Rest {
  const { bookmarks = [], alerts = [] } = annotations ?? {};
  return makeRest(row, bookmarks, alerts.length === 0 ? null : alerts);
}

/**
 * Formats an event as XML, in parts: there, each value of an attribute repeats its name, so that an
 * event may be many times longer than in the store.
 */
export function* eventAsXml(
  row: EventRow,
  annotations: Annotations | undefined,
  { columns, attributes }: EventShape,
): Generator<string> {
  const named = (columns ?? []).filter(isAttribute);
  const fields = eventElement(row, annotations, columns);
  if (named.length === 0 && !attributes) return yield renderElement("event", fields);
  const end = "<attributes/></event>";
  const start = renderElement("event", { ...fields, attributes: {} }).slice(0, -end.length);
  let isEmpty = true;
  for (const element of attributeElements(row, attributes ? null : named)) {
    yield isEmpty ? `${start}<attributes>${element}` : element;
    isEmpty = false;
  }
  yield isEmpty ? start + end : "</attributes></event>";
}

function eventElement(row: EventRow, annotations: Annotations | undefined, columns: EventShape["columns"]): Fields {
  const rest = restOfEvent(row, annotations);
  const element = {
    id: row.id,
    created: new Moment(row.created),
    ...rest,
    tags: { tag: rest.tags },
    bookmarks: { user: rest.bookmarks },
    alerts: { user: rest.alerts ?? [] },
    pattern: row.pattern,
    level: levelOfTags(row.tags),
  };
  return pick(element, columns === null ? XML_FIELDS : XML_FIELD_NAMES.filter((field) => columns.includes(field)));
}

/** Yields one element per value, with the name as data: it may be no valid element name. */
function* attributeElements(row: EventRow, named: readonly AttributeField[] | null): Generator<string> {
  const attributes = parseAttributes(row.attributes);
  const names = named === null ? attributes.keys() : named.map(nameOf);
  for (const name of names) {
    yield* renderNamedTexts("attribute", name, textsOfAttribute(attributes, name));
  }
}
