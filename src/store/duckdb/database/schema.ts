import { isAscii } from "../../../events/ascii.ts";
import { completeOrder, LINE_FIELD_NAMES } from "../../../events/field-order.ts";
import type { EventId } from "../../../events/id.ts";
import { KEYWORD_FIELDS } from "../../../events/keywords.ts";
import type { KeywordField } from "../../../events/keywords.ts";
import { EVENT_SCHEMA } from "../../../events/schema.ts";
import { fold } from "../../../events/text.ts";

/**
 * Schema of the database file.
 *
 * - An id is stored as two integers: zone maps (minimum and maximum of each row group, which let a
 *   scan skip it) cover whole integers but only the first eight bytes of a text.
 * - No table has an index: a primary key slows down inserts and is kept in memory. Whether a row
 *   exists is known from the largest id, or looked up with the zone maps.
 * - The tags of an event are one text, `⏎first⏎second⏎`. Such texts repeat, so that DuckDB stores
 *   them in a dictionary and searches only that for a tag.
 * - The hash of a text is computed on demand. It would not compress and would take much of the
 *   file.
 * - Frequent attributes of a log have columns of their own, see `AttributeColumns`; `attributes` is
 *   the text of all attributes, as it is shown.
 * - Logs are looked up by number, see `LogNumbers`: zone maps see only the beginning of a text.
 * - Texts compare folded. For ASCII texts `lower` equals our folding, so `folded` only holds the
 *   forms that `lower` would get wrong.
 */

/** Version of the tables. Increased with each change of them. */
export const VERSION = 8;

/** Posted texts, which have a column each, in order. */
export const TEXT_COLUMNS = LINE_FIELD_NAMES.filter(
  (name): name is TextColumnName => EVENT_SCHEMA[name].type === "text",
);
type TextColumnName = KeywordField | "text" | "tags";

/** SQL of the columns of keywords, in their order. */
export const KEYWORD_COLUMNS = KEYWORD_FIELDS.map((name) => `"${name}"`).join(", ");

/** Fields for which `folded` can hold a separate form, in order. */
export const FOLDED_FIELDS: readonly FoldedField[] = completeOrder<FoldedField>(KEYWORD_FIELDS, [
  "text",
  "link",
  "pattern",
  "tags",
  "source",
  "user",
  "class",
]);
export type FoldedField = KeywordField | "text" | "pattern" | "tags" | "class";

/** The columns of `events`, in order. */
const EVENT_COLUMNS: Readonly<Record<string, string>> = {
  created: "BIGINT",
  id_hi: "UBIGINT",
  id_lo: "UINTEGER",
  log: "VARCHAR",
  ...varchars(TEXT_COLUMNS),
  class: "VARCHAR",
  value: "DOUBLE",
  lat: "DOUBLE",
  lon: "DOUBLE",
  ip: "VARCHAR",
  data: "VARCHAR",
  folded: `STRUCT(${FOLDED_FIELDS.map((name) => `"${name}" VARCHAR`).join(", ")})`,
  log_number: "UINTEGER",
  pattern: "VARCHAR",
  attributes: "VARCHAR",
  others: "VARCHAR",
};

function varchars(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, "VARCHAR"]));
}

/** Number of columns of `events` before those of attributes, see `AttributeColumns`. */
export const EVENT_WIDTH = Object.keys(EVENT_COLUMNS).length;
/** Prefix of the columns of attributes, followed by their number. */
export const ATTRIBUTE_COLUMN = "attribute_";

/** Separator before, between and after the tags of an event. Tags contain no white space. */
export const TAG_SEPARATOR = "\n";

const NULLABLE: ReadonlySet<string> = new Set([
  "class",
  "value",
  "lat",
  "lon",
  "ip",
  "data",
  "folded",
  "attributes",
  "others",
]);

/** JSON shape of a list of ids. A single JSON text binds faster than a list of values. */
export const IDS_SHAPE = JSON.stringify([{ id_hi: "UBIGINT", id_lo: "UINTEGER" }]);

/**
 * Beginning of a query, and its condition, for the rows with some ids; {@link idParameters} are the
 * parameters. The explicit minimum and maximum let the scan skip all other row groups.
 */
export const WITH_IDS = `with requested as (select unnest(from_json($1::json, '${IDS_SHAPE}'), max_depth := 2))`;
export const HAS_ID =
  "id_hi between $2::ubigint and $3::ubigint and (id_hi, id_lo) in (select (id_hi, id_lo) from requested)";

const VISITS = `create table visits (id_hi ubigint not null, id_lo uinteger not null, created bigint not null, log varchar not null,
  "user" varchar not null, email varchar not null, page varchar not null, folded struct("user" varchar, email varchar, page varchar))`;

const EVENTS = `create table events (${Object.entries(EVENT_COLUMNS)
  .map(([name, type]) => `"${name}" ${type}${NULLABLE.has(name) ? "" : " not null"}`)
  .join(", ")})`;

/** See `LogNumbers`. */
const LOGS = "create table logs (log varchar not null, number uinteger not null)";

/** See `AttributeColumns`. */
const ATTRIBUTE_PLACES = `create table attribute_places (log_number uinteger not null, name varchar,
  column_number uinteger)`;

/** Alerts that their users have seen, with the `mark` of a bulk change. */
const SEEN_ALERTS = `create table seen_alerts (id_hi ubigint not null, id_lo uinteger not null,
  user_id varchar not null, log varchar not null, mark varchar)`;

/**
 * Returns a table of filters, see `FilterTables`. Their bits are near random and do not compress.
 */
export function tokenBlocks(table = "token_blocks"): string {
  return `create table if not exists ${table} (first_hi ubigint not null, last_hi ubigint not null,
    filter blob not null using compression uncompressed)`;
}

/** Statements that create the tables, by name. */
export const TABLES = {
  events: EVENTS,
  logs: LOGS,
  attribute_places: ATTRIBUTE_PLACES,
  // Markers of deleted events, which a replay checks.
  deleted_events: "create table deleted_events (id_hi ubigint not null, id_lo uinteger not null)",
  bookmarks: `create table bookmarks (id_hi ubigint not null, id_lo uinteger not null, user_id varchar not null,
     log varchar not null)`,
  // A deleted alert is kept as its own marker.
  alerts: `create table alerts (id_hi ubigint not null, id_lo uinteger not null, user_id varchar not null, log varchar not null,
     deleted boolean not null)`,
  seen_alerts: SEEN_ALERTS,
  visits: VISITS,
  // Facts about the whole file.
  marks: "create table marks (name varchar not null, value varchar not null)",
  positions:
    'create table positions (topic varchar not null, "partition" integer not null, next_offset bigint not null)',
  token_blocks: tokenBlocks(),
  meta: "create table meta (version integer not null)",
} as const;

/** Returns the two integers of an id. `hi` ascends with the time of acceptance. */
export function splitId(id: EventId): { readonly hi: bigint; readonly lo: number } {
  return { hi: BigInt(`0x${id.slice(0, 16)}`), lo: parseInt(id.slice(16), 16) };
}

export function joinId(hi: bigint, lo: number): EventId {
  return (hi.toString(16).padStart(16, "0") + lo.toString(16).padStart(8, "0")) as EventId;
}

/** @param ids not empty */
export function idParameters(ids: readonly EventId[]): [requested: string, least: bigint, greatest: bigint] {
  return [JSON.stringify(ids.map(encodeId)), ...idHiRange(ids)];
}

/** Returns the smallest and the largest upper integer. @param ids not empty */
export function idHiRange(ids: readonly EventId[]): [least: bigint, greatest: bigint] {
  const sorted = ids.toSorted();
  return [splitId(sorted[0]!).hi, splitId(sorted.at(-1)!).hi];
}

/**
 * Returns the columns of an id for JSON. A 64-bit integer has to be text; DuckDB reads hexadecimal.
 */
export function encodeId(id: EventId): { id_hi: string; id_lo: number } {
  return { id_hi: `0x${id.slice(0, 16)}`, id_lo: parseInt(id.slice(16), 16) };
}

export function foldedUnlessAscii(text: string): string | null {
  return isAscii(text) ? null : fold(text);
}

/** Returns tags as one text; "" for none. */
export function tagLine(tags: readonly string[]): string {
  let line = tags.length === 0 ? "" : TAG_SEPARATOR;
  for (const tag of tags) line += tag + TAG_SEPARATOR;
  return line;
}

export function tagsOfLine(line: string): string[] {
  return line === "" ? [] : line.slice(TAG_SEPARATOR.length, -TAG_SEPARATOR.length).split(TAG_SEPARATOR);
}
