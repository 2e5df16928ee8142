import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";

import type { Deletion } from "../../../events/deletion.ts";
import type { LogKey, UserId } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import type { Position } from "../../../bus/bus.ts";
import type { Alert, WriteOutcome } from "../../store.ts";
import { firstLine } from "../database/errors.ts";
import type { Block } from "../blocks/block-index.ts";
import type { Blocks } from "../blocks/no-blocks.ts";
import { attributeColumnsIn } from "../database/attributes.ts";
import { appendChunks, Rows } from "./chunks.ts";
import type { ChunkPool } from "./chunks.ts";
import { noteDeletion } from "./erase.ts";
import type { DuckdbEvents } from "./prepared.ts";
import {
  WITH_IDS,
  encodeId,
  idParameters,
  IDS_SHAPE,
  joinId,
  HAS_ID,
  splitId,
  TEXT_COLUMNS,
} from "../database/schema.ts";

const DONE: WriteOutcome = Object.freeze({ kind: "done" });

/**
 * The largest ids that `events`, `alerts` and `visits` hold, or held before a deletion. A larger id
 * is new and needs no lookup; as ids ascend, this is the usual case.
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

/**
 * Inserts the events that are neither stored nor deleted, each once.
 * @returns the largest id now stored, and the block that was completed, see `BlockIndex.add`
 */
export async function insertEvents(
  connection: DuckDBConnection,
  events: DuckdbEvents,
  high: string,
  blocks: Blocks,
): Promise<{ readonly high: string; readonly block: Block | null }> {
  // In the usual case all events are new and distinct.
  const isNew = events.isAscending && events.first > high;
  const unknown = isNew ? events : await unknownAmong(connection, events, high);
  if (unknown.chunks.length > 0) await appendChunks(connection, "events", unknown.chunks, unknown.scheduler);
  const block = await blocks.add(connection, {
    tokens: unknown.tokens,
    rows: unknown.length,
    span: isNew && events.first !== "" && events.last !== "" ? { first: events.first, last: events.last } : null,
    ids: () => unknown.ids(),
  });
  // The caller's events are needed until they are committed.
  if (unknown !== events) unknown.release();
  return { high: isNew ? events.last : largestOf([high, ...events.ids()]), block };
}

async function unknownAmong(connection: DuckDBConnection, events: DuckdbEvents, high: string): Promise<DuckdbEvents> {
  const ids = events.ids();
  const old = ids.filter((id) => id <= high);
  const seen = new Set(await storedIds(connection, "events", old));
  const isUnknown = (id: EventId): boolean => seen.size < seen.add(id).size;
  const indexes = [...ids.keys()].filter((index) => events.faults.has(index) || isUnknown(ids[index]!));
  return indexes.length === ids.length ? events : events.pick(indexes);
}

/**
 * Inserts the alerts that are neither stored nor deleted, nor belong to a deleted event, each once.
 * Returns the largest id now stored.
 */
export async function insertAlerts(
  connection: DuckDBConnection,
  alerts: readonly Alert[],
  high: string,
  pool: ChunkPool<Alert, Alert>,
): Promise<string> {
  const fresh = distinct(alerts, ({ user, event }) => `${event.id} ${user}`);
  const old = fresh.filter(({ event }) => event.id <= high).map(({ event }) => event.id);
  const gone = await storedIds(connection, "deleted_events", old);
  const known = await storedAlerts(connection, old);
  const unknown = fresh.filter(({ user, event }) => !gone.has(event.id) && !known.has(`${event.id} ${user}`));
  if (unknown.length > 0) {
    const rows = new Rows(pool);
    await rows.add(unknown);
    await appendChunks(connection, "alerts", rows.chunks, pool.scheduler);
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

/** Returns those of `ids` that a table holds; for `events`, including deleted ones. */
export async function storedIds(
  connection: DuckDBConnection,
  table: "events" | "deleted_events" | "visits",
  ids: readonly EventId[],
): Promise<ReadonlySet<EventId>> {
  if (ids.length === 0) return new Set();
  const tables = table === "events" ? ["events", "deleted_events"] : [table];
  const parts = tables.map((name) => `select id_hi, id_lo from ${name} where ${HAS_ID}`);
  const result = await connection.runAndReadAll(`${WITH_IDS} ${parts.join(" union all ")}`, idParameters(ids));
  return new Set((result.getRows() as [bigint, number][]).map(([hi, lo]) => joinId(hi, lo)));
}

async function storedAlerts(connection: DuckDBConnection, ids: readonly EventId[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const sql = `${WITH_IDS} select id_hi, id_lo, user_id from alerts where ${HAS_ID}`;
  const result = await connection.runAndReadAll(sql, idParameters(ids));
  return new Set((result.getRows() as [bigint, number, UserId][]).map(([hi, lo, user]) => `${joinId(hi, lo)} ${user}`));
}

/** Records that a partition is covered up to and including `position`. Never moves back. */
export async function advance(connection: DuckDBConnection, position: Position): Promise<void> {
  const values = [position.topic, position.partition, BigInt(position.offset) + 1n];
  const updated = await connection.run(
    `update positions set next_offset = greatest(next_offset, $3::bigint) where topic = $1 and "partition" = $2`,
    values,
  );
  if (updated.rowsChanged === 0) await connection.run("insert into positions values ($1, $2, $3)", values);
}

/** Returns false if the log has no such event. */
export async function deleteEvent(connection: DuckDBConnection, log: LogKey, id: EventId): Promise<boolean> {
  const { hi, lo } = splitId(id);
  const sql = "select 1 from events where id_hi = $1::ubigint and id_lo = $2::uinteger and log = $3";
  if ((await connection.runAndReadAll(sql, [hi, lo, log])).currentRowCount === 0) return false;
  await deleteEvents(connection, [id]);
  return true;
}

/**
 * Sets the texts of an event to nothing. As long as other rows of the row group live, a checkpoint
 * rewrites deleted rows too, so texts are overwritten before the deletion; blocks that are then
 * free are overwritten later (`erase.ts`).
 */
const BLANK = `${[...TEXT_COLUMNS, "pattern"].map((name) => `"${name}" = ''`).join(", ")}, lat = null, lon = null,
  ip = null, data = null, folded = null, attributes = null, others = null`;

async function blankEvent(connection: DuckDBConnection): Promise<string> {
  const columns = await attributeColumnsIn(connection);
  return [BLANK, ...columns.map((column) => `${column} = null`)].join(", ");
}

/** Deletes events that have no marker yet, with their bookmarks and alerts. @param ids not empty */
async function deleteEvents(connection: DuckDBConnection, ids: readonly EventId[]): Promise<void> {
  const values = idParameters(ids);
  await connection.run(`${WITH_IDS} update events set ${await blankEvent(connection)} where ${HAS_ID}`, values);
  for (const table of ["events", "bookmarks", "alerts", "seen_alerts"]) {
    await connection.run(`${WITH_IDS} delete from ${table} where ${HAS_ID}`, values);
  }
  const marked = `select unnest(from_json($1::json, '${IDS_SHAPE}'), max_depth := 2)`;
  await connection.run(`insert into deleted_events ${marked}`, [values[0]]);
  await noteDeletion(connection);
}

/** Overwrites the texts of rows that are about to be deleted. */
export async function blank(
  connection: DuckDBConnection,
  table: "events" | "visits",
  condition: string,
  values: DuckDBValue[],
): Promise<void> {
  const texts = table === "events" ? await blankEvent(connection) : `"user" = '', email = '', page = '', folded = null`;
  await connection.run(`update ${table} set ${texts} where ${condition}`, values);
}

/** Applies deletions that are not known yet, and returns the raised high-water marks. */
export async function insertDeletions(
  connection: DuckDBConnection,
  deletions: readonly Deletion[],
  high: HighWater,
): Promise<HighWater> {
  const ids = distinct(deletions, ({ event }) => event).map(({ event }) => event);
  const known = await storedIds(connection, "deleted_events", ids);
  const isOfEvent = ({ alertOf }: Deletion): boolean => alertOf === null;
  const gone = new Set(deletions.filter(isOfEvent).map(({ event }) => event));
  const events = [...gone].filter((id) => !known.has(id));
  if (events.length > 0) await deleteEvents(connection, events);
  // If the event is deleted, its marker also blocks alerts.
  const alerts = deletions.filter(({ event, alertOf }) => alertOf !== null && !gone.has(event) && !known.has(event));
  if (alerts.length > 0) await deleteAlerts(connection, alerts);
  const latest = largestOf([...events, ...alerts.map(({ event }) => event)]);
  return {
    ...high,
    event: largestOf([high.event, ...events]),
    alert: largestOf([high.alert, latest]),
  };
}

const ALERTS_SHAPE = JSON.stringify([{ id_hi: "UBIGINT", id_lo: "UINTEGER", user_id: "VARCHAR", log: "VARCHAR" }]);

/**
 * Deletes alerts. A deleted alert is its own marker; if there was no alert, the marker is inserted.
 */
async function deleteAlerts(connection: DuckDBConnection, deletions: readonly Deletion[]): Promise<void> {
  const rows = deletions.map(({ log, event, alertOf }) => ({ ...encodeId(event), user_id: alertOf, log }));
  const withRequested = `with requested as
    (select distinct unnest(from_json($1::json, '${ALERTS_SHAPE}'), max_depth := 2))`;
  const values = [JSON.stringify(rows)];
  const [, ...span] = idParameters(deletions.map(({ event }) => event));
  await connection.run(
    `${withRequested} update alerts set deleted = true where not deleted and id_hi between $2::ubigint and $3::ubigint
       and (id_hi, id_lo, user_id) in (select (id_hi, id_lo, user_id) from requested)`,
    [...values, ...span],
  );
  await connection.run(
    `${withRequested} insert into alerts select id_hi, id_lo, user_id, log, true from requested where (id_hi, id_lo, user_id)
       not in (select (id_hi, id_lo, user_id) from alerts where id_hi between $2::ubigint and $3::ubigint)`,
    [...values, ...span],
  );
}

/** Returns false if the log has no such event. */
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

/** Returns false if there is no such bookmark. */
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

/** Returns false if there is no such alert. */
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

/**
 * Writes items in one batch. If an item cannot be stored, the batch is halved until that item alone
 * is `rejected`. Any other failure (a full disk, no memory) makes all items `retry`.
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

/** Returns whether a value is at fault: no vector takes it, or DuckDB rejects it. */
function isFaultOfData(error: unknown, reason: string): boolean {
  if (error instanceof RangeError) return true;
  return /^(Conversion|Invalid Input|Out of Range|Constraint|Invalid type) Error/.test(reason);
}
