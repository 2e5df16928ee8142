import * as fc from "fast-check";

import type { LogKey, StoredEvent } from "../../../../src/events/event.ts";
import type { Condition } from "../../../../src/query/plan.ts";
import { planQuery } from "../../../../src/query/planner.ts";
import { UTC } from "../../../../src/query/zone.ts";
import type { Choice, Selection } from "../../../../src/web/parts/query/choices.ts";
import { writeSelection } from "../../../../src/web/parts/query/choices.ts";
import { storedEvents } from "../../../reference/arbitrary.ts";

/**
 * Queries as users type them, with comments and blanks anywhere, and events that they may match.
 */

const SHOP = "shop" as LogKey;

export const events: fc.Arbitrary<StoredEvent[]> = storedEvents([SHOP], { minLength: 5, maxLength: 25 });

const VALUES: Readonly<Record<string, readonly Choice[]>> = {
  source: ["web-1", "WEB-1", "db", "it's", null],
  tags: ["error", "a-1", "straße", null],
  class: ["error", "warning", "a-1", null],
  user: ["ann", "bob@example.com", null],
  value: ["0", "-42.5", "1e-9", null, { from: 0, to: 42 }, { from: null, to: 0 }, { from: 42, to: null }],
  "@status": ["500", "007", "", "ok", "1e21", null, { from: 200, to: 500 }],
  "@odd name": ["a b", "true", null],
  "@it's": ["7", null],
};

export const choices: fc.Arbitrary<{ field: string; choice: Choice }> = fc
  .constantFrom(...Object.keys(VALUES))
  .chain((field) => fc.constantFrom(...VALUES[field]!).map((choice) => ({ field, choice })));

const selections: fc.Arbitrary<Selection> = fc.constantFrom(...Object.keys(VALUES)).chain((field) =>
  fc.record({
    field: fc.constant(field),
    isNot: fc.boolean(),
    choices: fc.array(fc.constantFrom(...VALUES[field]!), { minLength: 1, maxLength: 3 }),
  }),
);

/** Queries that only a person would write. */
const TYPED = [
  "(source = 'db' OR user = \"ann\")",
  "text CONTAINS 'error // AND no comment'",
  "NOT(value<5)",
  "value>=1",
  "value < 5",
  "(value >= 0 AND value < 5)",
  "Source In('web-1','db')",
  "filter = 'error'",
  "geo IS NOT NULL",
  "created >= 2011-06-19",
  '@status != "500"',
  "@status > 250",
  "@'odd name' NOT IN ('a b', true)",
  "NOT NOT (tag = 'error')",
  "(tag='error')",
  "text MATCHES '(a|b)\\.'",
];

const conditions = fc.oneof(selections.map(writeSelection), fc.constantFrom(...TYPED));
const joints = fc.constantFrom(
  " AND ",
  " and\n\t",
  "\n  AND ",
  " // so\r\n  AND ",
  " AND // and so\n",
  " // AND\nAND\n",
);
const wheres: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: joinedBy(joints) },
  joinedBy(fc.constantFrom(" OR ", " AND ", "\nor ")),
);

function joinedBy(joint: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(conditions, fc.array(fc.tuple(joint, conditions), { maxLength: 4 }))
    .map(([first, rest]) => rest.reduce((text, [between, next]) => text + between + next, `WHERE ${first}`));
}

const further = fc.subarray(
  ["SORT created DESC", "TAKE 50", "created OCCURS(2011-06-19, 2012-03-02)", "COLUMNS(text, user)"],
  { maxLength: 2 },
);

/** Queries for events. */
export const typedQueries: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("GET events", "get  Events // all\n", "GET events.error", "\nGET events.a-1"),
    fc.option(wheres),
    further,
    fc.boolean(),
    fc.constantFrom("", "\n", " // the end", "//"),
  )
  .map(([head, where, clauses, isFirst, end]) => {
    const parts = isFirst ? [where ?? "", ...clauses] : [...clauses, where ?? ""];
    return [head, ...parts].filter((part) => part !== "").join(" ") + end;
  });

/** Returns the condition of a query for events, as the service plans it. */
export function conditionOf(text: string): Condition {
  const question = planQuery(text, { logs: [SHOP], now_ms: Date.UTC(2012, 0, 1), zone: UTC });
  if (question.kind !== "list") throw new Error(`${text} asks for no events`);
  return question.where;
}

export function commentsIn(text: string): string[] {
  return Array.from(text.replaceAll(/'[^']*'/g, "''").matchAll(/\/\/[^\r\n]*/g), ([comment]) => comment);
}
