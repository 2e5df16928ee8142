import { didYouMean, oneOf, queryFault } from "./fault.ts";
import { canonical } from "./fields.ts";
import { compareOp, readCondition, readLogic, readNullity } from "./parse-conditions.ts";
import { readCount, readList, readName, readNumber, readStep, readWhen, whenBase } from "./parse-values.ts";
import { acceptSymbol, acceptWord, expectSymbol, expectWord, isSymbol, isWord, lastEnd, peek } from "./reader.ts";
import { take, unexpected } from "./reader.ts";
import type { Reader } from "./reader.ts";
import { PERIOD_UNITS } from "./syntax.ts";
import type { Column, Compare, Fill, HavingTest, Key, Logic, Name, NumberLiteral, Sort, Term } from "./syntax.ts";

/** The aggregate functions, except percentiles. */
export const FUNCTIONS = ["COUNT", "AVG", "SUM", "MIN", "MAX", "MEDIAN", "DISTINCT", "FIRST", "LAST", "RATE"] as const;
const MOST_KEYS = 3;
/** Most bounds of BANDS, within the limits of the engines. */
const MOST_BOUNDS = 100;
/** Limits of counts. Seconds must divide a minute, minutes an hour, hours a day; days are free. */
const COUNTS_WITHIN = { SECONDS: 60, MINUTES: 60, HOURS: 24, DAYS: 10_000 } as const;
const WHOLES = { SECONDS: "a minute", MINUTES: "an hour", HOURS: "a day" } as const;

/** Groupings of time without a count. */
const SINGLE_PERIODS = ["WEEK", "MONTH"] as const;

/** `groupBy = ( "GROUPBY" | "GROUP" "BY" ) key [ "," key [ "," key ] ]` */
export function readGroupBy(reader: Reader): Key[] {
  if (!acceptWord(reader, "GROUPBY")) {
    expectWord(reader, "GROUP");
    expectWord(reader, "BY");
  }
  const keys = [readKey(reader)];
  while (isSymbol(peek(reader), ",")) {
    if (keys.length === MOST_KEYS) {
      throw queryFault(reader.text, peek(reader).span, `groups have at most ${MOST_KEYS} keys`);
    }
    reader.at += 1;
    keys.push(readKey(reader));
  }
  return keys;
}

/** `key = field | "DAY" | "HOUR" | "WEEK" | "MONTH" | period | bands` */
function readKey(reader: Reader): Key {
  const token = peek(reader);
  if (!isSymbol(peek(reader, 1), "(")) {
    return { kind: "name", name: readName(reader, "DAY, HOUR or the field to group by") };
  }
  if (isWord(token, "BANDS")) return readBands(reader);
  if (PERIOD_UNITS.some((name) => isWord(token, name))) return readPeriod(reader);
  const functions = [...PERIOD_UNITS, "BANDS"];
  const single = SINGLE_PERIODS.find((unit) => isWord(token, `${unit}S`));
  const hint = single === undefined ? didYouMean(token.text, functions) : `Write ${single}.`;
  throw unexpected(reader, `a field, ${oneOf(functions)}`, hint);
}

/**
 * `period = ( "SECONDS" | "MINUTES" | "HOURS" | "DAYS" ) "(" n ")"`, where n divides the minute,
 * the hour or the day
 */
function readPeriod(reader: Reader): Key {
  const { text, span } = take(reader);
  const unit = PERIOD_UNITS.find((name) => name === text.toUpperCase())!;
  expectSymbol(reader, "(");
  const whole = COUNTS_WITHIN[unit];
  const count = readCount(reader, 1, whole);
  if (unit !== "DAYS" && whole % count.value !== 0) {
    const divisors = Array.from({ length: whole }, (_, i) => i + 1).filter((n) => whole % n === 0);
    const what = `${count.value} does not divide ${WHOLES[unit]}`;
    throw queryFault(reader.text, count.span, what, `Use ${oneOf(divisors.map(String))}.`);
  }
  expectSymbol(reader, ")");
  return { kind: "period", unit, count, span: { start: span.start, end: lastEnd(reader) } };
}

/** `bands = "BANDS" "(" number "," bound ( "," bound )* ")"`, where bounds are ascending numbers */
function readBands(reader: Reader): Key {
  const { span } = take(reader);
  expectSymbol(reader, "(");
  const of = readName(reader, "value or an attribute such as @duration");
  const bounds: NumberLiteral[] = [];
  do {
    expectSymbol(reader, ",");
    bounds.push(readBound(reader, bounds));
  } while (isSymbol(peek(reader), ","));
  if (!acceptSymbol(reader, ")")) throw unexpected(reader, '"," or ")"');
  return { kind: "bands", of, bounds, span: { start: span.start, end: lastEnd(reader) } };
}

function readBound(reader: Reader, before: readonly NumberLiteral[]): NumberLiteral {
  const bound = readNumber(reader);
  const last = before.at(-1);
  if (last !== undefined && bound.value <= last.value) {
    throw queryFault(reader.text, bound.span, "the bounds of BANDS must ascend", "Write BANDS(value, 0, 10, 100).");
  }
  if (before.length === MOST_BOUNDS) {
    throw queryFault(reader.text, bound.span, `BANDS have at most ${MOST_BOUNDS} bounds`);
  }
  return bound;
}

/** `columns = "COLUMNS" "(" column ( "," column )* ")"` */
export function readColumns(reader: Reader): Column[] {
  expectWord(reader, "COLUMNS");
  return readList(reader, readColumn);
}

/** `column = ( field | aggregate ) [ "AS" name ]` */
function readColumn(reader: Reader): Column {
  const of = readTerm(reader, "the name of a column");
  return { of, as: acceptWord(reader, "AS") ? readAs(reader) : null };
}

function readAs(reader: Reader): Name {
  const name = readName(reader, "a name after AS");
  if (!name.text.startsWith("@")) return name;
  throw queryFault(reader.text, name.span, "the name after AS must be a word");
}

/** `sort = "SORT" ( field | aggregate ) [ "ASC" | "DESC" ]` */
export function readSort(reader: Reader): Sort {
  expectWord(reader, "SORT");
  const key = readTerm(reader, "the field to sort by");
  if (acceptWord(reader, "DESC")) return { key, direction: "desc" };
  acceptWord(reader, "ASC");
  return { key, direction: "asc" };
}

/**
 * `aggregate = "KEY" | count | numeric | ( "DISTINCT" | "FIRST" | "LAST" ) "(" field ")" | rate`,
 * `count = "COUNT" [ "(" condition ")" ]`,
 * `numeric = ( "AVG" | "SUM" | "MIN" | "MAX" | "MEDIAN" | percentile ) [ "(" field ")" ]`,
 * `rate = "RATE" "(" step ")"`
 */
export function readTerm(reader: Reader, expected: string): Term {
  const first = reader.at;
  const name = readFunction(reader, expected);
  if (!acceptSymbol(reader, "(")) return { kind: "name", name };
  const called = name.text.toUpperCase();
  const isKnown = FUNCTIONS.some((known) => known === called) || percentOf(called) !== null;
  if (!isKnown) {
    const hint = didYouMean(name.text, FUNCTIONS) ?? `Use ${oneOf([...FUNCTIONS, "P50 to P99.9"])}.`;
    throw queryFault(reader.text, name.span, `there is no aggregate "${name.text}"`, hint);
  }
  const written = (): Name => ({
    // Blanks and comments between tokens are not part of the name.
    text: reader.tokens.slice(first, reader.at).reduce((text, token) => text + token.text, ""),
    span: { start: name.span.start, end: lastEnd(reader) },
  });
  const end = (others: string): void => {
    if (!acceptSymbol(reader, ")")) throw unexpected(reader, `${others}")"`);
  };
  if (called === "COUNT") {
    const next = peek(reader);
    if (next.text === "*" || isSymbol(next, ")")) {
      throw queryFault(
        reader.text,
        next.span,
        "COUNT counts events without an argument",
        "Write COUNT, or COUNT(condition).",
      );
    }
    const where = readCondition(reader);
    end("AND, OR or ");
    return { kind: "count", function: name, where, written: written() };
  }
  if (called === "RATE") {
    const step = readStep(reader, 1);
    end("");
    return { kind: "rate", function: name, step, written: written() };
  }
  const of = readName(reader, "a field");
  end("");
  return { kind: "call", function: name, of, written: written() };
}

/**
 * `percentile = "P" number`, greater than 0 and less than 100. The lexer splits off its fraction.
 */
function readFunction(reader: Reader, expected: string): Name {
  const name = readName(reader, expected);
  const fraction = peek(reader);
  const follows = fraction.kind === "number" && fraction.text.startsWith(".") && fraction.span.start === name.span.end;
  if (!follows || !/^P\d{1,2}$/i.test(name.text)) return name;
  reader.at += 1;
  return { text: name.text + fraction.text, span: { start: name.span.start, end: fraction.span.end } };
}

/** Returns the percentage of `P95` or `MEDIAN`: 95, 50; null for other names. */
export function percentOf(name: string): number | null {
  if (name === "MEDIAN") return 50;
  const percent = Number(/^P(\d{1,2}(?:\.\d{1,6})?)$/.exec(name)?.[1] ?? NaN);
  return percent > 0 && percent < 100 ? percent : null;
}

/** `having = "HAVING" condition`, where aggregates are compared with numbers or moments */
export function readHaving(reader: Reader): Logic<HavingTest> {
  expectWord(reader, "HAVING");
  return readLogic<HavingTest>(reader, readHavingTest);
}

function readHavingTest(reader: Reader): Logic<HavingTest> {
  const of = readTerm(reader, 'an aggregate, NOT or "("');
  const op = compareOp(peek(reader));
  if (op !== null) {
    reader.at += 1;
    const token = peek(reader);
    if (token.kind === "string" && !(of.kind === "call" && canonical(of.of.text) === "created")) {
      throw unexpected(reader, "a number", "HAVING compares aggregates; texts are compared in WHERE.");
    }
    return { kind: "compare", of, op, value: whenBase(token) === null ? readNumber(reader) : readWhen(reader) };
  }
  if (acceptWord(reader, "IS")) return readNullity<HavingTest & { kind: "null" }>(reader, { kind: "null", of });
  const expected = oneOf(["=", "!=", "<>", "<", "<=", ">", ">=", "IS"]);
  const next = peek(reader);
  throw unexpected(reader, expected, isWord(next, "IN") ? null : didYouMean(next.text, ["IS"]));
}

/** `compare = "COMPARE" "(" step ")"` */
export function readCompare(reader: Reader): Compare {
  const { span } = peek(reader);
  expectWord(reader, "COMPARE");
  expectSymbol(reader, "(");
  const step = readStep(reader, 1);
  expectSymbol(reader, ")");
  return { step, span: { start: span.start, end: lastEnd(reader) } };
}

/** `fill = "FILL"` */
export function readFill(reader: Reader): Fill {
  const { span } = peek(reader);
  expectWord(reader, "FILL");
  return { span };
}
