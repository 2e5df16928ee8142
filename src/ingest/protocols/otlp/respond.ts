import type { IncomingHttpHeaders } from "node:http";

import { OBJECT } from "../../../json/json-bytes.ts";
import type { Failure } from "../../../http/errors.ts";
import type { Outcome, ProtocolAnswer } from "../../kit/endpoint.ts";
import { lengthField, textField, varintField } from "./write.ts";

/** The two encodings of OTLP. Responses use that of the request. */
export type OtlpEncoding = "json" | "protobuf";

const JSON_TYPE = "application/json";
/** Content types of JSON requests. Vector names the second one for requests in lines. */
const JSON_TYPES: ReadonlySet<string> = new Set([JSON_TYPE, "application/x-ndjson"]);
const PROTOBUF_TYPE = "application/x-protobuf";
const NOTHING = Buffer.alloc(0);
/** gRPC codes by HTTP status. */
const CODES: Readonly<Record<number, number>> = { 400: 3, 401: 16, 403: 7, 404: 5, 413: 3, 415: 3, 429: 8, 503: 14 };
const INTERNAL = 13;

/** Returns the encoding of a request; null if its content type is neither. */
export function otlpEncoding(headers: IncomingHttpHeaders, body: Buffer): OtlpEncoding | null {
  const type = (headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase();
  if (type === "") return body[0] === OBJECT.open ? "json" : "protobuf";
  if (JSON_TYPES.has(type)) return "json";
  return type === PROTOBUF_TYPE || type === "application/protobuf" ? "protobuf" : null;
}

/** Returns a success, which is partial if some records could not be decoded. */
export function success(encoding: OtlpEncoding, { rejected, fault }: Outcome): ProtocolAnswer {
  const message = fault ?? "";
  if (encoding === "json") {
    const body =
      rejected === 0 ? {} : { partialSuccess: { rejectedLogRecords: String(rejected), errorMessage: message } };
    return { status: 200, type: JSON_TYPE, body: JSON.stringify(body) };
  }
  const partial = Buffer.concat([varintField(1, rejected), textField(2, message)]);
  return { status: 200, type: PROTOBUF_TYPE, body: rejected === 0 ? NOTHING : lengthField(1, partial) };
}

/** Returns a failure as a `google.rpc.Status`. */
export function failure(encoding: OtlpEncoding, { status, body }: Failure): ProtocolAnswer {
  const { message } = (JSON.parse(body.json()) as { error: { message: string } }).error;
  const code = CODES[status] ?? INTERNAL;
  if (encoding === "json") return { status, type: JSON_TYPE, body: JSON.stringify({ code, message }) };
  return { status, type: PROTOBUF_TYPE, body: Buffer.concat([varintField(1, code), textField(2, message)]) };
}
