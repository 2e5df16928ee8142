import test from "ava";
import * as fc from "fast-check";

import type { LogKey, UserId } from "../../../../src/events/event.ts";
import type { EventId } from "../../../../src/events/id.ts";
import {
  compileCount,
  compileInOnePass,
  compileFind,
  compileFirstTimes,
  compileNearEnd,
  compilePage,
  compileShortPage,
  compileSlices,
  compileUnsorted,
} from "../../../../src/store/duckdb/compile/compile.ts";
import { compileTop } from "../../../../src/store/duckdb/compile/fields.ts";
import { compileGroup } from "../../../../src/store/duckdb/compile/group.ts";
import { groupPlan, listPlan } from "../../../contract/store-fixture.ts";
import { listPlans } from "../../../reference/arbitrary.ts";
import { groupPlans } from "../../../reference/arbitrary-groups.ts";
import { STATISTICS } from "../../../../src/store/duckdb/memory/query-schema.ts";
import type { Statistic, QuerySchema } from "../../../../src/store/duckdb/memory/query-schema.ts";

const SHOP = "shop" as LogKey;
const ID = "6635f7a0000000010badcafe" as EventId;
const KNOWN = schemaOf(STATISTICS, [SHOP]);

/** Returns what is known of some logs, which are numbered from 7 on. */
function schemaOf(statistics: readonly Statistic[], logs: readonly LogKey[]): QuerySchema {
  return {
    statistics: new Set(statistics),
    logs: new Map(logs.map((log, i) => [log, 7 + i])),
    attributes: { locationOf: () => ({ number: 0, text: 1, others: true }), namesOf: () => [], hasOthers: () => true },
    blocks: { rangesOf: () => null },
  };
}

function oneLine(sql: string): string {
  return sql.replaceAll(/\s+/g, " ").trim();
}

test("a page is limited to its span of time", (t) => {
  const plan = listPlan(SHOP, {
    where: { kind: "text", field: "source", op: "=", value: "web" },
    sort: [{ field: "created", direction: "desc" }],
    take: 5,
  });
  const { sql, values } = compilePage(plan, 2, { from: 10n, to: 20n }, KNOWN);
  t.is(
    oneLine(sql),
    'select id_hi, id_lo, created, log, text, tags, class, value, lat, lon, ip, attributes, pattern, "link", "source", "user", data is not null from events ' +
      'where log_number in (7) and true and coalesce(folded."source", lower("source")) = $1 ' +
      "and created >= 10::bigint and created < 20::bigint " +
      "order by created desc nulls last, created desc nulls last, id_hi desc nulls last, id_lo desc nulls last limit 5::bigint offset 2::bigint",
  );
  t.deepEqual(values, ["web"]);
});

test("a field without folded forms of its own is not looked up", (t) => {
  const where = { kind: "in", field: "tags", values: ["error"] } as const;
  const sort = [{ field: "source", direction: "asc" }] as const;
  t.regex(
    compilePage(listPlan(SHOP, { where, sort }), 0, null, KNOWN).sql,
    /coalesce\(folded\."tags", lower\(tags\)\).*coalesce\(folded\."source"/s,
  );
  t.notRegex(compilePage(listPlan(SHOP, { where, sort }), 0, null, schemaOf(["text"], [SHOP])).sql, /folded/);
  for (const field of ["source", "tags", "class", "user"] as const) {
    const plan = groupPlan(SHOP, { by: [{ kind: "field", field }] });
    t.regex(compileGroup(plan, schemaOf([field], [SHOP])).statement.sql, /folded\./);
    t.notRegex(compileGroup(plan, schemaOf(["text"], [SHOP])).statement.sql, /folded\./);
  }
});

test("bookmarks and alerts select events; deleted alerts do not", (t) => {
  const user = "0123456789abcdef" as UserId;
  const from = { kind: "alerts", user } as const;
  const { sql, values } = compileFind(from, SHOP, ID);
  t.true(
    oneLine(sql).endsWith(
      "where (id_hi = 7365065032201142273::ubigint and id_lo = 195939070::uinteger) and log = 'shop' " +
        "and (id_hi, id_lo) in (select (id_hi, id_lo) from alerts where user_id = $1 and not deleted)",
    ),
  );
  t.deepEqual(values, [user]);
});

test("only numbers and log keys of a request are written into the SQL", (t) => {
  const logs = ["log-one", "log-two"] as LogKey[];
  const schema = schemaOf(STATISTICS, logs);
  const OTHERS = `'[{"n":"VARCHAR","t":"VARCHAR","f":"VARCHAR","d":"DOUBLE"}]'`;
  const LITERALS = new Set(["''", "'\n'", "'i'", "'0'", "'e'", OTHERS]);
  const words = /^[\w\s$.,()[\]{}<>=+/|%*'":-]*$/;
  t.notThrows(() =>
    fc.assert(
      fc.property(listPlans(logs), groupPlans(logs), (list, group) => {
        for (const { sql, values, types } of [
          compilePage(list, 0, null, schema),
          compileNearEnd(list, { from: 0n, to: 1n }, 10, schema),
          compileCount(list, 10, { from: 0n, to: 1n }, schema),
          compileInOnePass(list, 10, schema),
          compileUnsorted(list, 10, schema),
          compileFirstTimes(list, 10, { from: 0n, to: 1n }, schema),
          compileShortPage(list, 3, { from: 0n, to: 1n }, schema),
          compileSlices(list, 3, schema),
          compileGroup(group, schema).statement,
        ]) {
          const literals = new Set(sql.match(/'[^']*'/g));
          const named = new Set(Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => Number(number)));
          if (!words.test(sql) || ![...literals].every((literal) => LITERALS.has(literal))) return false;
          if (values.length !== types.length || Math.max(0, ...named) !== values.length) return false;
        }
        return true;
      }),
      { numRuns: 500 },
    ),
  );
});

test("a number compared with a text field, or a text with a number field, is a fault of the plan's author", (t) => {
  const number = listPlan(SHOP, { where: { kind: "number", field: "source", op: "=", value: 1 } });
  const text = listPlan(SHOP, { where: { kind: "contains", field: "value", value: "1" } });
  t.throws(() => compilePage(number, 0, null, KNOWN), {
    instanceOf: TypeError,
    message: "source is not a number field",
  });
  t.throws(() => compilePage(text, 0, null, KNOWN), { instanceOf: TypeError, message: "value is not a text field" });
});

test("groups without a limit compile without one", (t) => {
  t.notRegex(compileGroup(groupPlan(SHOP), KNOWN).statement.sql, /limit/);
  t.regex(compileGroup(groupPlan(SHOP, { take: 3 }), KNOWN).statement.sql, /limit 3::bigint offset 0::bigint$/);
});

test("an unvalidated log key is never written into the SQL", (t) => {
  const log = "shop') or true --" as LogKey;
  t.throws(() => compileFind({ kind: "events" }, log, ID), { instanceOf: TypeError, message: /is not a log key/ });
  for (const schema of [KNOWN, schemaOf(STATISTICS, [log])])
    t.notRegex(compilePage(listPlan(log), 0, null, schema).sql, /shop/);
});

test("logs are selected by number; a log without one has no events", (t) => {
  const where = (logs: readonly string[]): string =>
    /where (.*?) and true/.exec(compileSlices({ ...listPlan(SHOP), logs: logs as LogKey[] }, 3, KNOWN).sql)![1]!;
  t.is(where(["shop"]), "log_number in (7)");
  t.is(where(["new", "shop"]), "log_number in (7)");
  t.is(where(["new"]), "false");
  t.is(where([]), "false");
});

test("an attribute is read from its column, from the rest of the attributes, or not at all", (t) => {
  const other = "other" as LogKey;
  const schema: QuerySchema = {
    ...schemaOf([], [SHOP, other]),
    attributes: {
      locationOf: (log, name) => ({ number: name === "took" ? log : null, text: null, others: name === "rare" }),
      namesOf: () => [],
      hasOthers: () => true,
    },
  };
  const where = (field: "@took" | "@rare" | "@none", logs: LogKey[]): string => {
    const plan = { ...listPlan(logs), where: { kind: "number", field, op: ">", value: 5 } as const };
    return /and true and (.*) group by/.exec(oneLine(compileSlices(plan, 3, schema).sql))![1]!;
  };
  t.is(where("@took", [SHOP]), "((attribute_7 is not null and attribute_7 > $1))");
  const both = "case when log_number in (7) then attribute_7 when log_number in (8) then attribute_8 end";
  t.is(where("@took", [SHOP, other]), `((${both} is not null and ${both} > $1))`);
  t.is(where("@none", [SHOP]), "false");
  t.is(
    where("@rare", [SHOP]),
    "(coalesce(len(case when contains(others, $2) then list_filter(from_json(others, " +
      `'[{"n":"VARCHAR","t":"VARCHAR","f":"VARCHAR","d":"DOUBLE"}]'), ` +
      "lambda one: one.n = $3 and one.d > $1) end) > 0, false))",
  );
});

test("groups by attributes with columns unpack nothing, and groups by tags are computed from groups", (t) => {
  const schema: QuerySchema = {
    ...schemaOf([], [SHOP]),
    attributes: {
      locationOf: () => ({ number: null, text: 3, others: false }),
      namesOf: () => [],
      hasOthers: () => false,
    },
  };
  const aggregates = [{ kind: "count", where: null }] as const;
  const sqlOf = (field: "@host" | "tags"): string =>
    oneLine(compileGroup(groupPlan(SHOP, { by: [{ kind: "field", field }], aggregates }), schema).statement.sql);
  t.is(
    sqlOf("@host"),
    "select k0, a0 from (select k0, count(*) as a0, count(*) as rows_of_group from (select attribute_3 as k0 " +
      "from events where log_number in (7) and true and true) group by k0) " +
      "order by lower(k0) asc nulls first, k0 asc nulls first offset 0::bigint",
  );
  t.regex(sqlOf("tags"), /unnest\(string_split\(.*from events where .* group by tags\)\) group by k0/);
});

test("only numbers that may be among the most frequent values are formatted as text", (t) => {
  const schema: QuerySchema = {
    ...schemaOf([], [SHOP]),
    attributes: {
      locationOf: (_, name) => ({
        number: name === "took" ? 3 : null,
        text: name === "host" ? 4 : null,
        others: false,
      }),
      namesOf: () => [],
      hasOthers: () => false,
    },
  };
  const question = { log: SHOP, from: null, to: null, prefix: "", values: 5 };
  const sqlOf = (field: "@took" | "@host" | "value" | "tags"): string =>
    oneLine(compileTop(question, field, schema).statement.sql);
  const candidates = "where a0 >= (select min(a0) from (select a0 from counted order by a0 desc limit 5::bigint))";
  for (const field of ["@took", "value"] as const) t.true(sqlOf(field).includes(candidates), field);
  t.regex(sqlOf("@host"), /^select k0, a0 from .* order by a0 desc, k0 limit 5::bigint$/);
  t.regex(sqlOf("tags"), /unnest\(string_split\(.*from events where .* group by tags\)\) group by k0/);
});
