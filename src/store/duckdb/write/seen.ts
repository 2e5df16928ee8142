import type { DuckDBConnection } from "@duckdb/node-api";

import type { LogKey, UserId } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import type { AlertsSeen } from "../../store.ts";
import { splitId } from "../database/schema.ts";

/** Marks one alert as seen or unseen. Returns false if there is no such alert. */
export async function setAlertSeen(
  connection: DuckDBConnection,
  { user, log, id }: { readonly user: UserId; readonly log: LogKey; readonly id: EventId },
  seen: boolean,
): Promise<boolean> {
  const { hi, lo } = splitId(id);
  const values = [hi, lo, user];
  const isThis = "id_hi = $1::ubigint and id_lo = $2::uinteger and user_id = $3";
  const exists = `select 1 from alerts where ${isThis} and log = $4 and not deleted`;
  if ((await connection.runAndReadAll(exists, [...values, log])).currentRowCount === 0) return false;
  if (seen) {
    await connection.run(
      `insert into seen_alerts select $1::ubigint, $2::uinteger, $3, $4, null
         where not exists (from seen_alerts where ${isThis})`,
      [...values, log],
    );
  } else await connection.run(`delete from seen_alerts where ${isThis}`, values);
  return true;
}

const OF_LOGS = "log in (select unnest(from_json($2::json, '[\"VARCHAR\"]')))";

/** Marks all unseen alerts of some logs as seen. @returns how many */
export async function markAlertsSeen(
  connection: DuckDBConnection,
  { user, logs, mark, until }: AlertsSeen & { readonly until: EventId | null },
): Promise<number> {
  const bound = until === null ? null : splitId(until);
  const upTo = bound === null ? "" : "and (id_hi, id_lo) <= ($4::ubigint, $5::uinteger)";
  const values = [user, JSON.stringify(logs), mark, ...(bound === null ? [] : [bound.hi, bound.lo])];
  const { rowsChanged } = await connection.run(
    `insert into seen_alerts select id_hi, id_lo, user_id, log, $3 from alerts
       where user_id = $1 and ${OF_LOGS} and not deleted ${upTo}
       and (id_hi, id_lo) not in (select (id_hi, id_lo) from seen_alerts where user_id = $1)`,
    values,
  );
  return rowsChanged;
}

/** Undoes {@link markAlertsSeen}. @returns how many */
export async function unmarkAlertsSeen(
  connection: DuckDBConnection,
  { user, logs, mark }: AlertsSeen,
): Promise<number> {
  const sql = `delete from seen_alerts where user_id = $1 and ${OF_LOGS} and mark = $3`;
  return (await connection.run(sql, [user, JSON.stringify(logs), mark])).rowsChanged;
}
