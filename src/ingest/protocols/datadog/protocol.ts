import { LoggiaError } from "../../../errors.ts";
import type { Failure } from "../../../http/errors.ts";
import type { ProtocolEndpoint, ProtocolAnswer, BodyReading, Received } from "../../kit/endpoint.ts";
import type { Protocol } from "../protocol.ts";
import { decodeLogs, decodeText } from "./decode.ts";

/** Matches the paths of the intake. Old clients put the key into the path. */
const PATH = /^\/(?:api\/v2\/logs|v1\/input(?:\/(?<key>[^/]+))?)$/;
const VALIDATE = "/api/v1/validate";
const TEXT = /^(?:text\/plain|application\/logplex-1)\b/i;
const TYPE = "application/json";

/** Datadog's log intake: https://docs.datadoghq.com/api/latest/logs/ */
export const DATADOG: Protocol = {
  name: "datadog",
  page: "datadog.md",
  match(method, path): ProtocolEndpoint | null {
    if (path === VALIDATE && (method === "GET" || method === "HEAD")) return KEY_CHECK;
    const match = method === "POST" ? PATH.exec(path) : null;
    if (match === null) return null;
    return { kind: "post", secret: match.groups?.["key"], read, failed };
  },
};

/** Clients check their key here before they post. */
const KEY_CHECK: ProtocolEndpoint = {
  kind: "post",
  storesNothing: true,
  read: () => ({ items: [], accepted: () => ({ status: 200, type: TYPE, body: `{"valid":true}` }) }),
  failed,
};

/** @throws LoggiaError `bad_body` */
function read(received: Received): BodyReading {
  const { headers } = received;
  // Firehose repeats a request until its answer has a form of its own, so its records would be doubled.
  if (headers["x-amz-firehose-request-id"] !== undefined) {
    throw new LoggiaError("bad_body", "HTTP endpoints of Firehose are not supported; use its destination Splunk");
  }
  const isText = TEXT.test(headers["content-type"] ?? "");
  return { items: (isText ? decodeText : decodeLogs)(received), accepted };
}

function accepted(): ProtocolAnswer {
  return { status: 202, type: TYPE, body: "{}" };
}

function failed({ status, body }: Failure): ProtocolAnswer {
  const { code, message } = (JSON.parse(body.json()) as { error: { code: string; message: string } }).error;
  return {
    status,
    type: TYPE,
    body: JSON.stringify({ errors: [{ status: String(status), title: code, detail: message }] }),
  };
}
