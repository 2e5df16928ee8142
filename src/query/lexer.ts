import { LoggiaError } from "../errors.ts";
import { queryFault } from "./fault.ts";
import type { Span } from "./syntax.ts";

/** The longest query, in characters. It bounds all else: tokens, the list of an IN, the conditions of a plan. */
export const QUERY_LIMIT = 4096;

export type Token = {
  /**
   * `class` is the `.key` that directly follows the table. `end` stands once, last; or `fault`
   * does, where reading could not go on: the parser tells it when it comes there, as something
   * before it may be wrong too.
   */
  readonly kind: "word" | "attribute" | "class" | "string" | "number" | "date" | "symbol" | "end" | "fault";
  /** As written. */
  readonly text: string;
  /**
   * What it stands for: a string without its quotes, a class without its dot, an attribute as its
   * name behind an `@`; otherwise as written.
   */
  readonly value: string;
  readonly span: Span;
  readonly fault: LoggiaError | null;
};

const IGNORED = /(?:\s+|\/\/[^\r\n]*)*/y;
const WORD = /[\p{L}_][\p{L}\p{M}\p{N}_]*/uy;
/** The names of attributes that need no quotes: letters, digits and `_`, with `$`, `.` and `-` between them. */
const ATTRIBUTE = /@[\p{L}\p{M}\p{N}_$](?:[\p{L}\p{M}\p{N}_$.-]*[\p{L}\p{M}\p{N}_$])?/uy;
const CLASS = /\.[\p{L}\p{N}_-]+/uy;
/** Anything shaped like a date; whether there is such a day is asked where it is read. */
const DATE = /\d+\/\d+\/\d+|\d+-\d+-\d+(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?/iy;
const NUMBER = /(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?/iy;
const SYMBOL = /<=|>=|<>|!=|[=<>(),.+-]/y;
const WORD_CHARACTER = /[\p{L}\p{M}\p{N}_]+/uy;

/** What people write who think in another language. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ["&", "Conditions are joined by AND."],
  ["|", "Conditions are joined by OR."],
  ["!", "Write NOT, or != for a comparison."],
  ["“", "Strings stand in straight quotes."],
  ["”", "Strings stand in straight quotes."],
  ["‘", "Strings stand in straight quotes."],
  ["’", "Strings stand in straight quotes."],
  ["*", "Without COLUMNS a query returns all columns."],
  [";", "A query ends without a sign."],
]);

/**
 * The tokens of a query; blanks and comments (from `//` to the end of the line) are left out.
 *
 * @throws LoggiaError `bad_query` where it is too long
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
  // Only the table, the second word, can have a class; anywhere else a dot begins a number or is a fault of the parser.
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
  const what = `found ${JSON.stringify(character)}, which means nothing here`;
  return faultToken(text, start, start + character.length, what, HINTS.get(character) ?? null);
}

/** `@name`, or in quotes where the name has other characters. */
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
  return faultToken(text, start, start + 1, "expected the name of an attribute behind @", hint);
}

/** An attribute as a query names it: `@http.status`, or `@'odd name'` where it needs quotes. */
export function writeAttribute(name: string): string {
  const plain = `@${name}`;
  return match(ATTRIBUTE, plain, 0) === plain ? plain : `@'${name.replaceAll("'", "''")}'`;
}

/**
 * A quote within a string is written twice; a backslash is an ordinary character, so that
 * expressions need no second one.
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
        `expected a ${quote} that ends this string, found the end of the query`,
      );
    }
    value += text.slice(at, end);
    at = end + 1;
    if (text[at] !== quote) return token("string", text.slice(start, at), start, value);
    value += quote;
    at += 1;
  }
}

/** Refuses `10x` and `9/19/2011th`. */
function standingAlone(text: string, token: Token): Token {
  const rest = match(WORD_CHARACTER, text, token.span.end);
  if (rest === null) return token;
  const { start } = token.span;
  const end = token.span.end + rest.length;
  const hint = "Strings stand in quotes, and words are set apart by a blank.";
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
