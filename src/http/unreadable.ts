import { STATUS_CODES } from "node:http";
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import { LoggiaError } from "../errors.ts";
import { COMMON_HEADERS } from "./headers.ts";

/** How long a client that was refused may go on sending before it is cut off: long enough to come to read the answer. */
const LINGER_MS = 1000;

/** The response under way on a connection, where Node keeps it. Its own handler of parse errors looks there too. */
type Connection = Duplex & { readonly _httpMessage?: ServerResponse | null };

/**
 * Answers, as all errors are answered, what never becomes a request: bytes that are no HTTP, headers without end, requests that
 * don't come in time, and CONNECT. Node alone would send a bare status line. What else a client `Expect`s does not matter.
 */
export function answerUnreadable(server: Server): void {
  const refused = new WeakSet<Duplex>();
  const refuse = (connection: Connection, error: LoggiaError) => {
    refused.add(connection);
    // Node listens no more to a connection that it gave away for CONNECT; the client may be gone before its answer.
    connection.on("error", () => connection.destroy());
    // oxlint-disable-next-line no-underscore-dangle
    const current = connection._httpMessage ?? null;
    if (current === null || !current.req.complete) sendLast(connection, current, error);
    // What can't be read came behind a request that is still being answered: its answer goes first.
    else current.once("close", () => sendLast(connection, null, error));
  };
  server.on("clientError", (error: NodeJS.ErrnoException, connection) => {
    // The parser tells of every further piece that it can't read; one answer is enough.
    if (refused.has(connection)) return;
    if (error.code === "ECONNRESET" || !connection.writable) connection.destroy();
    else refuse(connection, describe(error, server as Server & HeaderLimits));
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

/** Connections on which a request came of which nobody knows where it ends. */
const ended = new WeakSet<Duplex>();

/**
 * Refuses a request whose body can be measured in two ways, and all that comes behind it: a server in front of this one may have seen other requests
 * in the same bytes. Node takes any transfer coding as long as the last is `chunked`, and takes it from HTTP/1.0 too.
 *
 * @returns whether it did; then nothing else is to be done about the request
 */
export function refuseAmbiguous(request: IncomingMessage, response: ServerResponse): boolean {
  const { socket, headers, httpVersion } = request;
  if (ended.has(socket)) return true;
  const coding = headers["transfer-encoding"];
  if (coding === undefined || (coding.toLowerCase() === "chunked" && httpVersion !== "1.0")) return false;
  ended.add(socket);
  const error = new LoggiaError("bad_request", "Transfer-Encoding must be chunked, and only in HTTP/1.1");
  const payload = describeInJson(error);
  response.writeHead(error.status, { ...headersOf(payload), Connection: "close" }).end(payload);
  return true;
}

function sendLast(connection: Connection, current: ServerResponse | null, error: LoggiaError): void {
  // Half of an answer has gone out already: nothing that follows could be told from the rest of it.
  if (current?.headersSent === true || !connection.writable) {
    connection.destroy();
    return;
  }
  connection.end(rawAnswer(error));
  setTimeout(() => connection.destroy(), LINGER_MS).unref();
}

type HeaderLimits = Pick<Server, "maxHeadersCount"> & { readonly maxHeaderSize: number };

function describe({ code }: NodeJS.ErrnoException, limits: HeaderLimits): LoggiaError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new LoggiaError(
        "headers_too_large",
        `A request may have at most ${limits.maxHeadersCount} headers, which with its address hold at most ${limits.maxHeaderSize} bytes`,
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
