import type { Failure } from "../../../http/errors.ts";
import type { PostEndpoint, ProtocolAnswer } from "../../kit/endpoint.ts";
import type { Protocol } from "../protocol.ts";
import { decodeJson, decodeProtobuf } from "./decode.ts";

const PATHS: ReadonlySet<string> = new Set(["/loki/api/v1/push", "/api/prom/push"]);
const JSON_TYPE = /^application\/json\b/i;
const TEXT_TYPE = "text/plain; charset=utf-8";

/**
 * Loki's push API, in protobuf and JSON:
 * https://grafana.com/docs/loki/latest/reference/loki-http-api/
 */
export const LOKI: Protocol = {
  name: "loki",
  page: "loki.md",
  match(method, path) {
    if (path === "/ready" && (method === "GET" || method === "HEAD")) return READY;
    return method === "POST" && PATHS.has(path) ? ENDPOINT : null;
  },
};

const READY = { kind: "info", answer: () => ({ status: 200, type: TEXT_TYPE, body: "ready\n" }) } as const;

const ENDPOINT: PostEndpoint = {
  kind: "post",
  encoding: "snappy unless JSON",
  read(received) {
    const isJson = JSON_TYPE.test(received.headers["content-type"] ?? "");
    return { items: isJson ? decodeJson(received) : decodeProtobuf(received), accepted };
  },
  failed,
};

function accepted(): ProtocolAnswer {
  return { status: 204, type: null, body: "" };
}

/** Returns the response to a failure as text, which clients log. */
function failed({ status, body }: Failure): ProtocolAnswer {
  const { message } = (JSON.parse(body.json()) as { error: { message: string } }).error;
  return { status, type: TEXT_TYPE, body: `${message}\n` };
}
