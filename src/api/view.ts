import type { ClassFilter, Log } from "../catalog/catalog.ts";
import type { EventRow } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import { jsonOf } from "../http/formats.ts";
import type { Body } from "../http/formats.ts";
import { Moment, momentAsJson } from "../http/moment.ts";
import type { LongList, NestedLists } from "../http/written.ts";
import type { XmlValue } from "../http/xml.ts";
import { groupKeyFormat } from "../query/calendar.ts";
import { USER_FIELDS } from "../query/plan.ts";
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
  return {
    json: () => `[${rows.map((row) => eventAsJson(row, marks.get(row.id), columns)).join(",")}]`,
    xml: () => results({ event: rows.map((row) => eventElement(row, marks.get(row.id), columns)) }),
  };
}

export function showEvent(row: EventRow, marks: Marks | undefined): Body {
  return {
    json: () => eventAsJson(row, marks, null),
    xml: () => results({ event: eventElement(row, marks, null) }),
  };
}

/**
 * An event's fields in the order of {@link EVENT_FIELDS}. A page is written in half of the time that an object with a {@link Moment} takes, which writes itself: V8 is fast
 * with what is plain alone. Neither an id nor a moment has anything to escape.
 */
export function eventAsJson(
  row: EventRow,
  marks: Marks | undefined,
  columns: readonly EventField[] | null,
  momentOf: (ms: number) => string = momentAsJson,
): string {
  const rest = restOfEvent(row, marks);
  const shown =
    columns === null
      ? rest
      : pick(
          rest,
          columns.filter((field): field is keyof typeof rest => field in rest),
        );
  const fields = JSON.stringify(shown);
  const isShown = (field: EventField): boolean => columns === null || columns.includes(field);
  const id = isShown("id") ? `"id":"${row.id}",` : "";
  const created = isShown("created") ? `"created":${momentOf(row.created)},` : "";
  return fields === "{}" ? `{${(id + created).slice(0, -1)}}` : `{${id}${created}${fields.slice(1)}`;
}

/** All fields of an event but its id and its moment, in the order of {@link EVENT_FIELDS}. */
export function restOfEvent(row: EventRow, marks: Marks | undefined) {
  const alerts = marks?.alerts ?? [];
  return {
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
  } satisfies Record<Exclude<EventField, "id" | "created">, XmlValue>;
}

export function eventElement(row: EventRow, marks: Marks | undefined, columns: readonly EventField[] | null): XmlValue {
  const rest = restOfEvent(row, marks);
  const element = {
    id: row.id,
    created: new Moment(row.created),
    ...rest,
    tags: { tag: rest.tags },
    bookmarks: { user: rest.bookmarks },
    alerts: { user: rest.alerts ?? [] },
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
  return { json: jsonOf(records), xml: () => results({ user: records }) };
}

/** The groups of a query: everything is text. There may be many. */
export function showGroups(
  groups: readonly Group[],
  by: Grouping,
  columns: readonly AggregateField[] | null,
): LongList {
  const formatKey = groupKeyFormat(by);
  const showKey = (key: Group["key"]): string =>
    by.kind === "field" && typeof key === "number" ? formatNumber(key) : formatKey(key);
  const show = (group: Group): Fields => {
    const fields: Record<AggregateField, string> = {
      key: showKey(group.key),
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
  return { json: jsonOf(logFields(log)), xml: () => results({ log: logFields(log) }) };
}

export function showLogs(logs: readonly Log[]): Body {
  return { json: jsonOf(logs.map(logFields)), xml: () => results({ log: logs.map(logFields) }) };
}

function logFields({ key, display }: Log): Fields {
  return { key, display };
}

export function showClassFilter(filter: ClassFilter): Body {
  return { json: jsonOf(filterFields(filter)), xml: () => results({ classFilter: filterFields(filter) }) };
}

export function listClassFilters(filters: readonly ClassFilter[]): LongList {
  const show: LongList["show"] = (from, to) => filters.slice(from, to).map(filterFields);
  return { length: filters.length, element: "classFilter", show };
}

/** The class filters of several logs, each list beside its log's key. There may be many. */
export function listClassFiltersOfLogs(
  logs: readonly { readonly key: string; readonly filters: readonly ClassFilter[] }[],
): NestedLists {
  const lists = logs.map(({ key, filters }) => ({ head: { key }, list: listClassFilters(filters) }));
  return { element: "log", field: "classFilters", lists };
}

export function filterFields(filter: ClassFilter): Fields {
  const { key, display, color, tag, text, link, source, weight } = filter;
  return { key, display, color, tag, text, link, source, weight };
}

/** The data of an event, as it was posted; null where it carries none. */
export function showData(data: string | null): Body {
  return { json: jsonOf(data), xml: () => ({ root: "data", content: data }) };
}

function results(content: Fields): { root: string; content: XmlValue } {
  return { root: "results", content };
}

function pick<F extends string>(record: Readonly<Record<F, XmlValue>>, fields: readonly F[]): Fields {
  const picked: Record<string, XmlValue> = {};
  for (const field of fields) picked[field] = record[field];
  return picked;
}
