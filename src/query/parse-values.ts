import { shorten } from "../events/quote.ts";
import { didYouMean, oneOf, queryFault } from "./fault.ts";
import { EVENTS, USERS, canonical } from "./fields.ts";
import type { Token } from "./lexer.ts";
import { isAttribute } from "./plan.ts";
import { acceptSymbol, expectSymbol, isSymbol, isWord, lastEnd, peek, take, unexpected } from "./reader.ts";
import type { Reader } from "./reader.ts";
import { UNITS } from "./syntax.ts";
import type { Count, Literal, Name, NumberLiteral, Step, StringLiteral, Unit, When } from "./syntax.ts";

/** Largest n of MINUTES(n) and the like. */
const STEP_LIMIT = 1_000_000_000;

export const CLAUSES = [
  "WHERE",
  "TAKE",
  "SKIP",
  "SORT",
  "GROUPBY",
  "OCCURS",
  "COLUMNS",
  "HAVING",
  "COMPARE",
  "FILL",
] as const;

/** Words that never name a field. */
export const KEYWORDS: ReadonlySet<string> = new Set([
  "GET",
  ...CLAUSES,
  "GROUP",
  "AND",
  "OR",
  "NOT",
  "CONTAINS",
  "MATCHES",
  "IN",
  "IS",
  "NULL",
]);

/** `field = name | "@" attribute` */
export function readName(reader: Reader, expected: string): Name {
  const token = peek(reader);
  const isName = token.kind === "word" && !KEYWORDS.has(token.text.toUpperCase());
  if (!isName && token.kind !== "attribute") throw unexpected(reader, expected);
  reader.at += 1;
  return { text: token.value, span: token.span };
}

export function isField(token: Token): boolean {
  if (token.kind === "attribute") return true;
  if (token.kind !== "word") return false;
  const name = canonical(token.text);
  return EVENTS.fields.has(name) || USERS.fields.has(name);
}

/** `literal = string | [ "+" | "-" ] number | when`; a string followed by steps is a date */
export function readLiteral(reader: Reader, field: Name): Literal {
  const token = peek(reader);
  if (token.kind === "number" || isSymbol(token, "-") || isSymbol(token, "+")) return readNumber(reader);
  const next = peek(reader, 1);
  const hasSteps = isSymbol(next, "+") || isSymbol(next, "-");
  if (token.kind === "string" && !hasSteps) return readString(reader);
  if (isAttribute(field.text) && (isWord(token, "TRUE") || isWord(token, "FALSE"))) return readTruth(reader);
  if (whenBase(token) !== null) return readWhen(reader);
  const quoted = token.kind === "word" ? `Put strings in quotes: '${shorten(token.text)}'.` : null;
  if (isWord(token, "NULL")) throw unexpected(reader, "a string, a number or a date", "Write IS NULL or IS NOT NULL.");
  const moment = holdsDate(field) ? didYouMean(token.text, ["TODAY", "NOW"]) : null;
  throw unexpected(reader, "a string, a number or a date", moment ?? quoted);
}

function holdsDate(field: Name): boolean {
  return [EVENTS, USERS].some(({ fields }) => fields.get(canonical(field.text))?.type === "date");
}

/** Reads TRUE or FALSE. Attributes posted as booleans compare as text. */
function readTruth(reader: Reader): StringLiteral {
  const { text, span } = take(reader);
  return { kind: "string", value: text.toLowerCase(), span };
}

export function readNumber(reader: Reader): NumberLiteral {
  const { start } = peek(reader).span;
  const negative = isSymbol(peek(reader), "-");
  if (negative || isSymbol(peek(reader), "+")) reader.at += 1;
  if (peek(reader).kind !== "number") throw unexpected(reader, "a number");
  const magnitude = Number(take(reader).text);
  const span = { start, end: lastEnd(reader) };
  if (!Number.isFinite(magnitude)) throw queryFault(reader.text, span, "the number is too large");
  return { kind: "number", value: negative && magnitude !== 0 ? -magnitude : magnitude, span };
}

export function readString(reader: Reader): StringLiteral {
  const token = peek(reader);
  if (token.kind !== "string") {
    const hint =
      token.kind === "end" || token.kind === "symbol" ? null : `Put strings in quotes: '${shorten(token.text)}'.`;
    throw unexpected(reader, "a string", hint);
  }
  reader.at += 1;
  return { kind: "string", value: token.value, span: token.span };
}

/** `when = ( "TODAY" | "NOW" | date ) ( ( "+" | "-" ) step )*` */
export function readWhen(reader: Reader): When {
  const token = peek(reader);
  const base = whenBase(token);
  if (base === null) throw unexpected(reader, "TODAY, NOW or a date", didYouMean(token.text, ["TODAY", "NOW"]));
  reader.at += 1;
  const steps: Step[] = [];
  while (isSymbol(peek(reader), "+") || isSymbol(peek(reader), "-")) {
    const back = take(reader).text === "-";
    const { unit, count } = readStep(reader, 0);
    steps.push({ unit, count: back && count !== 0 ? -count : count });
  }
  return { kind: "when", base, steps, span: { start: token.span.start, end: lastEnd(reader) } };
}

export function whenBase(token: Token): When["base"] | null {
  if (isWord(token, "TODAY")) return { kind: "today" };
  if (isWord(token, "NOW")) return { kind: "now" };
  return token.kind === "date" || token.kind === "string" ? { kind: "date", text: token.value } : null;
}

/** `step = ( "MINUTES" | "HOURS" | "DAYS" | "WEEKS" | "MONTHS" ) "(" n ")"` */
export function readStep(reader: Reader, least: 0 | 1): Step {
  const token = peek(reader);
  const unit: Unit | undefined = UNITS.find((name) => isWord(token, name));
  if (unit === undefined) throw unexpected(reader, oneOf(UNITS), didYouMean(token.text, UNITS));
  reader.at += 1;
  expectSymbol(reader, "(");
  const { value } = readCount(reader, least, STEP_LIMIT);
  expectSymbol(reader, ")");
  return { unit, count: value };
}

export function readCount(reader: Reader, min: number, max: number): Count {
  const token = peek(reader);
  const value = token.kind === "number" && /^\d+$/.test(token.text) ? Number(token.text) : NaN;
  if (!(value >= min && value <= max)) {
    throw unexpected(reader, `a whole number from ${min} to ${max.toLocaleString("en-US")}`);
  }
  reader.at += 1;
  return { value, span: token.span };
}

/** `"(" item ( "," item )* ")"` */
export function readList<Item>(reader: Reader, readItem: (reader: Reader) => Item): Item[] {
  expectSymbol(reader, "(");
  const items = [readItem(reader)];
  while (acceptSymbol(reader, ",")) items.push(readItem(reader));
  if (!acceptSymbol(reader, ")")) throw unexpected(reader, '"," or ")"');
  return items;
}
