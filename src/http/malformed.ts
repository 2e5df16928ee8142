import { STATUS_CODES } from "node:http";
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import { LoggiaError } from "../errors.ts";
import { COMMON_HEADERS } from "./headers.ts";
import { endAfter, isEnding, linger, pendingResponses } from "./response-tracker.ts";

/**
 * Answers input that never becomes a request in the format of all errors: bytes that are not HTTP,
 * oversized headers, late requests, and CONNECT. Node alone would send a bare status line. Other
 * values of `Expect` are ignored.
 */
export function answerMalformed(server: Server): void {
  const refused = new WeakSet<Duplex>();
  const refuse = (connection: Duplex, error: LoggiaError) => {
    refused.add(connection);
    // Node no longer handles errors of a connection passed to CONNECT; the client may disconnect
    // before the response.
    connection.on("error", () => connection.destroy());
    const responses = pendingResponses(connection);
    const latest = responses.at(-1);
    // The response to an incomplete request; null if no request has begun.
    const own = latest?.req.complete === false ? latest : null;
    const before = own === null ? latest : responses.at(-2);
    if (before === undefined) sendLast(connection, own, error);
    else before.once("close", () => sendLast(connection, own, error));
  };
  server.on("clientError", (error: NodeJS.ErrnoException, connection) => {
    if (error.code === "ECONNRESET") return void connection.destroy();
    // The parser reports every further chunk. One response is enough, and none follows the last
    // one.
    if (refused.has(connection) || isEnding(connection)) return;
    if (connection.writable) refuse(connection, describe(error, server as Server & HeaderLimits));
    else if (connection.writableLength === 0) connection.destroy();
  });
  server.on("connect", (_request, connection) => {
    refuse(connection, new LoggiaError("method_not_allowed", "CONNECT is not allowed here; this is not a proxy"));
  });
  // Node's own check would answer with a bare status line; `requireHost` replaces it.
  (server as Server & { requireHostHeader: boolean }).requireHostHeader = false;
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
}

/**
 * Requires a `Host` header.
 * @throws LoggiaError `bad_request` if a request of HTTP/1.1 has none, or any request has two
 */
export function requireHost({ headers, headersDistinct, httpVersion }: IncomingMessage): void {
  if ((headersDistinct["host"]?.length ?? 0) > 1)
    throw new LoggiaError("bad_request", "The header Host occurs twice; a request must have one");
  if (headers.host !== undefined || httpVersion === "1.0") return;
  throw new LoggiaError("bad_request", "The header Host is missing; every request of HTTP/1.1 needs it");
}

/**
 * Refuses a request whose body length is ambiguous, because a proxy may have seen other requests in
 * the same bytes, and closes the connection. Node accepts any transfer coding that ends in
 * `chunked`, also with HTTP/1.0. Requests after the last one of a connection are dropped without a
 * response.
 *
 * @returns whether the request was refused or dropped; the caller must then ignore it
 */
export function refuseAmbiguous(request: IncomingMessage, response: ServerResponse): boolean {
  const { socket, headers, httpVersion } = request;
  if (isEnding(socket)) return true;
  const coding = headers["transfer-encoding"];
  if (coding === undefined || (coding.toLowerCase() === "chunked" && httpVersion !== "1.0")) return false;
  endAfter(request);
  const error = new LoggiaError("bad_request", "Transfer-Encoding must be chunked, and only in HTTP/1.1");
  const payload = describeInJson(error);
  response.writeHead(error.status, { ...headersOf(payload), Connection: "close" }).end(payload);
  return true;
}

/**
 * Sends the last response of a connection. @param own the response to an incomplete request, or
 * null
 */
function sendLast(connection: Duplex, own: ServerResponse | null, error: LoggiaError): void {
  if (own?.headersSent === true) {
    // A response has been sent. If it is incomplete, a second one would look like its rest.
    if (!own.writableEnded) connection.destroy();
    else if (own.closed) linger(connection);
    else own.once("close", () => linger(connection));
    return;
  }
  if (!connection.writable) return;
  connection.end(rawAnswer(error));
  linger(connection);
}

type HeaderLimits = Pick<Server, "maxHeadersCount"> & { readonly maxHeaderSize: number };

function describe({ code }: NodeJS.ErrnoException, limits: HeaderLimits): LoggiaError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new LoggiaError(
        "headers_too_large",
        `A request may have at most ${limits.maxHeadersCount} headers, ` +
          `which with its address hold at most ${limits.maxHeaderSize} bytes`,
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new LoggiaError("body_too_large", "The extensions of a chunk may hold at most 16 KB");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new LoggiaError("request_timeout", "The request did not arrive in time; send it again");
    case "HPE_INVALID_EOF_STATE":
      return new LoggiaError("bad_request", "The connection closed before the request was complete");
    case undefined:
    default:
      return new LoggiaError("bad_request", "This is not an HTTP request; one begins like this: GET /1/logs HTTP/1.1");
  }
}

/** Returns a complete response in JSON, after which the connection ends. */
function rawAnswer(error: LoggiaError): string {
  const { status } = error;
  const payload = describeInJson(error);
  const headers = {
    ...headersOf(payload),
    ...(status === 405 && { Allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" }),
    Date: new Date().toUTCString(),
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${payload}`;
}

function describeInJson({ status, code, message }: LoggiaError): string {
  return JSON.stringify({ error: { status, code, message } });
}

function headersOf(payload: string): OutgoingHttpHeaders {
  return {
    ...COMMON_HEADERS,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(payload),
  };
}
