import type { z } from "zod";

import { LoggiaError } from "../../errors.ts";
import { readBody } from "../../http/body.ts";
import type { Call, Method, Reply, Route } from "../../http/route.ts";
import { authenticated } from "../context.ts";
import type { ApiHandler, Context } from "../context.ts";

/** A route of the management API: JSON only, and its body is never credentials. */
export function managed(context: Context, method: Method, path: string, handle: ApiHandler): Route {
  return authenticated(context, method, `/manage/1${path}`, handle, { takesBody: true, formats: "json" });
}

/**
 * The body of a request. Fields that the schema does not know are ignored.
 * @throws LoggiaError `bad_body` where it is not JSON; `bad_parameter` naming each field at fault and what it can be
 */
export async function readJson<T>(context: Context, call: Call, schema: z.ZodType<T>): Promise<T> {
  const value = parseJson((await readBody(call.request, context.body)).toString("utf8"));
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path, message }) => `${path.join(".") || "the body"}: ${message}`);
  throw new LoggiaError("bad_parameter", faults.join("; "));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new LoggiaError("bad_body", `The body is not JSON: ${(error as Error).message}`, { cause: error });
  }
}

export function ok(record: unknown): Reply {
  return { status: 200, body: jsonBody(record) };
}

export function created(location: string, record: unknown): Reply {
  return { status: 201, body: jsonBody(record), headers: { Location: `/manage/1${location}` } };
}

function jsonBody(json: unknown): NonNullable<Reply["body"]> {
  return {
    json,
    xml: () => {
      throw new Error("the management API answers in JSON alone");
    },
  };
}
