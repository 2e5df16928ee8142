import * as fc from "fast-check";

import type {
  Clauses,
  ColumnTerm,
  Expression,
  HavingTest,
  KeyTerm,
  Literal,
  Logic,
  Name,
  NumberLiteral,
  Occurs,
  Query,
  StringLiteral,
  Term,
  When,
} from "../../src/query/syntax.ts";
import { UNITS } from "../../src/query/syntax.ts";

/** Random trees of the language, and their text. All positions are zero. */

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
  "HAVING",
  "COMPARE",
  "FILL",
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

/** Names of any characters; those that are not plain are quoted. */
const attributes: fc.Arbitrary<Name> = fc
  .oneof(
    fc.constantFrom("http.status", "a-b", "7", "größe", "odd name", "it's", '"', "@", ".a", "a.", "$x"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 8 }),
  )
  .map((name) => ({ text: `@${name}`, span: NOWHERE }));

const fields: fc.Arbitrary<Name> = fc.oneof({ weight: 3, arbitrary: names }, attributes);

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

// A quoted date alone is a string until it meets a field; with a step after it, it is a date.
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
  const field = fields;
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
    fc.record({ kind: fc.constant("within" as const), field, edges: fc.tuple(numbers, numbers, numbers, numbers) }),
    fc.record({ kind: fc.constant("near" as const), field, circle: fc.tuple(numbers, numbers, numbers) }),
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

function call(text: string): Name {
  return { text, span: NOWHERE };
}

/** Trees without the text of their terms, which is in the query: see {@link withoutPositions}. */
const terms: fc.Arbitrary<Term> = fc.oneof(
  fields.map((name) => ({ kind: "name" as const, name })),
  fc
    .tuple(fc.constantFrom("AVG", "sum", "MEDIAN", "P95", "P99.9", "DISTINCT", "First", "LAST"), fields)
    .map(([text, of]) => ({ kind: "call" as const, function: call(text), of, written: call("") })),
  expressions(1).map((where) => ({ kind: "count" as const, function: call("COUNT"), where, written: call("") })),
  fc
    .record({ unit: fc.constantFrom(...UNITS), count: fc.integer({ min: 1, max: 1_000_000_000 }) })
    .map((step) => ({ kind: "rate" as const, function: call("RATE"), step, written: call("") })),
);

const columnsOfGroups: fc.Arbitrary<ColumnTerm> = fc.record({ of: terms, as: fc.option(names) });

const keys: fc.Arbitrary<KeyTerm> = fc.oneof(
  fields.map((name) => ({ kind: "name" as const, name })),
  fc
    .constantFrom(["SECONDS", 20] as const, ["MINUTES", 15] as const, ["HOURS", 6] as const, ["DAYS", 10] as const)
    .map(([unit, value]) => ({
      kind: "period" as const,
      unit,
      count: { value, span: NOWHERE },
      span: NOWHERE,
    })),
  fc
    .tuple(fields, fc.uniqueArray(numbers, { minLength: 1, maxLength: 4, selector: ({ value }) => value }))
    .map(([of, bounds]) => ({
      kind: "bands" as const,
      of,
      bounds: bounds.sort((a, b) => a.value - b.value),
      span: NOWHERE,
    })),
);

const havingTests: fc.Arbitrary<HavingTest> = fc.oneof(
  fc.record({
    kind: fc.constant("compare" as const),
    of: terms,
    op: fc.constantFrom("=" as const, "!=" as const, "<" as const, ">=" as const),
    value: fc.oneof(numbers, whens(bareDates, steps)),
  }),
  fc.record({ kind: fc.constant("null" as const), of: terms }),
);

const havings: fc.Arbitrary<Logic<HavingTest>> = fc.oneof(
  havingTests,
  fc.record({
    kind: fc.constantFrom("and" as const, "or" as const),
    parts: fc.array(havingTests, { minLength: 2, maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant("not" as const), part: havingTests }),
);

const anyWhen = whens(fc.oneof(bareDates, quotedDates), steps);
const occurs: fc.Arbitrary<Occurs> = fc.record({ field: fc.option(fields), from: anyWhen, to: fc.option(anyWhen) });
const direction = fc.constantFrom("asc" as const, "desc" as const);

const clauses: fc.Arbitrary<Clauses> = fc.record({
  where: fc.option(expressions(3)),
  take: fc.option(fc.integer({ min: 1, max: 500 }).map((value) => ({ value, span: NOWHERE }))),
  skip: fc.option(counts.map((value) => ({ value, span: NOWHERE }))),
  sort: fc.option(fc.record({ key: terms, direction })),
  groupBy: fc.option(fc.array(keys, { minLength: 1, maxLength: 3 })),
  occurs: fc.option(occurs),
  columns: fc.option(fc.array(columnsOfGroups, { minLength: 1, maxLength: 3 })),
  having: fc.option(havings),
  compare: fc.option(
    fc
      .record({ unit: fc.constantFrom(...UNITS), count: fc.integer({ min: 1, max: 9 }) })
      .map((step) => ({ step, span: NOWHERE })),
  ),
  fill: fc.option(fc.constant({ span: NOWHERE })),
});

export const queries: fc.Arbitrary<Query> = fc.record({
  table: fc.constantFrom("events" as const, "users" as const).map((name) => ({ name, span: NOWHERE })),
  class: fc.option(fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9-]{0,10}$/).map((text) => ({ text, span: NOWHERE }))),
  clauses,
});

/** Choices that the grammar leaves open: order of clauses, case, blanks, kind of quote. */
export type PrintStyle = {
  readonly order: readonly (keyof Clauses)[];
  readonly upper: boolean;
  readonly blank: string;
  readonly quote: string;
};

const CLAUSES: readonly (keyof Clauses)[] = [
  "where",
  "take",
  "skip",
  "sort",
  "groupBy",
  "occurs",
  "columns",
  "having",
  "compare",
  "fill",
];

export const printStyles: fc.Arbitrary<PrintStyle> = fc.record({
  order: fc.shuffledSubarray([...CLAUSES], { minLength: CLAUSES.length }),
  upper: fc.boolean(),
  blank: fc.constantFrom(" ", "\n", "\t ", " // comment 'x' (\r\n", "\u00a0"),
  quote: fc.constantFrom("'", '"'),
});

/** Returns a text that parses to this tree. */
export function printQuery(query: Query, style: PrintStyle): string {
  const print = new Map<keyof Clauses, string>();
  const { where, take, skip, sort, groupBy, occurs, columns, having, compare, fill } = query.clauses;
  const word = (text: string): string => (style.upper ? text : text.toLowerCase());
  if (where !== null) print.set("where", `${word("WHERE")} ${printExpression(where, style)}`);
  if (take !== null) print.set("take", `${word("TAKE")} ${take.value}`);
  if (skip !== null) print.set("skip", `${word("SKIP")} ${skip.value}`);
  if (sort !== null)
    print.set("sort", `${word("SORT")} ${printTerm(sort.key, style)} ${word(sort.direction.toUpperCase())}`);
  if (groupBy !== null) {
    const list = groupBy.map((key) => printKey(key, style)).join(`${style.blank},`);
    print.set("groupBy", `${word(style.upper ? "GROUPBY" : "GROUP BY")} ${list}`);
  }
  if (having !== null) print.set("having", `${word("HAVING")} ${printHaving(having, style)}`);
  if (compare !== null) print.set("compare", `${word("COMPARE")} (${compare.step.unit}(${compare.step.count}))`);
  if (fill !== null) print.set("fill", word("FILL"));
  if (occurs !== null) print.set("occurs", printOccurs(occurs, style));
  if (columns !== null)
    print.set("columns", `${word("COLUMNS")}(${columns.map((column) => printColumn(column, style)).join(",")})`);
  const table = query.table.name + (query.class === null ? "" : `.${query.class.text}`);
  return [word("GET"), table, ...style.order.flatMap((key) => print.get(key) ?? [])].join(style.blank);
}

function printName({ text }: Name, { quote }: PrintStyle): string {
  const isPlain = !text.startsWith("@") || /^@[\p{L}\p{N}_$]([\p{L}\p{N}_$.-]*[\p{L}\p{N}_$])?$/u.test(text);
  return isPlain ? text : `@${printString(text.slice(1), quote)}`;
}

function printColumn({ of, as }: ColumnTerm, style: PrintStyle): string {
  return printTerm(of, style) + (as === null ? "" : `${style.blank}AS ${as.text}`);
}

function printTerm(term: Term, style: PrintStyle): string {
  switch (term.kind) {
    case "name":
      return printName(term.name, style);
    case "call":
      return `${term.function.text}${style.blank}(${printName(term.of, style)})`;
    case "count":
      return `COUNT(${printExpression(term.where, style)}${style.blank})`;
    case "rate":
      return `RATE(${term.step.unit}(${term.step.count}))`;
  }
  throw term satisfies never;
}

function printKey(key: KeyTerm, style: PrintStyle): string {
  if (key.kind === "name") return printName(key.name, style);
  if (key.kind === "period") return `${key.unit}(${key.count.value})`;
  return `BANDS(${printName(key.of, style)}, ${key.bounds.map(({ value }) => String(value)).join(style.blank + ",")})`;
}

function printHaving(having: Logic<HavingTest>, style: PrintStyle): string {
  switch (having.kind) {
    case "and":
    case "or":
      return having.parts.map((part) => printHaving(part, style)).join(` ${having.kind} `);
    case "not":
      return `not ${printHaving(having.part, style)}`;
    case "null":
      return `${printTerm(having.of, style)} is null`;
    case "compare":
      return `${printTerm(having.of, style)} ${having.op} ${printLiteral(having.value, style)}`;
  }
  throw having satisfies never;
}

function printOccurs(occurs: Occurs, style: PrintStyle): string {
  const whens = [occurs.from, ...(occurs.to === null ? [] : [occurs.to])].map((when) => printWhen(when, style));
  return `${occurs.field === null ? "" : `${printName(occurs.field, style)} `}OCCURS(${whens.join(", ")})`;
}

function printExpression(expression: Expression, style: PrintStyle): string {
  switch (expression.kind) {
    case "and":
    case "or":
      return expression.parts.map((part) => inParentheses(part, style)).join(` ${expression.kind} `);
    case "not":
      return `NOT ${inParentheses(expression.part, style)}`;
    case "compare":
      return `${printName(expression.field, style)}${style.blank}${expression.op}${style.blank}${printLiteral(expression.value, style)}`;
    case "contains":
    case "matches":
      return `${printName(expression.field, style)} ${expression.kind} ${printLiteral(expression.value, style)}`;
    case "in":
      return `${printName(expression.field, style)} In(${expression.values.map((value) => printLiteral(value, style)).join(" , ")})`;
    case "null":
      return `${printName(expression.field, style)} is null`;
    case "within":
      return `${printName(expression.field, style)} Within(${expression.edges.map(({ value }) => value).join(", ")})`;
    case "near":
      return `${printName(expression.field, style)} near (${expression.circle.map(({ value }) => value).join(",")})`;
  }
  throw expression satisfies never;
}

function inParentheses(expression: Expression, style: PrintStyle): string {
  const text = printExpression(expression, style);
  return expression.kind === "and" || expression.kind === "or" ? `(${text})` : text;
}

function printLiteral(literal: Literal, style: PrintStyle): string {
  if (literal.kind === "string") return printString(literal.value, style.quote);
  return literal.kind === "number" ? String(literal.value) : printWhen(literal, style);
}

function printWhen({ base, steps }: When, style: PrintStyle): string {
  const isBare = base.kind === "date" && /^[\d/]+$|^\d+-\d+-\d+(T\S*)?$/.test(base.text);
  const start = base.kind !== "date" ? base.kind : isBare ? base.text : printString(base.text, style.quote);
  return (
    start +
    steps.map(({ unit, count }) => `${style.blank}${count < 0 ? "-" : "+"} ${unit}(${Math.abs(count)})`).join("")
  );
}

function printString(value: string, quote: string): string {
  return quote + value.replaceAll(quote, quote + quote) + quote;
}

/** Returns the tree without positions and without the texts of terms. */
export function withoutPositions(query: Query): unknown {
  return JSON.parse(
    JSON.stringify(query, (key, value: unknown) => (key === "span" || key === "written" ? undefined : value)),
  );
}
