import type { DuckDBConnection } from "@duckdb/node-api";

import type { Deletion } from "../../../events/deletion.ts";
import type { EventRow, LogKey, UserId } from "../../../events/event.ts";
import { hashText } from "../../../events/hash.ts";
import type { EventId } from "../../../events/id.ts";
import { KEYWORD_FIELDS } from "../../../events/keywords.ts";
import { mapKeywords } from "../../../events/map-keywords.ts";
import type { RecordSource } from "../../../query/plan.ts";
import { mapYielding } from "../../../scheduling/yielding.ts";
import type { Annotations } from "../../store.ts";
import { queryRows, readResultRows } from "../database/run-statement.ts";
import type { Row } from "../database/run-statement.ts";
import { compileFind } from "../compile/compile.ts";
import { WITH_IDS, idParameters, joinId, HAS_ID, idHiRange, splitId, tagsOfLine } from "../database/schema.ts";

export async function find(
  connection: DuckDBConnection,
  from: RecordSource,
  log: LogKey,
  id: EventId,
): Promise<EventRow | null> {
  const [row] = await queryRows(connection, compileFind(from, log, id));
  return row === undefined ? null : toRow(row);
}

export async function data(connection: DuckDBConnection, log: LogKey, id: EventId): Promise<string | null | undefined> {
  const { hi, lo } = splitId(id);
  const sql = "select data from events where id_hi = $1::ubigint and id_lo = $2::uinteger and log = $3";
  const result = await connection.runAndReadAll(sql, [hi, lo, log]);
  return result.getRows()[0]?.[0] as string | null | undefined;
}

export async function annotations(
  connection: DuckDBConnection,
  ids: readonly EventId[],
): Promise<Map<EventId, Annotations>> {
  const found = new Map<EventId, { bookmarks: UserId[]; alerts: UserId[] }>();
  if (ids.length === 0) return found;
  const requested = new Set(ids);
  for (const [kind, hi, lo, user] of await annotationsNear(connection, ids)) {
    const id = joinId(hi, lo);
    if (!requested.has(id)) continue;
    const entry = found.get(id) ?? { bookmarks: [], alerts: [] };
    entry[kind].push(user);
    found.set(id, entry);
  }
  return found;
}

type AnnotationRow = [kind: "bookmarks" | "alerts", hi: bigint, lo: number, user: UserId];

/**
 * Returns all bookmarks and alerts of the events, ordered by user, and possibly some of events
 * between them. If these are few, filtering them here is cheaper than a join.
 */
async function annotationsNear(
  connection: DuckDBConnection,
  ids: readonly EventId[],
): Promise<readonly AnnotationRow[]> {
  const [least, greatest] = idHiRange(ids);
  const isNear = `id_hi between ${least}::ubigint and ${greatest}::ubigint`;
  const near = await connection.run(`${selectAnnotations(isNear)} order by user_id limit ${MAX_UNFILTERED + 1}`);
  if (near.rowCount <= MAX_UNFILTERED) return (await readResultRows(near)) as AnnotationRow[];
  const exact = await connection.runAndReadAll(
    `${WITH_IDS} ${selectAnnotations(HAS_ID)} order by user_id`,
    idParameters(ids),
  );
  return exact.getRows() as AnnotationRow[];
}

const MAX_UNFILTERED = 500;

function selectAnnotations(condition: string): string {
  return `select 'bookmarks', id_hi, id_lo, user_id from bookmarks where ${condition}
    union all select 'alerts', id_hi, id_lo, user_id from alerts where ${condition} and not deleted`;
}

export async function nextOffset(
  connection: DuckDBConnection,
  topic: string,
  partition: number,
): Promise<number | null> {
  const sql = 'select next_offset from positions where topic = $1 and "partition" = $2';
  const offset = (await connection.runAndReadAll(sql, [topic, partition])).getRows()[0]?.[0];
  return offset === undefined ? null : Number(offset);
}

/** Converts rows, of which each may be large; see {@link toRow}. */
export function toRows(rows: readonly Row[]): Promise<EventRow[]> {
  return mapYielding(rows, toRow);
}

/** Converts a row with the columns that lists and {@link find} select. */
function toRow(row: Row): EventRow {
  const [hi, lo, created, log, text, tags, cls, value, lat, lon, ip, attributes, pattern, ...further] = row;
  return {
    ...mapKeywords((_, index) => further[index] as string),
    id: joinId(hi as bigint, lo as number),
    log: log as LogKey,
    created: Number(created),
    text: text as string,
    tags: tagsOfLine(tags as string),
    value: value as number | null,
    geo: ip === null ? (lat === null ? null : { lat: lat as number, lon: lon as number }) : { ip: ip as string },
    attributes: attributes as string | null,
    hash: hashText(text as string),
    pattern: pattern as string,
    class: cls as string | null,
    data: further[KEYWORD_FIELDS.length] as boolean,
  };
}

/** Returns a deletion for each alert of a user. */
export async function deletionsOfAlerts(connection: DuckDBConnection, user: UserId): Promise<Deletion[]> {
  const sql = "select id_hi, id_lo, log from alerts where user_id = $1 and not deleted";
  const rows = (await connection.runAndReadAll(sql, [user])).getRows() as [bigint, number, LogKey][];
  return rows.map(([hi, lo, log]) => ({ log, event: joinId(hi, lo), alertOf: user }));
}

/** Returns the known deletions of these events and of alerts about them. */
export async function deletionsAmong(
  connection: DuckDBConnection,
  log: LogKey,
  ids: readonly EventId[],
): Promise<Deletion[]> {
  if (ids.length === 0) return [];
  const sql = `${WITH_IDS} select id_hi, id_lo, null as user_id from deleted_events where ${HAS_ID}
    union all select id_hi, id_lo, user_id from alerts where deleted and ${HAS_ID}`;
  const rows = (await connection.runAndReadAll(sql, idParameters(ids))).getRows() as [bigint, number, UserId | null][];
  return rows.map(([hi, lo, alertOf]) => ({ log, event: joinId(hi, lo), alertOf }));
}
