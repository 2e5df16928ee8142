import { isAscii } from "../../../events/ascii.ts";
import { fold } from "../../../events/text.ts";
import type { EventId } from "../../../events/id.ts";

/**
 * What lies in the database file.
 *
 * - An id is kept as two integers, because zone maps (the least and greatest value of each row
 *   group, by which a scan skips) see all of an integer and only eight bytes of a text: finding a
 *   row of a million by id takes 2 ms instead of 19.
 * - No table has an index: a primary key slows each insert down and is kept in memory. That a row
 *   is not there yet is known from the largest id, or looked up by zone map.
 * - The tags of an event stand in one text, `⏎first⏎second⏎`. Few texts of tags differ, so that
 *   DuckDB keeps each once and looks for a tag in those alone: a tag is found among a million
 *   events in 2 ms, and in lists of texts in 17.
 * - The hash of a text is made of it when somebody asks: it would be a third of the file, and no
 *   two would be alike.
 * - Attributes that many events of a log have lie in columns of their own, see `AttributeColumns`;
 *   `attributes` is the text of all of them, as it is shown.
 * - Logs are found by number, see `LogNumbers`, for the same reason: of a text a zone map sees how
 *   it begins.
 * - Texts compare folded. For a text of ASCII alone `lower` is the same as our folding, so `folded`
 *   holds only what it would get wrong.
 */

/** Raise it with each change of the tables, and say in `migrate.ts` how to come from the one before. */
export const VERSION = 8;

/** The columns of `events`, in order. */
const EVENT_COLUMNS = {
  created: "BIGINT",
  id_hi: "UBIGINT",
  id_lo: "UINTEGER",
  log: "VARCHAR",
  text: "VARCHAR",
  link: "VARCHAR",
  tags: "VARCHAR",
  source: "VARCHAR",
  user: "VARCHAR",
  class: "VARCHAR",
  value: "DOUBLE",
  lat: "DOUBLE",
  lon: "DOUBLE",
  ip: "VARCHAR",
  data: "VARCHAR",
  folded:
    'STRUCT(text VARCHAR, link VARCHAR, pattern VARCHAR, tags VARCHAR, source VARCHAR, "user" VARCHAR, class VARCHAR)',
  log_number: "UINTEGER",
  pattern: "VARCHAR",
  attributes: "VARCHAR",
  others: "VARCHAR",
} as const;

/** Columns of `events` behind which those of attributes stand, see `AttributeColumns`. */
export const EVENT_WIDTH = Object.keys(EVENT_COLUMNS).length;
/** With their number behind it. */
export const ATTRIBUTE_COLUMN = "attribute_";

/** No tag holds one: what was posted is split at white space. Stands before, between and after the tags of an event. */
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

/** How lists of ids are handed over: one text of JSON is bound faster than a list of values. */
export const IDS_SHAPE = JSON.stringify([{ id_hi: "UBIGINT", id_lo: "UINTEGER" }]);

/**
 * The beginning of a question and its condition for the rows of some ids, whose parameters are
 * {@link idParameters}. With the least and the greatest spelt out, the scan skips all row groups
 * that lie elsewhere.
 */
export const ASKED = `with asked as (select unnest(from_json($1::json, '${IDS_SHAPE}'), max_depth := 2))`;
export const NEAR =
  "id_hi between $2::ubigint and $3::ubigint and (id_hi, id_lo) in (select (id_hi, id_lo) from asked)";

export const VISITS = `create table visits (id_hi ubigint not null, id_lo uinteger not null, created bigint not null, log varchar not null,
  "user" varchar not null, email varchar not null, page varchar not null, folded struct("user" varchar, email varchar, page varchar))`;

export const EVENTS = `create table events (${Object.entries(EVENT_COLUMNS)
  .map(([name, type]) => `"${name}" ${type}${NULLABLE.has(name) ? "" : " not null"}`)
  .join(", ")})`;

/** See `LogNumbers`. */
export const LOGS = "create table logs (log varchar not null, number uinteger not null)";

/** See `AttributeColumns`. */
export const ATTRIBUTE_PLACES = `create table attribute_places (log_number uinteger not null, name varchar,
  column_number uinteger)`;

/**
 * Facts about the file as a whole. Made where it is missing; releases that do not know the table
 * leave it alone.
 */
export const MARKS = "create table if not exists marks (name varchar not null, value varchar not null)";

/**
 * Alerts that their people have seen, with the change of many that marked them. Made where it is
 * missing, as `marks`.
 */
export const SEEN_ALERTS = `create table if not exists seen_alerts (id_hi ubigint not null, id_lo uinteger not null,
  user_id varchar not null, log varchar not null, mark varchar)`;

/** A table of filters, see `FilterTables`. Their bits are as good as random, so compressing them is in vain. */
export function tokenBlocks(table = "token_blocks"): string {
  return `create table if not exists ${table} (first_hi ubigint not null, last_hi ubigint not null,
    filter blob not null using compression uncompressed)`;
}

export const TABLES = [
  EVENTS,
  LOGS,
  ATTRIBUTE_PLACES,
  // Markers of deleted events, into which a replay runs.
  "create table deleted_events (id_hi ubigint not null, id_lo uinteger not null)",
  "create table bookmarks (id_hi ubigint not null, id_lo uinteger not null, user_id varchar not null, log varchar not null)",
  // A deleted alert stays as its own marker.
  `create table alerts (id_hi ubigint not null, id_lo uinteger not null, user_id varchar not null, log varchar not null,
     deleted boolean not null)`,
  VISITS,
  'create table positions (topic varchar not null, "partition" integer not null, next_offset bigint not null)',
  "create table meta (version integer not null)",
];

/** The two integers that stand for an id. `hi` rises with the time of acceptance. */
export function splitId(id: EventId): { readonly hi: bigint; readonly lo: number } {
  return { hi: BigInt(`0x${id.slice(0, 16)}`), lo: parseInt(id.slice(16), 16) };
}

export function joinId(hi: bigint, lo: number): EventId {
  return (hi.toString(16).padStart(16, "0") + lo.toString(16).padStart(8, "0")) as EventId;
}

/** @param ids not empty */
export function idParameters(ids: readonly EventId[]): [asked: string, least: bigint, greatest: bigint] {
  return [JSON.stringify(ids.map(encodeId)), ...spanOf(ids)];
}

/** The least and the greatest of the first integers. @param ids not empty */
export function spanOf(ids: readonly EventId[]): [least: bigint, greatest: bigint] {
  const sorted = ids.toSorted();
  return [splitId(sorted[0]!).hi, splitId(sorted.at(-1)!).hi];
}

/** The columns of an id, in JSON's terms: a 64-bit integer has to be text, which DuckDB reads in hexadecimal too. */
export function encodeId(id: EventId): { id_hi: string; id_lo: number } {
  return { id_hi: `0x${id.slice(0, 16)}`, id_lo: parseInt(id.slice(16), 16) };
}

export function foldedUnlessAscii(text: string): string | null {
  return isAscii(text) ? null : fold(text);
}

/** Tags in one text; "" for none. */
export function tagLine(tags: readonly string[]): string {
  let line = tags.length === 0 ? "" : TAG_SEPARATOR;
  for (const tag of tags) line += tag + TAG_SEPARATOR;
  return line;
}

export function tagsOfLine(line: string): string[] {
  return line === "" ? [] : line.slice(TAG_SEPARATOR.length, -TAG_SEPARATOR.length).split(TAG_SEPARATOR);
}
