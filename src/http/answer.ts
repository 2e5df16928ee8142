import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "pino";

import type { Reservation } from "../ratelimit/budget.ts";
import type { RateLimiter } from "../ratelimit/rate-limiter.ts";
import { hasBody } from "./body.ts";
import { compress } from "./compress.ts";
import { toFailure } from "./errors.ts";
import type { FailureLog } from "./failure-log.ts";
import { asksForHtml, JSON_FORMAT, negotiate, render } from "./formats.ts";
import type { Body, Format } from "./formats.ts";
import { closeWhenBrowserEnds } from "./limits/hang-up.ts";
import { COMMON_HEADERS } from "./headers.ts";
import { endAfter, isLatest } from "./response-tracker.ts";
import type { Handler, Observer, Reply, Route } from "./route.ts";
import { requireHost } from "./malformed.ts";
import { sendStreamed } from "./streamed.ts";
import { goneSignal, whenClosed } from "./when-closed.ts";
import type { EncodedBody } from "./streamed-list.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

export type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  /** null if the request did not reach a route. */
  readonly route: Route | null;
  readonly handle: Handler;
  readonly log: Logger;
  readonly failures: Pick<FailureLog, "note">;
  readonly scheduler: Scheduler;
  readonly observe: Observer | undefined;
  readonly limiter: Pick<RateLimiter, "enter">;
  /** Whether a refused request may be answered with a challenge for HTTP Basic. */
  readonly mayAskForBasic: (request: IncomingMessage, url: URL) => boolean;
  /** Whether the listener is closing, so that the connection must end with this response. */
  readonly closing: () => boolean;
};

/** Handles a request and sends its response, or an error response. Never rejects. */
export async function answer(exchange: Exchange): Promise<void> {
  const { request, response, route, scheduler, observe } = exchange;
  scheduler.noteRequest();
  const start = performance.now();
  let format = JSON_FORMAT;
  let reply: Reply;
  try {
    requireHost(request);
    const query = exchange.url.searchParams;
    if (!isFormatFixed(route, query)) format = negotiate(query, request.headers.accept);
    const { params, log, url } = exchange;
    const address = exchange.limiter.enter(request);
    closeWhenBrowserEnds(request);
    const gone = goneSignal(response);
    const call = { scheduler, request, address, params, path: url.pathname, query, format, log, gone };
    reply = await exchange.handle(call);
    if (reply.memory !== undefined) reply = encodeWithin(reply, reply.memory, format, response);
  } catch (error) {
    const failed = { method: request.method ?? "", route: route?.path ?? "none", sender: request };
    exchange.failures.note(error, failed);
    reply = toFailure(error);
  }
  try {
    await send(exchange, reply, format);
  } catch (error) {
    // An internal error. No error response can be sent any more, so the connection is closed.
    exchange.log.error({ err: error }, "a response could not be written");
    response.destroy();
  }
  const duration_s = (performance.now() - start) / 1000;
  observe?.({ route: route?.path ?? null, method: request.method ?? "", status: response.statusCode, duration_s });
}

/**
 * Whether the format of a route's responses does not depend on `Accept`: always JSON, or its own
 * format.
 */
function isFormatFixed(route: Route | null, query: URLSearchParams): boolean {
  const formats = route?.formats;
  if (formats === "all and html") return asksForHtml(query);
  if (formats === "files") return !["", "xml", "jsonp"].includes(query.get("fmt")?.toLowerCase() ?? "");
  return formats === "json";
}

/**
 * Encodes a response whose memory is counted, so that a response without room is refused before
 * anything is sent.
 */
function encodeWithin(reply: Reply, memory: Reservation, format: Format, response: ServerResponse): Reply {
  whenClosed(response, () => memory.release());
  if (reply.body === null || "pieces" in reply.body) return reply;
  const body = toEncodedBody(format, reply.body);
  memory.resize(body.payload.length);
  return { ...reply, body };
}

function toEncodedBody(format: Format, body: Body | EncodedBody): EncodedBody {
  if ("payload" in body) return body;
  const { contentType, payload } = render(format, body);
  return { contentType, payload: Buffer.from(payload, "utf8") };
}

async function send(exchange: Exchange, reply: Reply, format: Format): Promise<void> {
  const { request, response } = exchange;
  const headers: Record<string, string | number> = { ...(COMMON_HEADERS as Record<string, string>), ...reply.headers };
  if (reply.status === 401 && !exchange.mayAskForBasic(request, exchange.url)) delete headers["WWW-Authenticate"];
  // The unread rest of a body must not be parsed as the next request.
  const hasUnreadBody = hasBody(request) && !request.complete;
  if (hasUnreadBody || (exchange.closing() && isLatest(response, request.socket))) {
    headers["Connection"] = "close";
    endAfter(request);
  }
  if (reply.body === null) {
    response.writeHead(reply.status, headers).end();
    return;
  }
  if ("pieces" in reply.body) {
    headers["Content-Type"] = reply.body.contentType;
    headers["Vary"] = "Accept, Accept-Encoding";
    response.setHeaders(new Map(Object.entries(headers)));
    await sendStreamed(request, response, reply.status, { streamed: reply.body, closing: exchange.closing });
    return;
  }
  const { contentType, payload } = toEncodedBody(format, reply.body);
  const compressed = await compress(payload, request.headers["accept-encoding"]);
  if (compressed.encoding !== null) headers["Content-Encoding"] = compressed.encoding;
  if (compressed.payload !== payload) reply.memory?.resize(Math.min(compressed.payload.length, payload.length));
  headers["Content-Type"] = contentType;
  headers["Content-Length"] = compressed.payload.length;
  headers["Vary"] = "Accept, Accept-Encoding";
  // Node sends only the headers in response to HEAD.
  response.writeHead(reply.status, headers).end(compressed.payload);
}
