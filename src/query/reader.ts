import { shorten } from "../events/quote.ts";
import { attributeNote, didYouMean, queryFault } from "./fault.ts";
import type { Token } from "./lexer.ts";

/** A parsing position in the tokens of a text, and the nesting depth of the current condition. */
export type Reader = {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Largest value of TAKE. */
  readonly takeLimit: number;
  at: number;
  depth: number;
};

export function peek(reader: Reader, ahead = 0): Token {
  return reader.tokens[Math.min(reader.at + ahead, reader.tokens.length - 1)]!;
}

export function take(reader: Reader): Token {
  const token = peek(reader);
  reader.at += 1;
  return token;
}

export function lastEnd(reader: Reader): number {
  return reader.tokens[reader.at - 1]!.span.end;
}

export function isWord(token: Token, word: string): boolean {
  return token.kind === "word" && token.text.toUpperCase() === word.toUpperCase();
}

export function isSymbol(token: Token, symbol: string): boolean {
  return token.kind === "symbol" && token.text === symbol;
}

export function acceptWord(reader: Reader, word: string): boolean {
  if (!isWord(peek(reader), word)) return false;
  reader.at += 1;
  return true;
}

export function acceptSymbol(reader: Reader, symbol: string): boolean {
  if (!isSymbol(peek(reader), symbol)) return false;
  reader.at += 1;
  return true;
}

export function expectWord(reader: Reader, word: string, expected = word): void {
  if (!acceptWord(reader, word)) throw unexpected(reader, expected, didYouMean(peek(reader).text, [word]));
}

export function expectSymbol(reader: Reader, symbol: string): void {
  if (!acceptSymbol(reader, symbol)) throw unexpected(reader, `"${symbol}"`);
}

export function unexpected(reader: Reader, expected: string, hint: string | null = null, at = reader.at): Error {
  const token = reader.tokens[Math.min(at, reader.tokens.length - 1)]!;
  if (token.fault !== null) return token.fault;
  const found = `expected ${expected}, found ${describe(token)}`;
  return queryFault(reader.text, token.span, found, hint ?? dottedName(reader, at));
}

/**
 * Returns a hint for a dot after a word, as in `http.status`: only attributes have dotted names.
 */
function dottedName({ text, tokens }: Reader, at: number): string | null {
  const [word, dot] = [tokens[at - 1], tokens[at]];
  if (word?.kind !== "word" || dot?.text.startsWith(".") !== true || dot.span.start !== word.span.end) return null;
  return attributeNote(DOTTED.exec(text.slice(word.span.start))![0]);
}

const DOTTED = /^[\p{L}\p{N}_.-]+/u;

function describe(token: Token): string {
  if (token.kind === "end") return "the end of the query";
  return token.kind === "string" ? shorten(token.text) : `"${shorten(token.text)}"`;
}
