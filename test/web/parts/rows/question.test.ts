import test from "ava";

import { firstCursor, listQuestion, namesOfColumns, pageQuery } from "../../../../src/web/parts/rows/question.ts";

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
