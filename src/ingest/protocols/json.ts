import { LoggiaError } from "../../errors.ts";

/**
 * A number of so many digits may be more than JavaScript's can say; within a text it matters not.
 */
const LONG_NUMBER = /(?:^|[:,[\s])-?\d{16}/;
const INTEGER = /^-?\d+$/;

/**
 * JSON as `JSON.parse` reads it, but for whole numbers that JavaScript cannot hold: these become
 * texts of their digits.
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  try {
    return JSON.parse(text, exactly);
  } catch (error) {
    // What is nested deeper than calls can be is read all the same, without that care.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

function exactly(this: unknown, _key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return INTEGER.test(source) ? source : value;
}

/** The JSON of a whole body. @throws LoggiaError `bad_body` */
export function parseBody(body: Buffer): unknown {
  try {
    return parseExactly(withoutMark(body).toString("utf8"));
  } catch (error) {
    throw new LoggiaError("bad_body", `The body is no JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** A body without the byte order mark before it. */
export function withoutMark(body: Buffer): Buffer {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
