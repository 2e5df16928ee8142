import type { IncomingMessage } from "node:http";

import { LoggiaError } from "../../errors.ts";
import { hasBody } from "../../http/body.ts";
import { jsonOf } from "../../http/formats.ts";
import type { Method, Reply, Route } from "../../http/route.ts";
import { authenticated } from "../context.ts";
import type { ApiHandler, Context } from "../context.ts";

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** A route of the management API: JSON only, and its body is never credentials. */
export function managed(context: Context, method: Method, path: string, handle: ApiHandler): Route {
  const checked: ApiHandler = (call) => {
    requireJson(call.request);
    return handle(call);
  };
  return authenticated(context, method, `/manage/1${path}`, checked, { takesBody: true, formats: "json" });
}

/** Other types of body can be sent by a form of any page, without the browser asking first. */
function requireJson(request: IncomingMessage): void {
  const type = request.headers["content-type"];
  if (!hasBody(request) || (type !== undefined && JSON_TYPE.test(type))) return;
  const found = type === undefined ? "missing" : JSON.stringify(type.slice(0, 100));
  throw new LoggiaError("unsupported_media_type", `The Content-Type is ${found}; it must be application/json`);
}

export function ok(record: unknown): Reply {
  return { status: 200, body: jsonBody(record) };
}

export function created(location: string, record: unknown): Reply {
  return { status: 201, body: jsonBody(record), headers: { Location: `/manage/1${location}` } };
}

function jsonBody(record: unknown): NonNullable<Reply["body"]> {
  return {
    json: jsonOf(record),
    xml: () => {
      throw new Error("the management API answers in JSON alone");
    },
  };
}
