import test from "ava";
import * as fc from "fast-check";

import type { LogKey, UserId } from "../../../src/events/event.ts";
import type { EventId } from "../../../src/events/id.ts";
import {
  compileFew,
  compileFind,
  compileGroup,
  compilePage,
  compileSlices,
} from "../../../src/store/duckdb/compile.ts";
import { groupPlan, listPlan } from "../../contract/store-fixture.ts";
import { groupPlans, listPlans } from "../../reference/arbitrary.ts";

const SHOP = "shop" as LogKey;
const ID = "6635f7a0000000010badcafe" as EventId;

function oneLine(sql: string): string {
  return sql.replaceAll(/\s+/g, " ").trim();
}

test("a page is bounded by the span it lies in", (t) => {
  const plan = listPlan(SHOP, {
    where: { kind: "text", field: "source", op: "=", value: "web" },
    sort: [{ field: "created", direction: "desc" }],
    take: 5,
  });
  const { sql, values } = compilePage(plan, 2, { from: 10n, to: 20n });
  t.is(
    oneLine(sql),
    'select id_hi, id_lo, created, log, text, link, hash, tags, source, "user", class, value, lat, lon, ip, data is not null from events ' +
      'where log in ($1) and true and (coalesce(folded."source", lower(source)) <> \'\' and coalesce(folded."source", lower(source)) = $2) ' +
      "and created >= $3 and created < $4 " +
      "order by created desc nulls last, created desc nulls last, id_hi desc nulls last, id_lo desc nulls last limit $5 offset $6",
  );
  t.deepEqual(values, [SHOP, "web", 10n, 20n, 5n, 2n]);
});

test("a field of which no event has a folded form of its own is not looked up", (t) => {
  const where = { kind: "in", field: "tags", values: ["error"] } as const;
  const sort = [{ field: "source", direction: "asc" }] as const;
  t.regex(
    compilePage(listPlan(SHOP, { where, sort }), 0, null).sql,
    /coalesce\(folded\.tags, tags\).*coalesce\(folded\."source"/s,
  );
  t.notRegex(compilePage(listPlan(SHOP, { where, sort }), 0, null, new Set(["text"])).sql, /folded/);
  for (const field of ["source", "tags", "class", "user"] as const) {
    const plan = groupPlan(SHOP, { by: { kind: "field", field } });
    t.regex(compileGroup(plan, new Set([field])).sql, /folded\./);
    t.notRegex(compileGroup(plan, new Set(["text"])).sql, /folded\./);
  }
});

test("bookmarks and alerts narrow the events; a deleted alert is none", (t) => {
  const user = "0123456789abcdef" as UserId;
  const from = { kind: "alerts", user } as const;
  const { sql, values } = compileFind(from, SHOP, ID);
  t.true(
    oneLine(sql).endsWith(
      "where (id_hi = $1 and id_lo = $2) and log = $3 and (id_hi, id_lo) in (select (id_hi, id_lo) from alerts where user_id = $4 and not deleted)",
    ),
  );
  t.deepEqual(values, [0x6635f7a000000001n, 0x0badcafe, SHOP, user]);
});

test("nothing that a caller says becomes SQL", (t) => {
  const logs = ["log-one", "log-two"] as LogKey[];
  const words = /^[\w\s$.,()[\]<>=+/|%*'":-]*$/;
  t.notThrows(() =>
    fc.assert(
      fc.property(listPlans(logs), groupPlans(logs), (list, group) => {
        for (const { sql, values, types } of [
          compilePage(list, 0, null),
          compileFew(list, 10),
          compileSlices(list, 3),
          compileGroup(group),
        ]) {
          const literals = new Set(sql.match(/'[^']*'/g));
          const named = new Set(Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => Number(number)));
          if (!words.test(sql) || ![...literals].every((literal) => ["''", "'i'", "'0'"].includes(literal)))
            return false;
          if (values.length !== types.length || Math.max(0, ...named) !== values.length) return false;
        }
        return true;
      }),
      { numRuns: 500 },
    ),
  );
});

test("a number asked of a text, or a text of a number, is a fault of the plan's maker", (t) => {
  const number = listPlan(SHOP, { where: { kind: "number", field: "source", op: "=", value: 1 } });
  const text = listPlan(SHOP, { where: { kind: "contains", field: "value", value: "1" } });
  t.throws(() => compilePage(number, 0, null), { instanceOf: TypeError, message: "source does not hold a number" });
  t.throws(() => compilePage(text, 0, null), { instanceOf: TypeError, message: "value does not hold a text" });
});

test("groups without a limit have none", (t) => {
  t.notRegex(compileGroup(groupPlan(SHOP)).sql, /limit/);
  t.regex(compileGroup(groupPlan(SHOP, { take: 3 })).sql, /limit \$\d+ offset \$\d+$/);
});
