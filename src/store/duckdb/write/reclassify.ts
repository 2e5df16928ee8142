import type { DuckDBConnection } from "@duckdb/node-api";

import type { EventId } from "../../../events/id.ts";
import type { Classifiable, ReclassifyPiece, Reclassified } from "../../store.ts";
import type { Database } from "../database/database.ts";
import type { LogNumbers } from "../database/logs.ts";
import { encodeId, joinId, idHiRange, splitId, tagsOfLine } from "../database/schema.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

/** Rows of a piece. They change in one transaction, which blocks other writes. */
const PIECE_ROWS = 1_000;
/** Rows converted to events between yields to other work. */
const ROWS_A_TURN = 128;
/** Earlier than any time. */
const EARLIEST = -(10n ** 17n);

type StoredClassifiable = { readonly id: EventId; readonly created: number; readonly event: Classifiable };

/**
 * Implements {@link Store.reclassify}. Events are read while others write, and changed in a write
 * of their own. Only this function changes the class of a row, so that an unchanged class means an
 * unchanged row.
 */
export async function reclassify(
  database: Database,
  logs: Pick<LogNumbers, "get">,
  piece: ReclassifyPiece,
): Promise<Reclassified> {
  const number = logs.get(piece.log);
  if (number === undefined) return { examined: 0, changed: 0, last: null };
  const found = await database.read((connection) => readPiece(connection, number, piece, database.scheduler));
  const last = found.at(-1);
  if (last === undefined) return { examined: 0, changed: 0, last: null };
  const classes = await piece.classOf(found.map(({ event }) => event));
  const changes = found.flatMap(({ id, event }, i): Change[] =>
    event.class === classes[i] ? [] : [{ id, before: event.class, after: classes[i] ?? null }],
  );
  const changed = changes.length === 0 ? 0 : await database.write((connection) => change(connection, changes), "marks");
  const isEnd = found.length < PIECE_ROWS;
  return { examined: found.length, changed, last: isEnd ? null : { created: last.created, id: last.id } };
}

async function readPiece(
  connection: DuckDBConnection,
  number: number,
  { log, from, after }: ReclassifyPiece,
  scheduler: Scheduler,
): Promise<StoredClassifiable[]> {
  const least = BigInt(Math.max(from ?? Number(EARLIEST), after?.created ?? Number(EARLIEST)));
  const { hi, lo } = after === null ? { hi: 0n, lo: 0 } : splitId(after.id);
  const isAfter = after === null ? "" : "and (created > $5::bigint or (id_hi, id_lo) > ($3::ubigint, $4::uinteger))";
  const result = await connection.runAndReadAll(
    `select created, id_hi, id_lo, text, link, tags, source, class from events
       where log_number = $1::uinteger and created >= $2::bigint ${isAfter}
       order by created, id_hi, id_lo limit ${PIECE_ROWS}`,
    after === null ? [number, least] : [number, least, hi, lo, BigInt(after.created)],
  );
  const rows = result.getRows() as [bigint, bigint, number, string, string, string, string, string | null][];
  const found: StoredClassifiable[] = [];
  for (const [created, high, low, text, link, tags, source, cls] of rows) {
    if (found.length % ROWS_A_TURN === ROWS_A_TURN - 1) await scheduler.yieldToRequests();
    const event = { log, text, link, tags: tagsOfLine(tags), source, class: cls };
    found.push({ id: joinId(high, low), created: Number(created), event });
  }
  return found;
}

type Change = { readonly id: EventId; readonly before: string | null; readonly after: string | null };

const SHAPE = JSON.stringify([{ id_hi: "UBIGINT", id_lo: "UINTEGER", before: "VARCHAR", after: "VARCHAR" }]);

/** Updates classes. Keys of classes are lower-case ASCII and have no separate folded form. */
async function change(connection: DuckDBConnection, changes: readonly Change[]): Promise<number> {
  const requested = changes.map(({ id, before, after }) => ({ ...encodeId(id), before, after }));
  const { rowsChanged } = await connection.run(
    `with requested as (select unnest(from_json($1::json, '${SHAPE}'), max_depth := 2))
       update events set class = requested.after from requested
       where events.id_hi between $2::ubigint and $3::ubigint and events.id_hi = requested.id_hi
         and events.id_lo = requested.id_lo and events.class is not distinct from requested.before`,
    [JSON.stringify(requested), ...idHiRange(changes.map(({ id }) => id))],
  );
  return rowsChanged;
}
