import * as fc from "fast-check";

import type {
  Clauses,
  Expression,
  Literal,
  Name,
  NumberLiteral,
  Occurs,
  Query,
  StringLiteral,
  When,
} from "../../src/query/syntax.ts";
import { UNITS } from "../../src/query/syntax.ts";

/** Random trees of the language, and the text that each is the tree of. Positions are all zero. */

const NOWHERE = { start: 0, end: 0 };
const KEYWORDS = new Set([
  "GET",
  "WHERE",
  "TAKE",
  "SKIP",
  "SORT",
  "GROUPBY",
  "GROUP",
  "OCCURS",
  "COLUMNS",
  "AND",
  "OR",
  "NOT",
  "CONTAINS",
  "MATCHES",
  "IN",
  "IS",
  "NULL",
]);

const names: fc.Arbitrary<Name> = fc
  .oneof(
    fc.constantFrom("text", "Source", "tag", "created", "_x", "größe", "KEY", "day", "today", "now"),
    fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,8}$/),
  )
  .filter((text) => !KEYWORDS.has(text.toUpperCase()))
  .map((text) => ({ text, span: NOWHERE }));

const strings: fc.Arbitrary<StringLiteral> = fc
  .oneof(
    fc.string({ unit: "binary", maxLength: 12 }),
    fc.constantFrom("", "'", '"', "''\"", "\\", "// no comment", "a\nb"),
  )
  .map((value) => ({ kind: "string", value, span: NOWHERE }));

const numbers: fc.Arbitrary<NumberLiteral> = fc
  .oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  .map((value) => ({ kind: "number", value: value === 0 ? 0 : value, span: NOWHERE }));

const bareDates = fc.constantFrom(
  "9/19/2011",
  "2011-09-19",
  "2011-09-19T14:00:00.5Z",
  "2011-09-19T14:00+02:00",
  "99/99/9999",
);
const quotedDates = fc.constantFrom("2011-09-19 14:00", "it's 9/19/2011", '"', "");
const counts = fc.nat({ max: 1_000_000_000 });
const steps = fc.array(
  fc.record({
    unit: fc.constantFrom(...UNITS),
    count: fc.tuple(counts, fc.boolean()).map(([count, back]) => (back && count > 0 ? -count : count)),
  }),
  { maxLength: 3 },
);

function whens(dates: fc.Arbitrary<string>, steps: fc.Arbitrary<When["steps"]>): fc.Arbitrary<When> {
  const base: fc.Arbitrary<When["base"]> = fc.oneof(
    fc.constantFrom({ kind: "today" as const }, { kind: "now" as const }),
    dates.map((text) => ({ kind: "date" as const, text })),
  );
  return fc.record({ kind: fc.constant("when" as const), base, steps, span: fc.constant(NOWHERE) });
}

// A quoted date that stands alone as a literal is a string until it meets a field; with a step behind it, it is a date.
const literals: fc.Arbitrary<Literal> = fc.oneof(
  strings,
  numbers,
  whens(bareDates, steps),
  whens(
    quotedDates,
    steps.filter((list) => list.length > 0),
  ),
);

function expressions(depth: number): fc.Arbitrary<Expression> {
  const field = names;
  const leaf: fc.Arbitrary<Expression> = fc.oneof(
    fc.record({
      kind: fc.constant("compare" as const),
      field,
      op: fc.constantFrom("=" as const, "!=" as const, "<" as const, "<=" as const, ">" as const, ">=" as const),
      value: literals,
    }),
    fc.record({ kind: fc.constantFrom("contains" as const, "matches" as const), field, value: strings }),
    fc.record({ kind: fc.constant("in" as const), field, values: fc.array(literals, { minLength: 1, maxLength: 3 }) }),
    fc.record({ kind: fc.constant("null" as const), field }),
  );
  if (depth === 0) return leaf;
  const inner = expressions(depth - 1);
  return fc.oneof(
    leaf,
    fc.record({
      kind: fc.constantFrom("and" as const, "or" as const),
      parts: fc.array(inner, { minLength: 2, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant("not" as const), part: inner }),
  );
}

const anyWhen = whens(fc.oneof(bareDates, quotedDates), steps);
const occurs: fc.Arbitrary<Occurs> = fc.record({ field: fc.option(names), from: anyWhen, to: fc.option(anyWhen) });
const direction = fc.constantFrom("asc" as const, "desc" as const);

const clauses: fc.Arbitrary<Clauses> = fc.record({
  where: fc.option(expressions(3)),
  take: fc.option(fc.integer({ min: 1, max: 500 }).map((value) => ({ value, span: NOWHERE }))),
  skip: fc.option(counts.map((value) => ({ value, span: NOWHERE }))),
  sort: fc.option(fc.record({ key: names, direction })),
  groupBy: fc.option(names),
  occurs: fc.option(occurs),
  columns: fc.option(fc.array(names, { minLength: 1, maxLength: 3 })),
});

export const queries: fc.Arbitrary<Query> = fc.record({
  table: fc.constantFrom("events" as const, "users" as const).map((name) => ({ name, span: NOWHERE })),
  class: fc.option(fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9-]{0,10}$/).map((text) => ({ text, span: NOWHERE }))),
  clauses,
});

/** How to write what the grammar leaves free: the order of clauses, case, blanks, the kind of quote. */
export type Taste = {
  readonly order: readonly (keyof Clauses)[];
  readonly upper: boolean;
  readonly blank: string;
  readonly quote: string;
};

export const tastes: fc.Arbitrary<Taste> = fc.record({
  order: fc.shuffledSubarray(["where", "take", "skip", "sort", "groupBy", "occurs", "columns"] as (keyof Clauses)[], {
    minLength: 7,
  }),
  upper: fc.boolean(),
  blank: fc.constantFrom(" ", "\n", "\t ", " // comment 'x' (\r\n", "\u00a0"),
  quote: fc.constantFrom("'", '"'),
});

/** A text whose tree is this one. */
export function printQuery(query: Query, taste: Taste): string {
  const print = new Map<keyof Clauses, string>();
  const { where, take, skip, sort, groupBy, occurs, columns } = query.clauses;
  const word = (text: string): string => (taste.upper ? text : text.toLowerCase());
  if (where !== null) print.set("where", `${word("WHERE")} ${printExpression(where, taste)}`);
  if (take !== null) print.set("take", `${word("TAKE")} ${take.value}`);
  if (skip !== null) print.set("skip", `${word("SKIP")} ${skip.value}`);
  if (sort !== null) print.set("sort", `${word("SORT")} ${sort.key.text} ${word(sort.direction.toUpperCase())}`);
  if (groupBy !== null) print.set("groupBy", `${word(taste.upper ? "GROUPBY" : "GROUP BY")} ${groupBy.text}`);
  if (occurs !== null) print.set("occurs", printOccurs(occurs, taste));
  if (columns !== null) print.set("columns", `${word("COLUMNS")}(${columns.map(({ text }) => text).join(",")})`);
  const table = query.table.name + (query.class === null ? "" : `.${query.class.text}`);
  return [word("GET"), table, ...taste.order.flatMap((key) => print.get(key) ?? [])].join(taste.blank);
}

function printOccurs(occurs: Occurs, taste: Taste): string {
  const whens = [occurs.from, ...(occurs.to === null ? [] : [occurs.to])].map((when) => printWhen(when, taste));
  return `${occurs.field === null ? "" : `${occurs.field.text} `}OCCURS(${whens.join(", ")})`;
}

function printExpression(expression: Expression, taste: Taste): string {
  switch (expression.kind) {
    case "and":
    case "or":
      return expression.parts.map((part) => inParentheses(part, taste)).join(` ${expression.kind} `);
    case "not":
      return `NOT ${inParentheses(expression.part, taste)}`;
    case "compare":
      return `${expression.field.text}${taste.blank}${expression.op}${taste.blank}${printLiteral(expression.value, taste)}`;
    case "contains":
    case "matches":
      return `${expression.field.text} ${expression.kind} ${printLiteral(expression.value, taste)}`;
    case "in":
      return `${expression.field.text} In(${expression.values.map((value) => printLiteral(value, taste)).join(" , ")})`;
    case "null":
      return `${expression.field.text} is null`;
  }
  throw expression satisfies never;
}

function inParentheses(expression: Expression, taste: Taste): string {
  const text = printExpression(expression, taste);
  return expression.kind === "and" || expression.kind === "or" ? `(${text})` : text;
}

function printLiteral(literal: Literal, taste: Taste): string {
  if (literal.kind === "string") return printString(literal.value, taste.quote);
  return literal.kind === "number" ? String(literal.value) : printWhen(literal, taste);
}

function printWhen({ base, steps }: When, taste: Taste): string {
  const isBare = base.kind === "date" && /^[\d/]+$|^\d+-\d+-\d+(T\S*)?$/.test(base.text);
  const start = base.kind !== "date" ? base.kind : isBare ? base.text : printString(base.text, taste.quote);
  return (
    start +
    steps.map(({ unit, count }) => `${taste.blank}${count < 0 ? "-" : "+"} ${unit}(${Math.abs(count)})`).join("")
  );
}

function printString(value: string, quote: string): string {
  return quote + value.replaceAll(quote, quote + quote) + quote;
}

/** The tree without its positions. */
export function withoutPositions(query: Query): unknown {
  return JSON.parse(JSON.stringify(query, (key, value: unknown) => (key === "span" ? undefined : value)));
}
