import { LoggiaError } from "../../errors.ts";

/** Matches numbers that may exceed JavaScript's precision. A match within a text does no harm. */
const LONG_NUMBER = /(?:^|[:,[\s])-?\d{16}/;
const INTEGER = /^-?\d+$/;

/**
 * Parses JSON like `JSON.parse`, except that integers beyond JavaScript's safe range become texts.
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  try {
    return JSON.parse(text, exactly);
  } catch (error) {
    // The reviver recurses. JSON that is nested too deep for it is parsed without it.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

function exactly(this: unknown, _key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return INTEGER.test(source) ? source : value;
}

/** Parses a text that is one JSON value; null if it is not, or if the value is null. */
export function valueIn(text: string): unknown {
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
    return parseExactly(withoutMark(body).toString("utf8"));
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
