import test from "ava";

import { parseQuery } from "../../../../src/query/parser.ts";
import { clauseText, textWithCondition, textWithoutClauses } from "../../../../src/web/parts/query/clauses.ts";

test("clauses are found wherever they are", (t) => {
  const text = "GET events.a SORT created created OCCURS(TODAY - DAYS(2), NOW) WHERE text = 'TAKE 5 (' TAKE 3";
  t.is(clauseText(text, "occurs"), "created OCCURS(TODAY - DAYS(2), NOW)");
  t.is(clauseText(text, "sort"), "SORT created");
  t.is(clauseText(text, "take"), "TAKE 3");
  t.is(clauseText(text, "skip"), null);
  t.is(textWithoutClauses(text, ["sort", "occurs", "take"]), "GET events.a WHERE text = 'TAKE 5 ('");
  t.is(clauseText("GET events SORT created OCCURS(TODAY)", "occurs"), "OCCURS(TODAY)");
  t.is(clauseText("GET events GROUP BY DAY TAKE 1", "groupBy"), "GROUP BY DAY");
});

test("a condition is combined with those of a query as a whole", (t) => {
  const where = (text: string) => textWithCondition(text, "id < 'f'");
  t.is(where("GET events"), "GET events WHERE id < 'f'");
  t.is(
    where("GET events WHERE value = 1 OR value = 2 // or"),
    "GET events WHERE (value = 1 OR value = 2) AND id < 'f' // or",
  );
  t.is(where("GET events // all\nTAKE 2"), "GET events WHERE id < 'f' // all\nTAKE 2");
  t.is(where("GET nothing that can be read"), "GET nothing that can be read");
  const tree = parseQuery(where("GET events TAKE 2 WHERE source = 'a' OR source = 'b' // or"));
  t.is(tree.clauses.where?.kind, "and");
});
