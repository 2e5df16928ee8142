import test from "ava";
import * as fc from "fast-check";

import type { StoredEvent } from "../../../../src/events/event.ts";
import type { Choice } from "../../../../src/web/parts/query/choices.ts";
import { isSameChoice, writeSelection } from "../../../../src/web/parts/query/choices.ts";
import * as compose from "../../../../src/web/parts/query/compose.ts";
import type { EditableQuery } from "../../../../src/web/parts/query/compose.ts";
import { holds } from "../../../reference/evaluate.ts";
import { choices, commentsIn, conditionOf, events, typedQueries } from "./queries.ts";

function read(text: string): EditableQuery {
  const parsed = compose.readQuery(text);
  if (parsed === null) throw new Error(`not read: ${text}`);
  return parsed;
}

function found(text: string, all: readonly StoredEvent[]): string[] {
  const condition = conditionOf(text);
  return all.filter((event) => holds(condition, event)).map(({ id }) => id);
}

function foundBy(field: string, choice: Choice, all: readonly StoredEvent[], isNot = false): string[] {
  return found(`GET events WHERE ${writeSelection({ field, isNot, choices: [choice] })}`, all);
}

function both(a: readonly string[], b: readonly string[]): string[] {
  return a.filter((id) => b.includes(id));
}

test("an added condition narrows a query by exactly that, and leaves the rest as typed", (t) => {
  const property = fc.property(typedQueries, choices, events, (text, { field, choice }, all) => {
    const condition = writeSelection({ field, isNot: false, choices: [choice] });
    const after = compose.withCondition(read(text), condition);
    t.deepEqual(found(after, all), both(found(text, all), foundBy(field, choice, all)), after);
    t.deepEqual(commentsIn(after), commentsIn(text));
  });
  fc.assert(property, { numRuns: 500 });
});

test('"only" and "all but" match what they say', (t) => {
  const property = fc.property(typedQueries, choices, events, (text, { field, choice }, all) => {
    const parsed = read(text);
    const only = read(compose.onlyChoice(parsed, field, choice));
    const { chosen, not } = compose.choicesOfField(only, field);
    t.is(chosen.length, 1, only.text);
    t.true(isSameChoice(field, chosen[0]!, choice) && not.length === 0, only.text);
    t.true(both(found(only.text, all), foundBy(field, choice, all)).length === found(only.text, all).length);

    if (compose.hasChoice(field, compose.choicesOfField(parsed, field).not, choice)) return;
    const but = read(compose.excludeChoice(parsed, field, choice));
    t.false(compose.hasChoice(field, compose.choicesOfField(but, field).chosen, choice), but.text);
    if (compose.choicesOfField(parsed, field).chosen.length > 0) return;
    t.deepEqual(found(but.text, all), both(found(text, all), foundBy(field, choice, all, true)), but.text);
  });
  fc.assert(property, { numRuns: 500 });
});

test("a choice that is made and undone leaves an equivalent query", (t) => {
  const property = fc.property(typedQueries, choices, events, (text, { field, choice }, all) => {
    for (const change of [compose.toggleChoice, compose.toggleExclusion]) {
      const parsed = read(text);
      const { chosen, not } = compose.choicesOfField(parsed, field);
      if (compose.hasChoice(field, [...chosen, ...not], choice)) continue;
      const once = read(change(parsed, field, choice));
      const ticks = compose.choicesOfField(once, field);
      t.true(compose.hasChoice(field, change === compose.toggleChoice ? ticks.chosen : ticks.not, choice), once.text);
      const twice = change(once, field, choice);
      t.deepEqual(found(twice, all), found(text, all), `${text}\n${once.text}\n${twice}`);
    }
  });
  fc.assert(property, { numRuns: 500 });
});

test("a choice is added to those of its field", (t) => {
  t.is(
    compose.toggleChoice(read("GET events WHERE source = 'a' // x"), "source", "b"),
    "GET events WHERE source IN ('a', 'b') // x",
  );
  t.is(
    compose.toggleChoice(read("GET events WHERE source IN ('a', 'b')"), "source", "A"),
    "GET events WHERE source = 'b'",
  );
  t.is(
    compose.toggleChoice(read("GET events.error TAKE 5"), "class", "slow"),
    "GET events WHERE class IN ('error', 'slow') TAKE 5",
  );
  t.is(compose.toggleChoice(read("GET events.error TAKE 5"), "class", "error"), "GET events TAKE 5");
  t.is(compose.toggleChoice(read("GET events"), "@http.status", "500"), "GET events WHERE @http.status = 500");
  t.is(
    compose.toggleChoice(read("GET events WHERE a='x'AND(user='u')AND b=1"), "user", "v"),
    "GET events WHERE a='x'AND user IN ('u', 'v') AND b=1",
  );
  t.is(compose.toggleExclusion(read("GET events WHERE tag = 'a'"), "tags", "a"), "GET events WHERE tag != 'a'");
  t.is(
    compose.toggleChoice(read("GET events WHERE value >= 10 AND value < 50 SORT value"), "value", {
      from: null,
      to: 10,
    }),
    "GET events WHERE (value >= 10 AND value < 50 OR value < 10) SORT value",
  );
});

test("a query without the conditions on a field matches everything it matched, and more", (t) => {
  const property = fc.property(typedQueries, choices, events, (text, { field }, all) => {
    const rest = read(compose.withoutField(read(text), field));
    t.false(
      rest.filters.some(({ fields }) => fields.size === 1 && fields.has(field)),
      rest.text,
    );
    const before = found(text, all);
    t.is(both(found(rest.text, all), before).length, before.length, rest.text);
    const others = read(text).filters.filter(({ fields }) => !(fields.size === 1 && fields.has(field)));
    t.true(rest.filters.length <= others.length);
  });
  fc.assert(property, { numRuns: 500 });
});

test("comments around removed conditions are kept", (t) => {
  const text = "GET events\n  WHERE source = 'a' // first\n  AND user = 'b' // second\n  AND tag = 'c' // third";
  const without = (field: string): string => compose.withoutField(read(text), field);
  t.is(without("user"), "GET events\n  WHERE source = 'a' // first\n// second\n  AND tag = 'c' // third");
  t.is(without("source"), "GET events\n  WHERE // first\nuser = 'b' // second\n  AND tag = 'c' // third");
  t.is(without("tags"), "GET events\n  WHERE source = 'a' // first\n  AND user = 'b' // second\n// third");
  const property = fc.property(typedQueries, choices, (typed, { field, choice }) => {
    const comments = commentsIn(typed);
    t.deepEqual(commentsIn(compose.toggleExclusion(read(typed), field, choice)), comments);
  });
  fc.assert(property, { numRuns: 300 });
});

test("a query is grouped by a field, and ungrouped again", (t) => {
  const grouped = compose.groupedBy(read("GET events WHERE a = 1 COLUMNS(text) SORT created // x"), "@odd name");
  t.is(grouped, "GET events WHERE a = 1 GROUPBY @'odd name' SORT COUNT DESC // x");
  t.true(read(grouped).isGrouped);
  t.is(compose.ungroupedQuery(read(grouped)), "GET events WHERE a = 1 // x");
  t.is(compose.groupedBy(read(grouped), "tags"), "GET events WHERE a = 1 GROUPBY tag SORT COUNT DESC // x");
  t.false(read("GET users WHERE count > 1").isGrouped);
});

test("a query with a fault is not parsed", (t) => {
  t.is(compose.readQuery("GET events WHERE source ="), null);
  t.is(compose.readQuery(""), null);
  t.is(compose.readQuery(`GET events WHERE text = '${"x".repeat(5000)}'`), null);
});
