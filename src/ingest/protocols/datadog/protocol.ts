import type { Failure } from "../../../http/errors.ts";
import type { Endpoint, Protocol, ProtocolAnswer } from "../protocol.ts";
import { decodeLogs } from "./decode.ts";

/** Matches the paths of the intake. Old clients put the key into the path. */
const PATH = /^\/(?:api\/v2\/logs|v1\/input(?:\/(?<key>[^/]+))?)$/;
const TYPE = "application/json";

/** Datadog's log intake: https://docs.datadoghq.com/api/latest/logs/ */
export const DATADOG: Protocol = {
  name: "datadog",
  match(method, path): Endpoint | null {
    const match = method === "POST" ? PATH.exec(path) : null;
    if (match === null) return null;
    return {
      kind: "post",
      secret: match.groups?.["key"],
      read: ({ body, query, choice }) => ({ items: decodeLogs(body, query, choice), accepted }),
      failed,
    };
  },
};

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
