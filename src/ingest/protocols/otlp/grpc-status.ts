import type { OutgoingHttpHeaders } from "node:http2";

import type { LoggiaError } from "../../../errors.ts";
import { lengthField, textField, varintField } from "./write.ts";

const OK = 0;
export const UNIMPLEMENTED = 12;
const INTERNAL = 13;
/** gRPC codes by HTTP status. */
const CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: UNIMPLEMENTED,
  408: 4,
  413: 3,
  415: UNIMPLEMENTED,
  429: 8,
  503: 14,
};
const RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo";
/** Matches characters that are percent-encoded in a message. */
const ESCAPED = /[^ -$&-~]/gu;

/** Supported encodings of messages. */
export const ENCODINGS = "identity,gzip,deflate,zstd";

/** Headers of every response. */
export const ANSWER = Object.freeze({
  ":status": 200,
  "content-type": "application/grpc",
  "grpc-accept-encoding": ENCODINGS,
});

export const SUCCESS: OutgoingHttpHeaders = Object.freeze({ "grpc-status": String(OK) });

/** Returns the headers of a failure, with the retry delay in the details that clients read. */
export function grpcFailureHeaders(error: LoggiaError): OutgoingHttpHeaders {
  const code = CODES[error.status] ?? INTERNAL;
  const headers: OutgoingHttpHeaders = {
    "grpc-status": String(code),
    "grpc-message": error.message.replaceAll(ESCAPED, encodeURIComponent),
  };
  if (error.retryAfter_s === null) return headers;
  const retry = lengthField(1, varintField(1, error.retryAfter_s));
  const detail = Buffer.concat([textField(1, RETRY_INFO), lengthField(2, retry)]);
  const status = Buffer.concat([varintField(1, code), textField(2, error.message), lengthField(3, detail)]);
  return { ...headers, "grpc-status-details-bin": status.toString("base64") };
}
