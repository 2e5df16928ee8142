import { LoggiaError } from "../../../errors.ts";
import { quote } from "../../../events/quote.ts";
import type { PostEndpoint } from "../../kit/endpoint.ts";
import type { Protocol } from "../protocol.ts";
import { decodeJson } from "./decode-json.ts";
import { decodeProtobuf } from "./decode-protobuf.ts";
import { GRPC_SOCKETS } from "./grpc.ts";
import { otlpEncoding, failure, success } from "./respond.ts";

const PATHS: ReadonlySet<string> = new Set(["/v1/logs", "/otlp/v1/logs"]);
const NOTHING = Buffer.alloc(0);

/** OpenTelemetry logs over HTTP, in protobuf and JSON, and over gRPC: https://opentelemetry.io/docs/specs/otlp/ */
export const OTLP: Protocol = {
  name: "otlp",
  page: "otlp.md",
  sockets: GRPC_SOCKETS,
  match: (method, path) => (method === "POST" && PATHS.has(path) ? ENDPOINT : null),
};

const ENDPOINT: PostEndpoint = {
  kind: "post",
  read(received) {
    const { body, headers } = received;
    const encoding = otlpEncoding(headers, body);
    if (encoding === null) {
      const type = quote(headers["content-type"] ?? "");
      const accepted = "application/x-protobuf and application/json";
      throw new LoggiaError("unsupported_media_type", `Content-Type is ${type}; accepted: ${accepted}`);
    }
    const items = encoding === "json" ? decodeJson(received) : decodeProtobuf(received);
    return { items, accepted: (outcome) => success(encoding, outcome) };
  },
  failed: (failed, _error, headers) => failure(otlpEncoding(headers, NOTHING) ?? "json", failed),
};
