import type { DuckDBConnection } from "@duckdb/node-api";

import type { Visit } from "../../../events/visit.ts";
import { encodeId, foldedUnlessAscii } from "../database/schema.ts";
import { distinct, storedIds } from "./write.ts";

const VISITS_SHAPE = JSON.stringify([
  {
    id_hi: "UBIGINT",
    id_lo: "UINTEGER",
    created: "BIGINT",
    log: "VARCHAR",
    user: "VARCHAR",
    email: "VARCHAR",
    page: "VARCHAR",
    folded: { user: "VARCHAR", email: "VARCHAR", page: "VARCHAR" },
  },
]);

/** Inserts the visits that are not stored yet, each once. Returns the largest id now stored. */
export async function insertVisits(
  connection: DuckDBConnection,
  visits: readonly Visit[],
  high: string,
): Promise<string> {
  const fresh = distinct(visits, ({ id }) => id);
  const known = await storedIds(
    connection,
    "visits",
    fresh.filter(({ id }) => id <= high).map(({ id }) => id),
  );
  const rows = fresh.filter(({ id }) => !known.has(id)).map(encodeVisit);
  if (rows.length > 0) {
    const sql = `insert into visits select unnest(json_transform_strict($1::json, '${VISITS_SHAPE}'), max_depth := 2)`;
    await connection.run(sql, [JSON.stringify(rows)]);
  }
  return fresh.reduce((largest, { id }) => (id > largest ? id : largest), high);
}

function encodeVisit({ id, created, log, user, email, page }: Visit): object {
  const folded = { user: foldedUnlessAscii(user), email: foldedUnlessAscii(email), page: foldedUnlessAscii(page) };
  const hasFolded = Object.values(folded).some((text) => text !== null);
  return { ...encodeId(id), created, log, user, email, page, folded: hasFolded ? folded : null };
}
