import type { ClassFilter, Log } from "../catalog/catalog.ts";
import type { EventRow } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import type { Body } from "../http/formats.ts";
import { Moment } from "../http/moment.ts";
import type { LongList } from "../http/written.ts";
import type { XmlValue } from "../http/xml.ts";
import { formatGroupKey } from "../query/calendar.ts";
import { EVENT_FIELDS, USER_FIELDS } from "../query/plan.ts";
import type { AggregateField, EventField, Grouping, UserField } from "../query/plan.ts";
import type { Group, Marks, TrackedUser } from "../store/store.ts";

type Fields = { readonly [field: string]: XmlValue };

/** XML keeps an order of its own. Marks are in it only where a query names them. */
const XML_EVENT_FIELDS = [
  "id",
  "text",
  "link",
  "hash",
  "tags",
  "source",
  "log",
  "user",
  "data",
  "created",
  "class",
  "geo",
  "value",
  "filter",
] as const satisfies readonly EventField[];
const XML_MARKS = ["bookmarks", "alerts"] as const satisfies readonly EventField[];

/** A page of events. @param columns the fields to show, in the event's own order; null: all */
export function showEvents(
  rows: readonly EventRow[],
  marks: ReadonlyMap<EventId, Marks>,
  columns: readonly EventField[] | null = null,
): Body {
  const events = rows.map((row) => eventFields(row, marks.get(row.id)));
  return {
    json: events.map((event) => pick(event, columns ?? EVENT_FIELDS)),
    xml: () => results({ event: events.map((event) => eventElement(event, columns)) }),
  };
}

export function showEvent(row: EventRow, marks: Marks | undefined): Body {
  const event = eventFields(row, marks);
  return { json: pick(event, EVENT_FIELDS), xml: () => results({ event: eventElement(event, null) }) };
}

/** Every field of an event; JSON shows them in the order of {@link EVENT_FIELDS}. */
type EventFields = Readonly<Record<EventField, XmlValue>>;

function eventFields(row: EventRow, marks: Marks | undefined): EventFields {
  const alerts = marks?.alerts ?? [];
  return {
    id: row.id,
    created: new Moment(row.created),
    text: row.text,
    link: row.link,
    hash: row.hash,
    tags: row.tags,
    source: row.source,
    log: row.log,
    class: row.class,
    data: row.data,
    geo: row.geo,
    value: row.value,
    user: row.user,
    filter: row.class,
    bookmarks: marks?.bookmarks ?? [],
    alerts: alerts.length === 0 ? null : alerts,
  };
}

function eventElement(event: EventFields, columns: readonly EventField[] | null): XmlValue {
  const element = {
    ...event,
    tags: { tag: event.tags },
    bookmarks: { user: event.bookmarks },
    alerts: { user: event.alerts ?? [] },
  };
  if (columns === null) return pick(element, XML_EVENT_FIELDS);
  return pick(
    element,
    [...XML_EVENT_FIELDS, ...XML_MARKS].filter((field) => columns.includes(field)),
  );
}

/** Tracked users. @param columns the fields to show, in the order of {@link USER_FIELDS}; null: all */
export function showUsers(rows: readonly TrackedUser[], columns: readonly UserField[] | null): Body {
  const records = rows.map(({ user, email, page, created, seen, count }) =>
    pick({ user, email, page, created: new Moment(created), seen: new Moment(seen), count }, columns ?? USER_FIELDS),
  );
  return { json: records, xml: () => results({ user: records }) };
}

/** The groups of a query: everything is text. There may be many. */
export function showGroups(
  groups: readonly Group[],
  by: Grouping,
  columns: readonly AggregateField[] | null,
): LongList {
  const show = (group: Group): Fields => {
    const fields: Record<AggregateField, string> = {
      key: showGroupKey(by, group.key),
      count: formatNumber(group.count),
      avg: formatNumber(group.avg),
      sum: formatNumber(group.sum),
      min: formatNumber(group.min),
      max: formatNumber(group.max),
    };
    return columns === null ? fields : pick(fields, columns);
  };
  return { length: groups.length, element: "aggregate", show: (from, to) => groups.slice(from, to).map(show) };
}

function showGroupKey(by: Grouping, key: Group["key"]): string {
  return by.kind === "field" && typeof key === "number" ? formatNumber(key) : formatGroupKey(by, key);
}

const plainDecimal = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 15, useGrouping: false });

/** A number as a plain decimal of at most 15 significant digits, without an exponent; "0" for none. */
export function formatNumber(number: number | null): string {
  if (number === null || number === 0) return "0";
  const shortest = String(number);
  // So few digits are the number itself.
  if (shortest.length <= 15 && !shortest.includes("e")) return shortest;
  const rounded = number.toPrecision(15);
  if (!rounded.includes("e")) return withoutTrailingZeros(rounded);
  // Given text, Intl writes what the text says, without a second rounding.
  return plainDecimal.format(rounded as `${number}`);
}

function withoutTrailingZeros(decimal: string): string {
  if (!decimal.includes(".")) return decimal;
  let end = decimal.length;
  while (decimal[end - 1] === "0") end -= 1;
  return decimal.slice(0, decimal[end - 1] === "." ? end - 1 : end);
}

export function showLog(log: Log): Body {
  return { json: logFields(log), xml: () => results({ log: logFields(log) }) };
}

export function showLogs(logs: readonly Log[]): Body {
  return { json: logs.map(logFields), xml: () => results({ log: logs.map(logFields) }) };
}

function logFields({ key, display }: Log): Fields {
  return { key, display };
}

export function showClassFilter(filter: ClassFilter): Body {
  return { json: filterFields(filter), xml: () => results({ classFilter: filterFields(filter) }) };
}

export function showClassFilters(filters: readonly ClassFilter[]): Body {
  return { json: filters.map(filterFields), xml: () => results({ classFilter: filters.map(filterFields) }) };
}

/** The class filters of several logs, each list beside its log's key. */
export function showClassFiltersOfLogs(
  logs: readonly { readonly key: string; readonly filters: readonly ClassFilter[] }[],
): Body {
  const lists = logs.map(({ key, filters }) => ({ key, filters: filters.map(filterFields) }));
  return {
    json: lists.map(({ key, filters }) => ({ key, classFilters: filters })),
    xml: () => results({ log: lists.map(({ key, filters }) => ({ key, classFilters: { classFilter: filters } })) }),
  };
}

export function filterFields(filter: ClassFilter): Fields {
  const { key, display, color, tag, text, link, source, weight } = filter;
  return { key, display, color, tag, text, link, source, weight };
}

/** The data of an event, as it was posted; null where it carries none. */
export function showData(data: string | null): Body {
  return { json: data, xml: () => ({ root: "data", content: data }) };
}

function results(content: Fields): { root: string; content: XmlValue } {
  return { root: "results", content };
}

function pick<F extends string>(record: Readonly<Record<F, XmlValue>>, fields: readonly F[]): Fields {
  const picked: Record<string, XmlValue> = {};
  for (const field of fields) picked[field] = record[field];
  return picked;
}
