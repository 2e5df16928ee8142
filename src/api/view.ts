import type { ClassFilter, Log } from "../catalog/catalog.ts";
import { LoggiaError } from "../errors.ts";
import { jsonPayload } from "../http/formats.ts";
import type { Body } from "../http/formats.ts";
import { Moment } from "../http/moment.ts";
import type { Reply } from "../http/route.ts";
import type { LongList, NestedLists } from "../http/streamed-list.ts";
import type { XmlValue } from "../http/xml.ts";
import { USER_FIELDS } from "../query/plan.ts";
import type { UserField } from "../query/plan.ts";
import type { TrackedUser } from "../store/store.ts";
import { inertHtml } from "./inert-html.ts";

type Fields = { readonly [field: string]: XmlValue };

/** Formats tracked users. @param columns in the order of {@link USER_FIELDS}; null: all */
export function showUsers(rows: readonly TrackedUser[], columns: readonly UserField[] | null): Body {
  const records = rows.map((row) => userFields(row, columns));
  return { json: jsonPayload(records), xml: () => results({ user: records }) };
}

/** Returns the fields of a tracked user, in the order of {@link USER_FIELDS}. */
export function userFields(
  { user, email, page, created, seen, count }: TrackedUser,
  columns: readonly UserField[] | null,
): Fields {
  return pick(
    { user, email, page, created: new Moment(created), seen: new Moment(seen), count },
    columns ?? USER_FIELDS,
  );
}

const plainDecimal = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 15, useGrouping: false });

/** Formats a number with at most 15 significant digits and no exponent; "0" for null. */
export function formatNumber(number: number | null): string {
  if (number === null || number === 0) return "0";
  const shortest = String(number);
  // Up to 15 digits represent the number exactly.
  if (shortest.length <= 15 && !shortest.includes("e")) return shortest;
  const rounded = number.toPrecision(15);
  if (!rounded.includes("e")) return withoutTrailingZeros(rounded);
  // Intl formats a string exactly, without a second rounding.
  return plainDecimal.format(rounded as `${number}`);
}

function withoutTrailingZeros(decimal: string): string {
  if (!decimal.includes(".")) return decimal;
  let end = decimal.length;
  while (decimal[end - 1] === "0") end -= 1;
  return decimal.slice(0, decimal[end - 1] === "." ? end - 1 : end);
}

export function showLog(log: Log): Body {
  return { json: jsonPayload(logFields(log)), xml: () => results({ log: logFields(log) }) };
}

export function showLogs(logs: readonly Log[]): Body {
  return { json: jsonPayload(logs.map(logFields)), xml: () => results({ log: logs.map(logFields) }) };
}

function logFields({ key, display }: Log): Fields {
  return { key, display };
}

export function showClassFilter(filter: ClassFilter): Body {
  return { json: jsonPayload(filterFields(filter)), xml: () => results({ classFilter: filterFields(filter) }) };
}

export function listClassFilters(filters: readonly ClassFilter[]): LongList {
  const show: LongList["show"] = (from, to) => filters.slice(from, to).map(filterFields);
  return { length: filters.length, element: "classFilter", show };
}

/** Lists the class filters of several logs, grouped by log key. There may be many. */
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

/** Formats the data of an event as posted; null if there is none. */
export function showData(data: string | null): Body {
  return { json: jsonPayload(data), xml: () => ({ root: "data", content: data }) };
}

const HTML_MARK = /^@html[ \t]*(?:\r\n|\n|\r)/;

/** HTML from producers must not run, load or send anything, or reveal where it was shown. */
const HTML_HEADERS = Object.freeze({
  "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
  "Referrer-Policy": "no-referrer",
  // Some browsers resolve the names of a page's links in advance.
  "X-DNS-Prefetch-Control": "off",
});

/**
 * Returns the HTML after a first line `@html` in the data of an event.
 * @throws LoggiaError `unsupported` if there is none
 */
export function showHtmlData(data: string | null): Reply {
  const mark = data === null ? null : HTML_MARK.exec(data);
  if (data === null || mark === null) {
    const begins =
      data === null ? "This event has no data" : "The data of this event does not begin with the line @html";
    throw new LoggiaError("unsupported", `${begins}, so it cannot be shown as HTML; leave fmt out to read it as text`);
  }
  const payload = Buffer.from(inertHtml(data.slice(mark[0].length)), "utf8");
  return { status: 200, body: { contentType: "text/html; charset=utf-8", payload }, headers: HTML_HEADERS };
}

export function results(content: Fields): { root: string; content: XmlValue } {
  return { root: "results", content };
}

export function pick<F extends string>(record: Readonly<Record<F, XmlValue>>, fields: readonly F[]): Fields {
  const picked: Record<string, XmlValue> = {};
  for (const field of fields) picked[field] = record[field];
  return picked;
}
