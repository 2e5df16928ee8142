import { shorten } from "../events/quote.ts";
import { didYouMean, oneOf, queryFault } from "./fault.ts";
import { EVENTS, USERS, canonical } from "./fields.ts";
import type { Token } from "./lexer.ts";
import { isAttribute } from "./plan.ts";
import { acceptSymbol, expectSymbol, isSymbol, isWord, lastEnd, noteWords, peek, take } from "./token-cursor.ts";
import { unexpected, unexpectedPhrase, unexpectedWord } from "./token-cursor.ts";
import type { Phrase, TokenCursor } from "./token-cursor.ts";
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

export const MOMENTS = ["TODAY", "NOW"];

/** `field = name | "@" attribute` */
export function readName(cursor: TokenCursor, expected: Phrase): Name {
  const token = peek(cursor);
  const isName = token.kind === "word" && !KEYWORDS.has(token.text.toUpperCase());
  if (!isName && token.kind !== "attribute") throw unexpectedPhrase(cursor, expected);
  cursor.at += 1;
  return { text: token.value, span: token.span };
}

export function isField(token: Token): boolean {
  if (token.kind === "attribute") return true;
  if (token.kind !== "word") return false;
  const name = canonical(token.text);
  return EVENTS.fields.has(name) || USERS.fields.has(name);
}

/** `literal = string | [ "+" | "-" ] number | when`; a string followed by steps is a date */
export function readLiteral(cursor: TokenCursor, field: Name): Literal {
  const token = peek(cursor);
  if (token.kind === "number" || isSymbol(token, "-") || isSymbol(token, "+")) return readNumber(cursor);
  const next = peek(cursor, 1);
  const hasSteps = isSymbol(next, "+") || isSymbol(next, "-");
  if (token.kind === "string" && !hasSteps) return readString(cursor);
  if (isAttribute(field.text) && (isWord(token, "TRUE") || isWord(token, "FALSE"))) return readTruth(cursor);
  if (whenBase(token) !== null) return readWhen(cursor);
  const quoted = token.kind === "word" ? `Put strings in quotes: '${shorten(token.text)}'.` : null;
  const moments = holdsDate(field) ? MOMENTS : [];
  noteWords(cursor, moments);
  const isNull = isWord(token, "NULL");
  const hint = isNull ? "Write IS NULL or IS NOT NULL." : (didYouMean(token.text, moments) ?? quoted);
  throw unexpectedPhrase(cursor, "a string, a number or a date", hint);
}

function holdsDate(field: Name): boolean {
  return [EVENTS, USERS].some(({ fields }) => fields.get(canonical(field.text))?.type === "date");
}

/** Reads TRUE or FALSE. Attributes posted as booleans compare as text. */
function readTruth(cursor: TokenCursor): StringLiteral {
  const { text, span } = take(cursor);
  return { kind: "string", value: text.toLowerCase(), span };
}

export function readNumber(cursor: TokenCursor): NumberLiteral {
  const { start } = peek(cursor).span;
  const negative = isSymbol(peek(cursor), "-");
  if (negative || isSymbol(peek(cursor), "+")) cursor.at += 1;
  if (peek(cursor).kind !== "number") throw unexpected(cursor, "a number");
  const magnitude = Number(take(cursor).text);
  const span = { start, end: lastEnd(cursor) };
  if (!Number.isFinite(magnitude)) throw queryFault(cursor.text, span, "the number is too large");
  return { kind: "number", value: negative && magnitude !== 0 ? -magnitude : magnitude, span };
}

export function readString(cursor: TokenCursor): StringLiteral {
  const token = peek(cursor);
  if (token.kind !== "string") {
    const hint =
      token.kind === "end" || token.kind === "symbol" ? null : `Put strings in quotes: '${shorten(token.text)}'.`;
    throw unexpected(cursor, "a string", hint);
  }
  cursor.at += 1;
  return { kind: "string", value: token.value, span: token.span };
}

/** `when = ( "TODAY" | "NOW" | date ) ( ( "+" | "-" ) step )*` */
export function readWhen(cursor: TokenCursor): When {
  const token = peek(cursor);
  const base = whenBase(token);
  if (base === null) throw unexpectedWord(cursor, "TODAY, NOW or a date", MOMENTS);
  cursor.at += 1;
  const steps: Step[] = [];
  while (isSymbol(peek(cursor), "+") || isSymbol(peek(cursor), "-")) {
    const back = take(cursor).text === "-";
    const { unit, count } = readStep(cursor, 0);
    steps.push({ unit, count: back && count !== 0 ? -count : count });
  }
  return { kind: "when", base, steps, span: { start: token.span.start, end: lastEnd(cursor) } };
}

export function whenBase(token: Token): When["base"] | null {
  if (isWord(token, "TODAY")) return { kind: "today" };
  if (isWord(token, "NOW")) return { kind: "now" };
  return token.kind === "date" || token.kind === "string" ? { kind: "date", text: token.value } : null;
}

/** `step = ( "MINUTES" | "HOURS" | "DAYS" | "WEEKS" | "MONTHS" ) "(" n ")"` */
export function readStep(cursor: TokenCursor, least: 0 | 1): Step {
  const token = peek(cursor);
  const unit: Unit | undefined = UNITS.find((name) => isWord(token, name));
  if (unit === undefined) throw unexpectedWord(cursor, oneOf(UNITS), UNITS);
  cursor.at += 1;
  expectSymbol(cursor, "(");
  const { value } = readCount(cursor, least, STEP_LIMIT);
  expectSymbol(cursor, ")");
  return { unit, count: value };
}

export function readCount(cursor: TokenCursor, min: number, max: number): Count {
  const token = peek(cursor);
  const value = token.kind === "number" && /^\d+$/.test(token.text) ? Number(token.text) : NaN;
  if (!(value >= min && value <= max)) {
    throw unexpected(cursor, `a whole number from ${min} to ${max.toLocaleString("en-US")}`);
  }
  cursor.at += 1;
  return { value, span: token.span };
}

/** `"(" item ( "," item )* ")"` */
export function readList<Item>(cursor: TokenCursor, readItem: (cursor: TokenCursor) => Item): Item[] {
  expectSymbol(cursor, "(");
  const items = [readItem(cursor)];
  while (acceptSymbol(cursor, ",")) items.push(readItem(cursor));
  if (!acceptSymbol(cursor, ")")) throw unexpected(cursor, '"," or ")"');
  return items;
}
