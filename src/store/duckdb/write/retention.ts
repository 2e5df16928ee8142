import type { DuckDBConnection } from "@duckdb/node-api";
import { setTimeout as sleep } from "node:timers/promises";

import { firstIdAt } from "../../../events/id.ts";
import { CREATED_AHEAD_MS, groupExpiry } from "../../expiry.ts";
import type { Expired } from "../../expiry.ts";
import type { Expiry } from "../../store.ts";
import type { Blocks } from "../blocks/no-blocks.ts";
import type { Database } from "../database/database.ts";
import { eraseDeleted, noteDeletion } from "./erase.ts";
import { splitId } from "../database/schema.ts";
import { blank } from "./write.ts";

/** Approximate number of rows deleted in one transaction, which blocks other writes. */
const STEP_ROWS = 5000;
const MAX_LOGS = 10_000;
/** Minimum pause between steps. A pause is at least as long as the step before. */
const REST_LEAST_MS = 5;

/** Deletes expired rows, oldest first. @returns how many events and visits were deleted */
export async function deleteExpired(
  database: Database,
  expiry: Expiry,
  blocks: Blocks,
  signal?: AbortSignal,
): Promise<number> {
  let count = 0;
  for (const expired of groupExpiry(expiry, MAX_LOGS)) {
    for (const table of ["events", "visits"] as const) {
      for (let rows = STEP_ROWS; rows >= STEP_ROWS; count += rows) {
        signal?.throwIfAborted();
        const start_ms = performance.now();
        const effect = table === "events" ? "anything" : "marks";
        rows = await database.write((connection) => deleteStep(connection, table, expired), effect);
        await sleep(Math.max(REST_LEAST_MS, performance.now() - start_ms), undefined, { signal });
      }
    }
    await database.write((connection) => deleteLeftAlerts(connection, expired), "marks");
  }
  const { markersBefore } = expiry;
  if (markersBefore !== null) {
    await database.write(
      (connection) =>
        connection.run("delete from deleted_events where id_hi < $1::ubigint", [firstAfter(markersBefore)]),
      "marks",
    );
  }
  if (count > 0) await database.write((connection) => blocks.dropEmpty(connection), "marks");
  await eraseDeleted(database, signal);
  return count;
}

const OF_LOGS = "log in (select unnest(from_json($1::json, '[\"VARCHAR\"]')))";

/** Deletes the oldest rows: one step's worth, or more if many have the same millisecond. */
async function deleteStep(
  connection: DuckDBConnection,
  table: "events" | "visits",
  { logs, before }: Expired,
): Promise<number> {
  const keys = JSON.stringify(logs);
  const step = await connection.runAndReadAll(
    `select created from ${table} where created < $2::bigint and ${OF_LOGS} ` +
      `order by created limit 1 offset ${STEP_ROWS - 1}`,
    [keys, BigInt(before)],
  );
  const last = step.getRows()[0]?.[0] as bigint | undefined;
  const values = [keys, last === undefined ? BigInt(before) : last + 1n];
  const isExpired = `created < $2::bigint and ${OF_LOGS}`;
  if (table === "events") {
    for (const marks of ["bookmarks", "alerts", "seen_alerts"]) {
      const ids = `select (id_hi, id_lo) from events where ${isExpired}`;
      await connection.run(`delete from ${marks} where ${OF_LOGS} and (id_hi, id_lo) in (${ids})`, values);
    }
  }
  await blank(connection, table, isExpired, values);
  const { rowsChanged } = await connection.run(`delete from ${table} where ${isExpired}`, values);
  if (rowsChanged > 0) await noteDeletion(connection);
  return rowsChanged;
}

/** Deletes alerts whose events were deleted or became dead letters. */
async function deleteLeftAlerts(connection: DuckDBConnection, { logs, before }: Expired): Promise<void> {
  const values = [JSON.stringify(logs), firstAfter(before)];
  for (const table of ["alerts", "seen_alerts"]) {
    await connection.run(`delete from ${table} where ${OF_LOGS} and id_hi < $2::ubigint`, values);
  }
}

/**
 * Returns the upper integer below which all ids are of events created before `moment`, whatever
 * time the producer gave.
 */
function firstAfter(moment: number): bigint {
  return splitId(firstIdAt(Math.max(0, moment - CREATED_AHEAD_MS))).hi;
}
