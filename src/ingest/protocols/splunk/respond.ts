import type { IncomingHttpHeaders } from "node:http";

import type { Failure } from "../../../http/errors.ts";
import type { ProtocolAnswer } from "../../kit/endpoint.ts";
import { BadEvent, NoData } from "./decode.ts";
import { BadObject } from "./objects.ts";

const TYPE = "application/json";
const SCHEME = /^(?:splunk|basic|bearer) +\S/i;

/** Returns a response in the collector's form. */
export function answer(status: number, code: number, text: string, more: object = {}): ProtocolAnswer {
  return { status, type: TYPE, body: JSON.stringify({ text, code, ...more }) };
}

/** Returns a failure with the collector's code, by which clients decide what to send again. */
export function failure({ status, body }: Failure, error: unknown, headers: IncomingHttpHeaders): ProtocolAnswer {
  if (error instanceof NoData) return answer(400, 5, "No data");
  if (error instanceof BadObject)
    return answer(400, 6, "Invalid data format", { "invalid-event-number": error.number });
  if (error instanceof BadEvent) {
    const [code, text] = error.isBlank ? [13, "Event field cannot be blank"] : [12, "Event field is required"];
    return answer(400, code, text, { "invalid-event-number": error.number });
  }
  const { message } = (JSON.parse(body.json()) as { error: { message: string } }).error;
  switch (status) {
    case 401:
      return unauthorized(headers);
    case 403:
      return answer(403, 4, "Invalid token");
    case 413:
      return answer(413, 27, message);
    case 429:
    case 503:
      return answer(status, 9, "Server is busy");
    case 400:
    case 409:
    case 415:
      return answer(status, 6, message);
    default:
      return answer(status, 8, "Internal server error");
  }
}

function unauthorized({ authorization = "" }: IncomingHttpHeaders): ProtocolAnswer {
  if (SCHEME.test(authorization)) return answer(403, 4, "Invalid token");
  return authorization === "" ? answer(401, 2, "Token is required") : answer(401, 3, "Invalid authorization");
}
