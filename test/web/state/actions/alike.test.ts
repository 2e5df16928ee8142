import test from "ava";

import { textPattern } from "../../../../src/events/pattern.ts";
import { parseQuery } from "../../../../src/query/parser.ts";
import { patternCondition } from "../../../../src/web/state/actions/alike.ts";

test("events like one have its pattern, or the beginning of a pattern too long for a query", (t) => {
  t.is(patternCondition({ text: "it's 5" }), "pattern = 'it''s <n>'");
  const text = "at '7' ".repeat(1_000);
  const condition = patternCondition({ text });
  const query = `GET events WHERE ${condition}`;
  t.notThrows(() => parseQuery(query));
  t.true(query.length < 2_000);
  const [, written = ""] = /^pattern CONTAINS '(.*)'$/.exec(condition) ?? [];
  t.true(textPattern(text).startsWith(written.replaceAll("''", "'")) && written.length >= 1_000);
});
