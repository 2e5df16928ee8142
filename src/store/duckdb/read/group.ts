import type { DuckDBConnection } from "@duckdb/node-api";

import { parseNumber } from "../../../events/attributes.ts";
import { orderOfGroups } from "../../../query/groups.ts";
import type { GroupPlan } from "../../../query/plan.ts";
import { mapYielding, sortYielding } from "../../../scheduling/yielding.ts";
import { GroupLengths, MAX_GROUPS, tooLongGroups, tooManyGroups } from "../../groups.ts";
import type { Group, GroupValue } from "../../store.ts";
import { runStatement, readResultRows } from "../database/run-statement.ts";
import type { Row } from "../database/run-statement.ts";
import { compileGroup } from "../compile/group.ts";
import type { CompiledKey } from "../compile/key.ts";
import type { ColumnStatistics } from "../memory/column-statistics.ts";
import { groupBySums } from "./group-by-sums.ts";
import type { WorkKind } from "../../../scheduling/yielding.ts";

export async function group(
  connection: DuckDBConnection,
  plan: GroupPlan,
  statistics: ColumnStatistics,
  querying: WorkKind,
): Promise<Group[]> {
  const answer = await statistics.runQuery(connection, async (schema) => {
    const { sums } = statistics;
    const groups = sums === null ? null : await groupBySums(connection, plan, { querying, statistics, sums, schema });
    if (groups !== null) return groups;
    const compiled = compileGroup(plan, schema);
    return { ...compiled, found: await runStatement(connection, compiled.statement) };
  });
  if (!("found" in answer)) return answer;
  const { found, keys, isSorted } = answer;
  if (found.rowCount > MAX_GROUPS) throw tooManyGroups();
  const lengths = new GroupLengths();
  const rows = await readResultRows(found, querying, (row) => {
    lengths.add(row);
    if (lengths.isFull) throw tooLongGroups();
  });
  const groups = await mapYielding(rows, (row) => toGroup(row, keys, plan.aggregates.length), querying);
  return isSorted ? groups : await sorted(groups, plan, querying);
}

function toGroup(row: Row, keys: readonly CompiledKey[], aggregates: number): Group {
  let next = 0;
  const keysOfGroup = keys.map(({ shown, read }) => read(row.slice(next, (next += shown.length))));
  const values = row
    .slice(next, next + aggregates)
    .map((value) => (typeof value === "bigint" ? Number(value) : value)) as GroupValue[];
  return { keys: keysOfGroup, values };
}

/** Sorts groups in an order that DuckDB cannot produce. */
async function sorted(groups: readonly Group[], plan: GroupPlan, querying: WorkKind): Promise<Group[]> {
  const { rank, compare } = orderOfGroups<Group>(plan, parseNumber);
  const ranked = await sortYielding(await mapYielding(groups, rank, querying), compare, querying);
  return ranked.slice(plan.skip, plan.take === null ? undefined : plan.skip + plan.take).map((one) => one.group);
}
