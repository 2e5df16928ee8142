import test from "ava";
import * as fc from "fast-check";

import { withoutHidden } from "../../../../src/web/parts/query/hiding.ts";
import { readQuery } from "../../../../src/web/parts/query/compose.ts";
import { holds } from "../../../reference/evaluate.ts";
import { conditionOf, events, typedQueries } from "./queries.ts";

test("hidden classes are left out unless the query names them, and nothing else", (t) => {
  let left = 0;
  const classes = fc.subarray(["a", "b", "error", "web-1"], { minLength: 1 });
  const property = fc.property(typedQueries, classes, events, (text, hide, all) => {
    const { query, hidden } = withoutHidden(text, hide);
    t.not(readQuery(query), null, query);
    const [before, after] = [conditionOf(text), conditionOf(query)];
    for (const event of all) {
      const isLeftOut = hidden.includes(event.class ?? "");
      left += isLeftOut ? 1 : 0;
      t.is(holds(after, event), holds(before, event) && !isLeftOut, `${query} of ${event.class}`);
    }
  });
  fc.assert(property, { numRuns: 500 });
  t.true(left > 50, `${left}`);
});

test("a class that the query names is shown", (t) => {
  const hiddenOf = (text: string) => withoutHidden(text, ["cron", "noise"]).hidden;
  t.deepEqual(hiddenOf("GET events"), ["cron", "noise"]);
  t.deepEqual(hiddenOf("GET events.Noise"), ["cron"]);
  t.deepEqual(hiddenOf("GET events WHERE class = 'CRON' AND text CONTAINS 'x'"), ["noise"]);
  t.deepEqual(hiddenOf("GET events WHERE value > 1 OR NOT class IN ('cron', 'noise')"), []);
  t.deepEqual(hiddenOf("GET events WHERE source = 'cron'"), ["cron", "noise"]);
});

test("queries for users and those with a fault are unchanged", (t) => {
  for (const text of ["GET users", "GET events WHERE", ""])
    t.deepEqual(withoutHidden(text, ["noise"]), { query: text, hidden: [] });
});
