import type { DuckDBConnection } from "@duckdb/node-api";

import type { LogKey, UserId } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import type { Position } from "../../bus/bus.ts";
import type { Alert, WriteOutcome } from "../store.ts";
import { firstLine } from "./database.ts";
import { appendChunks, Rows } from "./columns.ts";
import type { ChunkPool } from "./columns.ts";
import type { DuckdbEvents } from "./prepared.ts";
import { ASKED, idParameters, joinId, NEAR, splitId } from "./schema.ts";

const DONE: WriteOutcome = Object.freeze({ kind: "done" });

/**
 * The largest ids that `events`, `alerts` and `visits` hold, or held before a deletion. A larger one is new without a look: so it is in
 * ordinary running, where ids rise.
 */
export type HighWater = { readonly event: string; readonly alert: string; readonly visit: string };

export async function readHighWater(connection: DuckDBConnection): Promise<HighWater> {
  const deleted = await largestId(connection, "deleted_events");
  const [event, alert] = [await largestId(connection, "events"), await largestId(connection, "alerts")];
  return {
    event: event > deleted ? event : deleted,
    alert: alert > deleted ? alert : deleted,
    visit: await largestId(connection, "visits"),
  };
}

async function largestId(connection: DuckDBConnection, table: string): Promise<string> {
  const sql = `select id_hi, id_lo from ${table} order by id_hi desc, id_lo desc limit 1`;
  const [row] = (await connection.runAndReadAll(sql)).getRows() as [bigint, number][];
  return row === undefined ? "" : joinId(...row);
}

/** Inserts the events that are neither there nor deleted, each once, and returns the largest id there is now. */
export async function insertEvents(connection: DuckDBConnection, events: DuckdbEvents, high: string): Promise<string> {
  // In ordinary running they are new, and no two are the same.
  const isNew = events.isRising && events.first > high;
  const unknown = isNew ? events : await unknownAmong(connection, events, high);
  if (unknown.chunks.length > 0) await appendChunks(connection, "events", unknown.chunks);
  // The caller's own are needed until they are committed.
  if (unknown !== events) unknown.release();
  return isNew ? events.last : largestOf([high, ...events.ids()]);
}

async function unknownAmong(connection: DuckDBConnection, events: DuckdbEvents, high: string): Promise<DuckdbEvents> {
  const ids = events.ids();
  const old = ids.filter((id) => id <= high);
  const seen = new Set(await knownIds(connection, "events", old));
  const isUnknown = (id: EventId): boolean => seen.size < seen.add(id).size;
  const places = [...ids.keys()].filter((place) => events.faults.has(place) || isUnknown(ids[place]!));
  return places.length === ids.length ? events : events.pick(places);
}

/** Inserts the alerts that are neither there nor deleted, nor of a deleted event, each once, and returns the largest id there is now. */
export async function insertAlerts(
  connection: DuckDBConnection,
  alerts: readonly Alert[],
  high: string,
  pool: ChunkPool<Alert, Alert>,
): Promise<string> {
  const fresh = distinct(alerts, ({ user, event }) => `${event.id} ${user}`);
  const old = fresh.filter(({ event }) => event.id <= high).map(({ event }) => event.id);
  const gone = await knownIds(connection, "deleted_events", old);
  const known = await knownAlerts(connection, old);
  const unknown = fresh.filter(({ user, event }) => !gone.has(event.id) && !known.has(`${event.id} ${user}`));
  if (unknown.length > 0) {
    const rows = new Rows(pool);
    await rows.add(unknown);
    await appendChunks(connection, "alerts", rows.chunks);
    rows.release();
  }
  return largestOf([high, ...fresh.map(({ event }) => event.id)]);
}

function largestOf(ids: readonly string[]): string {
  return ids.reduce((largest, id) => (id > largest ? id : largest), "");
}

export function distinct<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const seen = new Set<string>();
  return items.filter((item) => seen.size < seen.add(keyOf(item)).size);
}

/** Those of `ids` that a table holds; of `events`, also those that it held before their deletion. */
export async function knownIds(
  connection: DuckDBConnection,
  table: "events" | "deleted_events" | "visits",
  ids: readonly EventId[],
): Promise<ReadonlySet<EventId>> {
  if (ids.length === 0) return new Set();
  const tables = table === "events" ? ["events", "deleted_events"] : [table];
  const parts = tables.map((name) => `select id_hi, id_lo from ${name} where ${NEAR}`);
  const result = await connection.runAndReadAll(`${ASKED} ${parts.join(" union all ")}`, idParameters(ids));
  return new Set((result.getRows() as [bigint, number][]).map(([hi, lo]) => joinId(hi, lo)));
}

async function knownAlerts(connection: DuckDBConnection, ids: readonly EventId[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const sql = `${ASKED} select id_hi, id_lo, user_id from alerts where ${NEAR}`;
  const result = await connection.runAndReadAll(sql, idParameters(ids));
  return new Set((result.getRows() as [bigint, number, UserId][]).map(([hi, lo, user]) => `${joinId(hi, lo)} ${user}`));
}

/** Notes that a partition is covered up to and with `position`; never moves back. */
export async function advance(connection: DuckDBConnection, position: Position): Promise<void> {
  const values = [position.topic, position.partition, BigInt(position.offset) + 1n];
  const updated = await connection.run(
    `update positions set next_offset = greatest(next_offset, $3::bigint) where topic = $1 and "partition" = $2`,
    values,
  );
  if (updated.rowsChanged === 0) await connection.run("insert into positions values ($1, $2, $3)", values);
}

/** False where the log has no such event. */
export async function deleteEvent(connection: DuckDBConnection, log: LogKey, id: EventId): Promise<boolean> {
  const { hi, lo } = splitId(id);
  const isIt = "id_hi = $1::ubigint and id_lo = $2::uinteger";
  const deleted = await connection.run(`delete from events where ${isIt} and log = $3`, [hi, lo, log]);
  if (deleted.rowsChanged === 0) return false;
  await connection.run("insert into deleted_events values ($1::ubigint, $2::uinteger)", [hi, lo]);
  await connection.run(`delete from bookmarks where ${isIt}`, [hi, lo]);
  await connection.run(`delete from alerts where ${isIt}`, [hi, lo]);
  return true;
}

/** False where the log has no such event. */
export async function insertBookmark(
  connection: DuckDBConnection,
  user: UserId,
  log: LogKey,
  id: EventId,
): Promise<boolean> {
  const { hi, lo } = splitId(id);
  const values = [hi, lo, log];
  const exists = "select 1 from events where id_hi = $1::ubigint and id_lo = $2::uinteger and log = $3";
  if ((await connection.runAndReadAll(exists, values)).currentRowCount === 0) return false;
  await connection.run(
    `insert into bookmarks select $1::ubigint, $2::uinteger, $4, $3 where not exists
       (from bookmarks where user_id = $4 and id_hi = $1::ubigint and id_lo = $2::uinteger)`,
    [...values, user],
  );
  return true;
}

/** False where there is no such bookmark. */
export async function deleteBookmark(
  connection: DuckDBConnection,
  user: UserId,
  log: LogKey,
  id: EventId,
): Promise<boolean> {
  const { hi, lo } = splitId(id);
  const sql = "delete from bookmarks where id_hi = $1::ubigint and id_lo = $2::uinteger and log = $3 and user_id = $4";
  return (await connection.run(sql, [hi, lo, log, user])).rowsChanged > 0;
}

/** False where there is no such alert. */
export async function deleteAlert(
  connection: DuckDBConnection,
  user: UserId,
  log: LogKey,
  id: EventId,
): Promise<boolean> {
  const { hi, lo } = splitId(id);
  const sql = `update alerts set deleted = true
    where id_hi = $1::ubigint and id_lo = $2::uinteger and log = $3 and user_id = $4 and not deleted`;
  return (await connection.run(sql, [hi, lo, log, user])).rowsChanged > 0;
}

export async function deleteAlerts(connection: DuckDBConnection, user: UserId): Promise<void> {
  await connection.run("update alerts set deleted = true where user_id = $1 and not deleted", [user]);
}

/**
 * Writes items all at once, and where one of them cannot be stored, by halves until it is found: it alone is `rejected`.
 * Any other failure (a full disk, no memory) makes the items `retry`.
 */
export async function writeEach<T>(
  items: readonly T[],
  write: (items: readonly T[]) => Promise<void>,
): Promise<WriteOutcome[]> {
  try {
    await write(items);
    return items.map(() => DONE);
  } catch (error) {
    const reason = error instanceof Error ? firstLine(error.message) : String(error);
    if (!isFaultOfData(error, reason)) return items.map(() => ({ kind: "retry", reason }));
    if (items.length <= 1) return items.map(() => ({ kind: "rejected", reason }));
    const half = Math.ceil(items.length / 2);
    return [...(await writeEach(items.slice(0, half), write)), ...(await writeEach(items.slice(half), write))];
  }
}

/** Whether a value is at fault: one that no vector takes, or one that DuckDB refuses. */
function isFaultOfData(error: unknown, reason: string): boolean {
  if (error instanceof RangeError) return true;
  return /^(Conversion|Invalid Input|Out of Range|Constraint|Invalid type) Error/.test(reason);
}
