import { DOUBLE, DuckDBInstance, VARCHAR } from "@duckdb/node-api";
import test from "ava";

import { queryRows } from "../../../../src/store/duckdb/database/run-statement.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

const TEXTS = ["", "web", "' or true --", "\\'", "a\0b", "$1 $2", "grün 🦊 \u2028", "\ud800", "%_", "x".repeat(1_001)];

test("texts are read unchanged, few or many, short or long, alone or beside a number", async (t) => {
  const instance = await DuckDBInstance.create(":memory:");
  t.teardown(() => instance.closeSync());
  const connection = await instance.connect();
  const lone = (text: string): string => text.toWellFormed();
  for (const text of TEXTS) {
    const one = { sql: "select $1::varchar, strlen($1)", values: [text], types: [VARCHAR] };
    t.deepEqual(
      await queryRows(connection, one, new Scheduler().querying),
      [[lone(text), BigInt(Buffer.byteLength(text))]],
      JSON.stringify(text),
    );
    const mixed = { sql: "select $2::double, $1::varchar", values: [text, 0.1], types: [VARCHAR, DOUBLE] };
    t.deepEqual(
      await queryRows(connection, mixed, new Scheduler().querying),
      [[0.1, lone(text)]],
      JSON.stringify(text),
    );
  }
  const names = TEXTS.map((_, i) => `$${i + 1}::varchar`).join(", ");
  const all = { sql: `select ${names}`, values: TEXTS, types: TEXTS.map(() => VARCHAR) };
  t.deepEqual(await queryRows(connection, all, new Scheduler().querying), [TEXTS.map(lone)]);
  const few = { sql: "select $2::varchar, $1::varchar, $2::varchar", values: ["a'$2", "b"], types: [VARCHAR, VARCHAR] };
  t.deepEqual(await queryRows(connection, few, new Scheduler().querying), [["b", "a'$2", "b"]]);
});
