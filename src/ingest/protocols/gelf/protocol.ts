import type { Failure } from "../../../http/errors.ts";
import type { PostEndpoint, ProtocolAnswer } from "../../kit/endpoint.ts";
import type { Protocol } from "../protocol.ts";
import { decodeGelf } from "./decode.ts";
import { GELF_SOCKETS } from "./listen.ts";

const TYPE = "application/json";

/**
 * GELF over HTTP, UDP and TCP, as implemented by Graylog:
 * https://go2docs.graylog.org/current/getting_in_log_data/gelf.html
 */
export const GELF: Protocol = {
  name: "gelf",
  page: "gelf.md",
  sockets: GELF_SOCKETS,
  match: (method, path) => (method === "POST" && path === "/gelf" ? ENDPOINT : null),
};

const ENDPOINT: PostEndpoint = {
  kind: "post",
  encoding: "by content",
  read: ({ body, choice }) => ({ items: decodeGelf(body, choice), accepted }),
  failed,
};

function accepted(): ProtocolAnswer {
  return { status: 202, type: null, body: "" };
}

function failed({ status, body }: Failure): ProtocolAnswer {
  return { status, type: TYPE, body: body.json() };
}
