import test from "ava";

import { parseQuery } from "../../../../src/query/parser.ts";
import {
  clauseOf,
  firstCursor,
  listQuestion,
  namesOfColumns,
  pageQuery,
  withCondition,
  withoutClauses,
} from "../../../../src/web/parts/rows/question.ts";

const RANGE = { from: 1_000_000, to: 2_000_000 };
const OCCURS = "OCCURS('1970-01-01T00:16:40.000Z', '1970-01-01T00:33:20.000Z')";

test("a query is turned into one for a page", (t) => {
  const question = listQuestion("GET events WHERE source = 'a' // mine", RANGE, "desc");
  t.is(
    pageQuery(question, firstCursor(question), 100),
    `GET events WHERE source = 'a' // mine\n${OCCURS} SORT created DESC TAKE 100`,
  );
});

test("a range, an order and a limit in the query take precedence", (t) => {
  const question = listQuestion("GET events TAKE 50 SORT value DESC OCCURS(TODAY) SKIP 5", RANGE, "asc");
  t.is(question.take, 50);
  t.is(pageQuery(question, firstCursor(question), 20), "GET events OCCURS(TODAY)\nSORT value DESC SKIP 5 TAKE 20");
  t.is(listQuestion("GET events SORT created", RANGE, "desc").order, "asc");
});

test("a page has whole rows, whatever columns the query names", (t) => {
  const text = "GET events WHERE tag = 'a' COLUMNS(level, tag AS label, @'odd name') TAKE 5";
  const question = listQuestion(text, RANGE, "desc");
  t.is(pageQuery(question, firstCursor(question), 5), `GET events WHERE tag = 'a'\n${OCCURS} SORT created DESC TAKE 5`);
  t.deepEqual(namesOfColumns(text), ["level", "tags", "@odd name"]);
  t.deepEqual(namesOfColumns("GET events"), []);
});

test("clauses are found wherever they are", (t) => {
  const text = "GET events.a SORT created created OCCURS(TODAY - DAYS(2), NOW) WHERE text = 'TAKE 5 (' TAKE 3";
  t.is(clauseOf(text, "occurs"), "created OCCURS(TODAY - DAYS(2), NOW)");
  t.is(clauseOf(text, "sort"), "SORT created");
  t.is(clauseOf(text, "take"), "TAKE 3");
  t.is(clauseOf(text, "skip"), null);
  t.is(withoutClauses(text, ["sort", "occurs", "take"]), "GET events.a WHERE text = 'TAKE 5 ('");
  t.is(clauseOf("GET events SORT created OCCURS(TODAY)", "occurs"), "OCCURS(TODAY)");
  t.is(clauseOf("GET events GROUP BY DAY TAKE 1", "groupBy"), "GROUP BY DAY");
});

test("a condition is combined with those of a query as a whole", (t) => {
  const where = (text: string) => withCondition(text, "id < 'f'");
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
