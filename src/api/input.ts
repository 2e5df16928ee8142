import type { IncomingMessage } from "node:http";
import type { z } from "zod";

import { LoggiaError } from "../errors.ts";
import { hasBody, readBody } from "../http/body.ts";
import { parseForm } from "../http/form.ts";
import type { Call } from "../http/route.ts";
import type { Context } from "./context.ts";

/** Most faults that an answer names. A body may have one for each of its bytes. */
const MOST_FAULTS = 10;
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** Requires JSON. A form on any website can send other types without a CORS preflight. */
export function requireJson(request: IncomingMessage): void {
  const type = request.headers["content-type"];
  if (!hasBody(request) || (type !== undefined && JSON_TYPE.test(type))) return;
  const found = type === undefined ? "missing" : JSON.stringify(type.slice(0, 100));
  throw new LoggiaError("unsupported_media_type", `The Content-Type is ${found}; it must be application/json`);
}

/**
 * Reads the JSON body of a request. Unknown fields are ignored.
 * @throws LoggiaError `bad_body` if it is not JSON; `bad_parameter`, which names each invalid field
 * and what it must be
 */
export async function readJson<T>(context: Context, call: Call, schema: z.ZodType<T>): Promise<T> {
  const text = (await readBody(call.request, context.body)).toString("utf8");
  return check(parseJson(text), schema);
}

/**
 * Reads the form of a request, whatever its content type. The first value of a repeated field is
 * used; unknown fields are ignored.
 * @throws LoggiaError `bad_parameter`
 */
export async function readForm<T>(context: Context, call: Call, schema: z.ZodType<T>): Promise<T> {
  const form = parseForm(await readBody(call.request, context.body));
  return check(Object.fromEntries([...form].toReversed()), schema);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new LoggiaError("bad_body", `The body is not JSON: ${(error as Error).message}`, { cause: error });
  }
}

function check<T>(value: unknown, schema: z.ZodType<T>): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.slice(0, MOST_FAULTS).map((issue) => describe(issue, value));
  throw new LoggiaError("bad_parameter", faults.join("; "));
}

function describe(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.path.length === 0) return issue.code === "custom" ? issue.message : `The body must be ${kindOf(issue)}`;
  const field = `The field ${issue.path.join(".")}`;
  return isMissing(value, issue.path)
    ? `${field} is missing; it must be ${kindOf(issue)}`
    : `${field} must be ${kindOf(issue)}`;
}

function isMissing(value: unknown, path: readonly PropertyKey[]): boolean {
  const found = path.reduce(
    (parent, name) => (parent as Record<PropertyKey, unknown> | null | undefined)?.[name],
    value,
  );
  return found === undefined;
}

const KINDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  boolean: "true or false",
  object: "a JSON object",
};

function kindOf(issue: z.core.$ZodIssue): string {
  // A schema's own message is more specific.
  if (issue.code === "invalid_type" && issue.message.startsWith("Invalid input")) {
    return KINDS[issue.expected] ?? issue.expected;
  }
  return issue.code === "invalid_value" ? `one of ${issue.values.join(", ")}` : issue.message;
}
