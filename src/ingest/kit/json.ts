import { LoggiaError } from "../../errors.ts";
import { COMMA, LIST, OBJECT } from "../../json/json-bytes.ts";
import { messageText } from "./message-text.ts";

/** Size up to which JSON is parsed at once, whatever it holds: some milliseconds' work at most. */
export const AT_ONCE_BYTES = 16 * 1024;
/** Number of values up to which longer JSON is parsed at once. */
export const AT_ONCE_VALUES = 2_500;

/** Matches numbers that may exceed JavaScript's precision. A match within a text does no harm. */
const LONG_NUMBER = /(?:^|[:,[\s])-?\d{16}/;
/** Matches the texts of valid JSON, and its numbers that begin with 16 digits. */
const TEXT_OR_LONG_NUMBER = /"(?:[^"\\]|\\[^])*"?|(?<![\w.+-])-?\d{16,}(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d+$/;

/**
 * Parses JSON like `JSON.parse`, except that integers beyond JavaScript's safe range become texts.
 * A reviver would see the digits too, but takes quadratic time for long lists.
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!LONG_NUMBER.test(text)) return value;
  return JSON.parse(text.replaceAll(TEXT_OR_LONG_NUMBER, quotedIfInexact));
}

function quotedIfInexact(token: string): string {
  const isInexact = !token.startsWith('"') && INTEGER.test(token) && !Number.isSafeInteger(Number(token));
  return isInexact ? `"${token}"` : token;
}

/**
 * Returns whether a text has so many commas and brackets that parsing it as JSON could take long.
 */
function mayHaveManyValues(text: string): boolean {
  if (text.length <= AT_ONCE_BYTES) return false;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === LIST.open || code === OBJECT.open) values += 1;
  }
  return values > AT_ONCE_VALUES;
}

/**
 * Parses a text that is one JSON value; null if it is not, if the value is null, or if it has too
 * many values to be parsed at once.
 */
export function valueIn(text: string): unknown {
  if (mayHaveManyValues(text)) return null;
  try {
    return parseExactly(text);
  } catch {
    return null;
  }
}

/** Parses a text that is a JSON object; null if it is anything else. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  if (!text.startsWith("{") || !text.trimEnd().endsWith("}")) return null;
  const value = valueIn(text);
  return isObject(value) ? value : null;
}

/** Parses the JSON of a whole body. @throws LoggiaError `bad_body` */
export function parseBody(body: Buffer): unknown {
  try {
    return parseExactly(messageText(withoutMark(body)));
  } catch (error) {
    throw new LoggiaError("bad_body", `The body is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** Returns a body without its byte order mark. */
export function withoutMark(body: Buffer): Buffer {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
