import { jsonPayload } from "../http/formats.ts";
import type { Reply } from "../http/route.ts";
import type { EndpointAnswer } from "./endpoint.ts";

/** The response to a removal. */
export const NO_CONTENT: Reply = Object.freeze({ status: 204, body: null });

/** The response to a removal, as it is documented. */
export const REMOVED_ANSWER: EndpointAnswer = { what: "Removed" };

/** Returns a record in JSON. */
export function ok(record: unknown): Reply {
  return { status: 200, body: jsonBody(record) };
}

/** Returns a created record in JSON. @param location its path */
export function created(location: string, record: unknown): Reply {
  return { status: 201, body: jsonBody(record), headers: { Location: location } };
}

/** Returns a started job in JSON. */
export function accepted(record: unknown): Reply {
  return { status: 202, body: jsonBody(record) };
}

function jsonBody(record: unknown): NonNullable<Reply["body"]> {
  return {
    json: jsonPayload(record),
    xml: () => {
      throw new Error("the management API responds only in JSON");
    },
  };
}
