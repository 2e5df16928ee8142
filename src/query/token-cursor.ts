import { shorten } from "../events/quote.ts";
import { attributeNote, didYouMean, queryFault } from "./fault.ts";
import type { Token } from "./lexer.ts";

/** A parsing position in the tokens of a text, and the nesting depth of the current condition. */
export type TokenCursor = {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Largest value of TAKE. */
  readonly takeLimit: number;
  at: number;
  depth: number;
};

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

export function acceptWord(cursor: TokenCursor, word: string): boolean {
  if (!isWord(peek(cursor), word)) return false;
  cursor.at += 1;
  return true;
}

export function acceptSymbol(cursor: TokenCursor, symbol: string): boolean {
  if (!isSymbol(peek(cursor), symbol)) return false;
  cursor.at += 1;
  return true;
}

export function expectWord(cursor: TokenCursor, word: string, expected = word): void {
  if (!acceptWord(cursor, word)) throw unexpected(cursor, expected, didYouMean(peek(cursor).text, [word]));
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
