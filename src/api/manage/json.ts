import { jsonOf } from "../../http/formats.ts";
import type { Method, Reply, Route } from "../../http/route.ts";
import { authenticated } from "../context.ts";
import type { ApiHandler, Context } from "../context.ts";
import { requireJson } from "../input.ts";

/** Creates a route of the management API: JSON only, with a body that never holds credentials. */
export function managed(context: Context, method: Method, path: string, handle: ApiHandler): Route {
  const checked: ApiHandler = (call) => {
    requireJson(call.request);
    return handle(call);
  };
  return authenticated(context, method, `/manage/1${path}`, checked, { takesBody: true, formats: "json" });
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
      throw new Error("the management API responds only in JSON");
    },
  };
}
