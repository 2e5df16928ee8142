import type { DuckDBValue } from "@duckdb/node-api";

import type { BeginColumn } from "./columns.ts";

/** Sets the values of a column one by one: the plain twin of `beginVector`. */
export const beginValues: BeginColumn = ({ valueOf }, chunk, index) => {
  const values: DuckDBValue[] = [];
  return {
    add(rows, at) {
      values.length = at;
      for (const row of rows) values.push(valueOf(row));
    },
    end: () => chunk.setColumnValues(index, values),
  };
};
