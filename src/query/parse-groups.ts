import { didYouMean, oneOf, queryFault } from "./fault.ts";
import { canonical } from "./fields.ts";
import { NUMBER_AGGREGATES } from "./plan.ts";
import { compareOp, readCondition, readLogic, readNullity } from "./parse-conditions.ts";
import { MOMENTS, readCount, readList, readName, readNumber, readStep, readWhen, whenBase } from "./parse-values.ts";
import { acceptSymbol, acceptWord, expectSymbol, expectWord, isSymbol, isWord, lastEnd, peek } from "./token-cursor.ts";
import { noteWords, take, unexpected } from "./token-cursor.ts";
import type { Phrase, TokenCursor } from "./token-cursor.ts";
import { PERIOD_UNITS } from "./syntax.ts";
import type {
  ColumnTerm,
  Compare,
  Fill,
  HavingTest,
  KeyTerm,
  Logic,
  Name,
  NumberLiteral,
  Sort,
  Term,
} from "./syntax.ts";

/** The aggregate functions, except percentiles. */
export const FUNCTIONS: readonly string[] = [
  "COUNT",
  ...NUMBER_AGGREGATES.map((name) => name.toUpperCase()),
  "MEDIAN",
  "DISTINCT",
  "FIRST",
  "LAST",
  "RATE",
];
const MOST_KEYS = 3;
/** Most columns of a query. Each is work for the engine, and for every record. */
const MOST_COLUMNS = 100;
/** Most bounds of BANDS, within the limits of the engines. */
const MOST_BOUNDS = 100;
/** Limits of counts. Seconds must divide a minute, minutes an hour, hours a day; days are free. */
const COUNTS_WITHIN = { SECONDS: 60, MINUTES: 60, HOURS: 24, DAYS: 10_000 } as const;
const WHOLES = { SECONDS: "a minute", MINUTES: "an hour", HOURS: "a day" } as const;

/** Groupings of time without a count. */
const SINGLE_PERIODS = ["WEEK", "MONTH"] as const;

/** `groupBy = ( "GROUPBY" | "GROUP" "BY" ) key [ "," key [ "," key ] ]` */
export function readGroupBy(cursor: TokenCursor): KeyTerm[] {
  if (!acceptWord(cursor, "GROUPBY")) {
    expectWord(cursor, "GROUP");
    expectWord(cursor, "BY");
  }
  const keys = [readKey(cursor)];
  while (isSymbol(peek(cursor), ",")) {
    if (keys.length === MOST_KEYS) {
      throw queryFault(cursor.text, peek(cursor).span, `groups have at most ${MOST_KEYS} keys`);
    }
    cursor.at += 1;
    keys.push(readKey(cursor));
  }
  return keys;
}

/** `key = field | "DAY" | "HOUR" | "WEEK" | "MONTH" | period | bands` */
function readKey(cursor: TokenCursor): KeyTerm {
  const token = peek(cursor);
  if (!isSymbol(peek(cursor, 1), "(")) {
    return { kind: "name", name: readName(cursor, "DAY, HOUR or the field to group by") };
  }
  if (isWord(token, "BANDS")) return readBands(cursor);
  if (PERIOD_UNITS.some((name) => isWord(token, name))) return readPeriod(cursor);
  const functions = [...PERIOD_UNITS, "BANDS"];
  const single = SINGLE_PERIODS.find((unit) => isWord(token, `${unit}S`));
  const hint = single === undefined ? didYouMean(token.text, functions) : `Write ${single}.`;
  throw unexpected(cursor, `a field, ${oneOf(functions)}`, hint);
}

/**
 * `period = ( "SECONDS" | "MINUTES" | "HOURS" | "DAYS" ) "(" n ")"`, where n divides the minute,
 * the hour or the day
 */
function readPeriod(cursor: TokenCursor): KeyTerm {
  const { text, span } = take(cursor);
  const unit = PERIOD_UNITS.find((name) => name === text.toUpperCase())!;
  expectSymbol(cursor, "(");
  const whole = COUNTS_WITHIN[unit];
  const count = readCount(cursor, 1, whole);
  if (unit !== "DAYS" && whole % count.value !== 0) {
    const divisors = Array.from({ length: whole }, (_, i) => i + 1).filter((n) => whole % n === 0);
    const what = `${count.value} does not divide ${WHOLES[unit]}`;
    throw queryFault(cursor.text, count.span, what, `Use ${oneOf(divisors.map(String))}.`);
  }
  expectSymbol(cursor, ")");
  return { kind: "period", unit, count, span: { start: span.start, end: lastEnd(cursor) } };
}

/** `bands = "BANDS" "(" number "," bound ( "," bound )* ")"`, where bounds are ascending numbers */
function readBands(cursor: TokenCursor): KeyTerm {
  const { span } = take(cursor);
  expectSymbol(cursor, "(");
  const of = readName(cursor, "value or an attribute such as @duration");
  const bounds: NumberLiteral[] = [];
  do {
    expectSymbol(cursor, ",");
    bounds.push(readBound(cursor, bounds));
  } while (isSymbol(peek(cursor), ","));
  if (!acceptSymbol(cursor, ")")) throw unexpected(cursor, '"," or ")"');
  return { kind: "bands", of, bounds, span: { start: span.start, end: lastEnd(cursor) } };
}

function readBound(cursor: TokenCursor, before: readonly NumberLiteral[]): NumberLiteral {
  const bound = readNumber(cursor);
  const last = before.at(-1);
  if (last !== undefined && bound.value <= last.value) {
    throw queryFault(cursor.text, bound.span, "the bounds of BANDS must ascend", "Write BANDS(value, 0, 10, 100).");
  }
  if (before.length === MOST_BOUNDS) {
    throw queryFault(cursor.text, bound.span, `BANDS have at most ${MOST_BOUNDS} bounds`);
  }
  return bound;
}

/** `columns = "COLUMNS" "(" column ( "," column )* ")"` */
export function readColumns(cursor: TokenCursor): ColumnTerm[] {
  expectWord(cursor, "COLUMNS");
  let count = 0;
  return readList(cursor, () => {
    count += 1;
    if (count <= MOST_COLUMNS) return readColumn(cursor);
    const hint = "COLUMNS(attributes) shows all attributes of an event.";
    throw queryFault(cursor.text, peek(cursor).span, `a query has at most ${MOST_COLUMNS} columns`, hint);
  });
}

/** `column = ( field | aggregate ) [ "AS" name ]` */
function readColumn(cursor: TokenCursor): ColumnTerm {
  const of = readTerm(cursor, "the name of a column");
  return { of, as: acceptWord(cursor, "AS") ? readAs(cursor) : null };
}

function readAs(cursor: TokenCursor): Name {
  const name = readName(cursor, "a name after AS");
  if (!name.text.startsWith("@")) return name;
  throw queryFault(cursor.text, name.span, "the name after AS must be a word");
}

/** `sort = "SORT" ( field | aggregate ) [ "ASC" | "DESC" ]` */
export function readSort(cursor: TokenCursor): Sort {
  expectWord(cursor, "SORT");
  const key = readTerm(cursor, "the field to sort by");
  if (acceptWord(cursor, "ASC")) return { key, direction: "asc" };
  return { key, direction: acceptWord(cursor, "DESC") ? "desc" : "asc" };
}

/**
 * `aggregate = "KEY" | count | numeric | ( "DISTINCT" | "FIRST" | "LAST" ) "(" field ")" | rate`,
 * `count = "COUNT" [ "(" condition ")" ]`,
 * `numeric = ( numbers | "MEDIAN" | percentile ) [ "(" field ")" ]`,
 * `rate = "RATE" "(" step ")"`
 */
export function readTerm(cursor: TokenCursor, expected: Phrase): Term {
  const first = cursor.at;
  const name = readFunction(cursor, expected);
  if (!acceptSymbol(cursor, "(")) return { kind: "name", name };
  const called = name.text.toUpperCase();
  const isKnown = FUNCTIONS.includes(called) || parsePercent(called) !== null;
  if (!isKnown) {
    const hint = didYouMean(name.text, FUNCTIONS) ?? `Use ${oneOf([...FUNCTIONS, "P50 to P99.9"])}.`;
    throw queryFault(cursor.text, name.span, `there is no aggregate "${name.text}"`, hint);
  }
  const written = (): Name => ({
    // Blanks and comments between tokens are not part of the name.
    text: cursor.tokens.slice(first, cursor.at).reduce((text, token) => text + token.text, ""),
    span: { start: name.span.start, end: lastEnd(cursor) },
  });
  const end = (others: string): void => {
    if (!acceptSymbol(cursor, ")")) throw unexpected(cursor, `${others}")"`);
  };
  if (called === "COUNT") {
    const next = peek(cursor);
    if (next.text === "*" || isSymbol(next, ")")) {
      throw queryFault(
        cursor.text,
        next.span,
        "COUNT counts events without an argument",
        "Write COUNT, or COUNT(condition).",
      );
    }
    const where = readCondition(cursor);
    end("AND, OR or ");
    return { kind: "count", function: name, where, written: written() };
  }
  if (called === "RATE") {
    const step = readStep(cursor, 1);
    end("");
    return { kind: "rate", function: name, step, written: written() };
  }
  const of = readName(cursor, "a field");
  end("");
  return { kind: "call", function: name, of, written: written() };
}

/**
 * `percentile = "P" number`, greater than 0 and less than 100. The lexer splits off its fraction.
 */
function readFunction(cursor: TokenCursor, expected: Phrase): Name {
  const name = readName(cursor, expected);
  const fraction = peek(cursor);
  const follows = fraction.kind === "number" && fraction.text.startsWith(".") && fraction.span.start === name.span.end;
  if (!follows || !/^P\d{1,2}$/i.test(name.text)) return name;
  cursor.at += 1;
  return { text: name.text + fraction.text, span: { start: name.span.start, end: fraction.span.end } };
}

/** Returns the percentage of `P95` or `MEDIAN`: 95, 50; null for other names. */
export function parsePercent(name: string): number | null {
  if (name === "MEDIAN") return 50;
  const percent = Number(/^P(\d{1,2}(?:\.\d{1,6})?)$/.exec(name)?.[1] ?? NaN);
  return percent > 0 && percent < 100 ? percent : null;
}

/** `having = "HAVING" condition`, where aggregates are compared with numbers or moments */
export function readHaving(cursor: TokenCursor): Logic<HavingTest> {
  expectWord(cursor, "HAVING");
  return readLogic<HavingTest>(cursor, readHavingTest);
}

function readHavingTest(cursor: TokenCursor): Logic<HavingTest> {
  const of = readTerm(cursor, 'an aggregate, NOT or "("');
  const op = compareOp(peek(cursor));
  if (op !== null) {
    cursor.at += 1;
    const token = peek(cursor);
    const isMoment = of.kind === "call" && canonical(of.of.text) === "created";
    if (isMoment) noteWords(cursor, MOMENTS);
    if (token.kind === "string" && !isMoment) {
      throw unexpected(cursor, "a number", "HAVING compares aggregates; texts are compared in WHERE.");
    }
    return { kind: "compare", of, op, value: whenBase(token) === null ? readNumber(cursor) : readWhen(cursor) };
  }
  if (acceptWord(cursor, "IS")) return readNullity<HavingTest & { kind: "null" }>(cursor, { kind: "null", of });
  const expected = oneOf(["=", "!=", "<>", "<", "<=", ">", ">=", "IS"]);
  const next = peek(cursor);
  throw unexpected(cursor, expected, isWord(next, "IN") ? null : didYouMean(next.text, ["IS"]));
}

/** `compare = "COMPARE" "(" step ")"` */
export function readCompare(cursor: TokenCursor): Compare {
  const { span } = peek(cursor);
  expectWord(cursor, "COMPARE");
  expectSymbol(cursor, "(");
  const step = readStep(cursor, 1);
  expectSymbol(cursor, ")");
  return { step, span: { start: span.start, end: lastEnd(cursor) } };
}

/** `fill = "FILL"` */
export function readFill(cursor: TokenCursor): Fill {
  const { span } = peek(cursor);
  expectWord(cursor, "FILL");
  return { span };
}
