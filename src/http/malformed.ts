import { STATUS_CODES } from "node:http";
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import { LoggiaError } from "../errors.ts";
import { COMMON_HEADERS } from "./headers.ts";
import { endAfter, isEnding, linger, unansweredOf } from "./fast-path/last-answer.ts";

/**
 * Answers, as all errors are answered, what never becomes a request: bytes that are no HTTP,
 * headers without end, requests that don't come in time, and CONNECT. Node alone would send a bare
 * status line. What else a client `Expect`s does not matter.
 */
export function answerMalformed(server: Server): void {
  const refused = new WeakSet<Duplex>();
  const refuse = (connection: Duplex, error: LoggiaError) => {
    refused.add(connection);
    // Node listens no more to a connection that it gave away for CONNECT; the client may be gone before its answer.
    connection.on("error", () => connection.destroy());
    const responses = unansweredOf(connection);
    const latest = responses.at(-1);
    // Half a request, whose own answer this is; or nothing that became one.
    const own = latest?.req.complete === false ? latest : null;
    const before = own === null ? latest : responses.at(-2);
    if (before === undefined) sendLast(connection, own, error);
    else before.once("close", () => sendLast(connection, own, error));
  };
  server.on("clientError", (error: NodeJS.ErrnoException, connection) => {
    if (error.code === "ECONNRESET") return void connection.destroy();
    // The parser tells of every further piece that it can't read; one answer is enough, and the
    // last one was given.
    if (refused.has(connection) || isEnding(connection)) return;
    if (connection.writable) refuse(connection, describe(error, server as Server & HeaderLimits));
    else if (connection.writableLength === 0) connection.destroy();
  });
  server.on("connect", (_request, connection) => {
    refuse(connection, new LoggiaError("method_not_allowed", "CONNECT is not possible here; this is no proxy"));
  });
  // Node would refuse such a request by itself; `requireHost` does, in our words.
  (server as Server & { requireHostHeader: boolean }).requireHostHeader = false;
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
}

/** @throws LoggiaError `bad_request` where a request of HTTP/1.1 does not say which host it is for, or any names two */
export function requireHost({ headers, headersDistinct, httpVersion }: IncomingMessage): void {
  if ((headersDistinct["host"]?.length ?? 0) > 1)
    throw new LoggiaError("bad_request", "The header Host comes twice; a request is for one host");
  if (headers.host !== undefined || httpVersion === "1.0") return;
  throw new LoggiaError("bad_request", "The header Host is missing; every request of HTTP/1.1 needs it");
}

/**
 * Refuses what comes behind the last request of a connection, without an answer; and, as the last
 * one, a request whose body can be measured in two ways: a server in front of this one may have
 * seen other requests in the same bytes. Node takes any transfer coding as long as the last is
 * `chunked`, and takes it from HTTP/1.0 too.
 *
 * @returns whether it did; then nothing else is to be done about the request
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

/** @param own the response to the request that can't be read, where there is one */
function sendLast(connection: Duplex, own: ServerResponse | null, error: LoggiaError): void {
  if (own?.headersSent === true) {
    // It was answered meanwhile; of half an answer nothing that follows could be told from the
    // rest.
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
      return new LoggiaError("request_timeout", "The request did not arrive in time; send it anew");
    case "HPE_INVALID_EOF_STATE":
      return new LoggiaError("bad_request", "The connection ended before the request did");
    case undefined:
    default:
      return new LoggiaError("bad_request", "This is no HTTP request; one begins as in: GET /1/logs HTTP/1.1");
  }
}

/** A whole answer in JSON, after which the connection ends. */
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
