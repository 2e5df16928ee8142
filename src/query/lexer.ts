import { LoggiaError } from "../errors.ts";
import { queryFault } from "./fault.ts";
import type { TextSpan } from "./syntax.ts";

/**
 * Longest query, in characters. It bounds tokens, the list of an IN and the conditions of a plan.
 */
export const QUERY_LIMIT = 4096;

export type Token = {
  /**
   * `class` is the `.key` right after the table. The last token is `end`, or `fault` at the text
   * that cannot be read. The parser reports the fault when it gets there, as an earlier token may
   * be at fault too.
   */
  readonly kind: "word" | "attribute" | "class" | "string" | "number" | "date" | "symbol" | "end" | "fault";
  /** As written. */
  readonly text: string;
  /**
   * Its meaning: a string without quotes, a class without its dot, an attribute as `@` and its
   * name; otherwise as written.
   */
  readonly value: string;
  readonly span: TextSpan;
  readonly fault: LoggiaError | null;
};

const IGNORED = /(?:\s+|\/\/[^\r\n]*)*/y;
const WORD = /[\p{L}_][\p{L}\p{M}\p{N}_]*/uy;
/** Names of attributes without quotes: letters, digits and `_`, with `$`, `.` and `-` inside. */
const ATTRIBUTE = /@[\p{L}\p{M}\p{N}_$](?:[\p{L}\p{M}\p{N}_$.-]*[\p{L}\p{M}\p{N}_$])?/uy;
const CLASS = /\.[\p{L}\p{N}_-]+/uy;
/** Anything shaped like a date. Whether the day exists is checked later. */
const DATE = /\d+\/\d+\/\d+|\d+-\d+-\d+(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?/iy;
const NUMBER = /(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?/iy;
const SYMBOL = /<=|>=|<>|!=|[=<>(),.+-]/y;
const WORD_CHARACTER = /[\p{L}\p{M}\p{N}_]+/uy;

/** Hints about characters of other languages. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ["&", "Conditions are joined by AND."],
  ["|", "Conditions are joined by OR."],
  ["!", "Write NOT, or != for a comparison."],
  ["“", "Put strings in straight quotes."],
  ["”", "Put strings in straight quotes."],
  ["‘", "Put strings in straight quotes."],
  ["’", "Put strings in straight quotes."],
  ["*", "Without COLUMNS a query returns all columns."],
  [";", "A query does not end with a semicolon."],
]);

/**
 * Splits a query into tokens. Blanks and comments (`//` to the end of the line) are skipped.
 *
 * @throws LoggiaError `bad_query` if the query is too long
 */
export function tokenize(text: string): Token[] {
  checkLength(text);
  const tokens: Token[] = [];
  let at = match(IGNORED, text, 0)!.length;
  while (at < text.length) {
    const token = readToken(text, at, tokens);
    tokens.push(token);
    if (token.kind === "fault") return tokens;
    at = token.span.end;
    at += match(IGNORED, text, at)!.length;
  }
  tokens.push(token("end", "", text.length));
  return tokens;
}

function checkLength(text: string): void {
  const length = text.length <= QUERY_LIMIT ? text.length : Array.from(text).length;
  if (length > QUERY_LIMIT) {
    throw new LoggiaError("bad_query", `The query has ${length} characters; at most ${QUERY_LIMIT} are allowed`);
  }
}

function readToken(text: string, start: number, before: readonly Token[]): Token {
  const first = text[start]!;
  if (first === "'" || first === '"') return readString(text, start, first);
  if (first === "@") return readAttribute(text, start);
  // Only the table, the second word, can have a class. Elsewhere a dot begins a number or is a
  // fault for the parser.
  const followsTable = before.length === 2 && before[1]!.kind === "word" && before[1]!.span.end === start;
  const key = followsTable ? match(CLASS, text, start) : null;
  if (key !== null) return token("class", key, start, key.slice(1));
  const word = match(WORD, text, start);
  if (word !== null) return token("word", word, start);
  const date = match(DATE, text, start);
  if (date !== null) return standingAlone(text, token("date", date, start));
  const number = match(NUMBER, text, start);
  if (number !== null) return standingAlone(text, token("number", number, start));
  const symbol = match(SYMBOL, text, start);
  if (symbol !== null) return token("symbol", symbol, start);
  const character = String.fromCodePoint(text.codePointAt(start)!);
  const what = `unexpected character ${JSON.stringify(character)}`;
  return faultToken(text, start, start + character.length, what, HINTS.get(character) ?? null);
}

/** Reads `@name`, or a quoted name if it has other characters. */
function readAttribute(text: string, start: number): Token {
  const quote = text[start + 1];
  if (quote === "'" || quote === '"') {
    const name = readString(text, start + 1, quote);
    if (name.kind === "fault") return name;
    if (name.value === "") return faultToken(text, start, name.span.end, "this attribute has no name");
    return token("attribute", text.slice(start, name.span.end), start, `@${name.value}`);
  }
  const name = match(ATTRIBUTE, text, start);
  if (name !== null) return token("attribute", name, start);
  const hint = "Write @http.status, or @'odd name' in quotes.";
  return faultToken(text, start, start + 1, "expected an attribute name after @", hint);
}

/** Writes an attribute for a query: `@http.status`, or `@'odd name'` if it needs quotes. */
export function writeAttribute(name: string): string {
  const plain = `@${name}`;
  return match(ATTRIBUTE, plain, 0) === plain ? plain : `@'${name.replaceAll("'", "''")}'`;
}

/**
 * Reads a string. A quote within it is doubled; a backslash is an ordinary character, so that
 * expressions need not double it.
 */
function readString(text: string, start: number, quote: string): Token {
  let value = "";
  let at = start + 1;
  for (;;) {
    const end = text.indexOf(quote, at);
    if (end === -1) {
      return faultToken(
        text,
        start,
        text.length,
        `expected a ${quote} to close this string, found the end of the query`,
      );
    }
    value += text.slice(at, end);
    at = end + 1;
    if (text[at] !== quote) return token("string", text.slice(start, at), start, value);
    value += quote;
    at += 1;
  }
}

/** Rejects `10x` and `9/19/2011th`. */
function standingAlone(text: string, token: Token): Token {
  const rest = match(WORD_CHARACTER, text, token.span.end);
  if (rest === null) return token;
  const { start } = token.span;
  const end = token.span.end + rest.length;
  const hint = "Put strings in quotes, and separate words by a space.";
  return faultToken(text, start, end, `expected a number or a date, found "${text.slice(start, end)}"`, hint);
}

function faultToken(text: string, start: number, end: number, what: string, hint: string | null = null): Token {
  const fault = queryFault(text, { start, end }, what, hint);
  return { ...token("fault", text.slice(start, end), start), fault };
}

function token(kind: Token["kind"], text: string, start: number, value = text): Token {
  return { kind, text, value, span: { start, end: start + text.length }, fault: null };
}

function match(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}
