import { shorten } from "../events/quote.ts";
import { attributeNote, didYouMean, queryFault } from "./fault.ts";
import type { Token } from "./lexer.ts";
import type { Name } from "./syntax.ts";

/** A parsing position in the tokens of a text, and the nesting depth of the current condition. */
export type TokenCursor = {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Largest value of TAKE. */
  readonly takeLimit: number;
  /** Records what could follow the text, if a caller asks for it. */
  readonly expected: Expected | null;
  at: number;
  depth: number;
};

/** What the parser looked for at the end of a text. */
export type Expected = {
  readonly words: Set<string>;
  phrase: Phrase | null;
  /** The field of the last comparison. */
  field: Name | null;
};

/** Names and values that rules read, as messages call them. */
export type Phrase =
  | "a field"
  | 'a field, NOT or "("'
  | 'an aggregate, NOT or "("'
  | "the name of a column"
  | "a name after AS"
  | "the field to sort by"
  | "DAY, HOUR or the field to group by"
  | "value or an attribute such as @duration"
  | "a string, a number or a date"
  | "the key of a class right after the dot";

export function peek(cursor: TokenCursor, ahead = 0): Token {
  return cursor.tokens[Math.min(cursor.at + ahead, cursor.tokens.length - 1)]!;
}

export function take(cursor: TokenCursor): Token {
  const token = peek(cursor);
  cursor.at += 1;
  return token;
}

export function lastEnd(cursor: TokenCursor): number {
  return cursor.tokens[cursor.at - 1]!.span.end;
}

export function isWord(token: Token, word: string): boolean {
  return token.kind === "word" && token.text.toUpperCase() === word.toUpperCase();
}

export function isSymbol(token: Token, symbol: string): boolean {
  return token.kind === "symbol" && token.text === symbol;
}

/** Returns whether a word is next. At the end of the text, it is recorded as expected. */
export function isNext(cursor: TokenCursor, word: string, ahead = 0): boolean {
  if (cursor.at + ahead >= cursor.tokens.length - 1) cursor.expected?.words.add(word);
  return isWord(peek(cursor, ahead), word);
}

/** Records words as expected at the end of the text. */
export function noteWords(cursor: TokenCursor, words: readonly string[]): void {
  for (const word of words) isNext(cursor, word);
}

export function acceptWord(cursor: TokenCursor, word: string): boolean {
  if (!isNext(cursor, word)) return false;
  cursor.at += 1;
  return true;
}

export function acceptSymbol(cursor: TokenCursor, symbol: string): boolean {
  if (!isSymbol(peek(cursor), symbol)) return false;
  cursor.at += 1;
  return true;
}

export function expectWord(cursor: TokenCursor, word: string, expected = word): void {
  if (!acceptWord(cursor, word)) throw unexpectedWord(cursor, expected, [word]);
}

export function expectSymbol(cursor: TokenCursor, symbol: string): void {
  if (!acceptSymbol(cursor, symbol)) throw unexpected(cursor, `"${symbol}"`);
}

export function unexpected(cursor: TokenCursor, expected: string, hint: string | null = null, at = cursor.at): Error {
  const token = cursor.tokens[Math.min(at, cursor.tokens.length - 1)]!;
  if (token.fault !== null) return token.fault;
  const found = `expected ${expected}, found ${describe(token)}`;
  return queryFault(cursor.text, token.span, found, hint ?? dottedName(cursor, at));
}

/** @param words of which one may be misspelt */
export function unexpectedWord(cursor: TokenCursor, expected: string, words: readonly string[]): Error {
  noteWords(cursor, words);
  return unexpected(cursor, expected, didYouMean(peek(cursor).text, words));
}

export function unexpectedPhrase(cursor: TokenCursor, phrase: Phrase, hint?: string | null, at = cursor.at): Error {
  if (cursor.expected !== null && at === cursor.tokens.length - 1) cursor.expected.phrase = phrase;
  return unexpected(cursor, phrase, hint, at);
}

/**
 * Returns a hint for a dot after a word, as in `http.status`: only attributes have dotted names.
 */
function dottedName({ text, tokens }: TokenCursor, at: number): string | null {
  const [word, dot] = [tokens[at - 1], tokens[at]];
  if (word?.kind !== "word" || dot?.text.startsWith(".") !== true || dot.span.start !== word.span.end) return null;
  return attributeNote(DOTTED.exec(text.slice(word.span.start))![0]);
}

const DOTTED = /^[\p{L}\p{N}_.-]+/u;

function describe(token: Token): string {
  if (token.kind === "end") return "the end of the query";
  return token.kind === "string" ? shorten(token.text) : `"${shorten(token.text)}"`;
}
