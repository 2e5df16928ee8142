import type { IncomingMessage, ServerResponse } from "node:http";

import type { Catalog } from "../../catalog/catalog.ts";
import { LoggiaError } from "../../errors.ts";
import { type LogKey, parseLogKey } from "../../events/event.ts";
import { hasBody } from "../../http/body.ts";
import { COMMON_HEADERS } from "../../http/headers.ts";
import { endAfter } from "../../http/response-tracker.ts";
import { answerSnippet } from "./snippet.ts";

/** Log that a page's request posts to: the one in its path, or the one of its key. */
export type Destination = { readonly log: LogKey | null } | "by key";

/** Methods and headers that pages may send beyond those that browsers always allow. */
const METHODS = "GET, POST, PUT";
const HEADERS = [
  "Authorization",
  "Content-Type",
  "Content-Encoding",
  "Idempotency-Key",
  "apikey",
  "X-API-Key",
  "DD-API-KEY",
  "X-Splunk-Token",
  "X-Loggia-Text-Field",
  "X-Loggia-Time-Field",
  "X-Loggia-Source-Field",
  "X-Loggia-Tags",
].join(", ");
const SHOWN = "Retry-After, X-Loggia-Hint";
/** Time a browser caches a preflight, in seconds. A removed origin may remain valid as long. */
const REMEMBERED_S = "600";

/**
 * Allows a page to read the response if the log lists its origin; otherwise the browser blocks it.
 * An API key is still required, and cookies and passwords are never allowed.
 *
 * If the key alone determines the log, the origins of all logs count until the key is known.
 */
export function setCorsHeaders(
  request: IncomingMessage,
  response: ServerResponse,
  destination: Destination,
  catalog: Pick<Catalog, "log" | "namesOrigin">,
): boolean {
  const { origin } = request.headers;
  if (origin === undefined) return false;
  response.setHeader("Vary", "Origin");
  response.removeHeader("Access-Control-Allow-Origin");
  const allowed = allowedOrigin(origin, destination, catalog);
  if (allowed === null) return false;
  response.setHeader("Access-Control-Allow-Origin", allowed);
  response.setHeader("Access-Control-Expose-Headers", SHOWN);
  return true;
}

function allowedOrigin(
  origin: string,
  destination: Destination,
  catalog: Pick<Catalog, "log" | "namesOrigin">,
): string | null {
  if (destination === "by key") return catalog.namesOrigin(origin) ? origin : catalog.namesOrigin("*") ? "*" : null;
  const origins = destination.log === null ? [] : (catalog.log(destination.log)?.origins ?? []);
  return origins.includes(origin) ? origin : origins.includes("*") ? "*" : null;
}

/**
 * Returns the destination of a request; null if it posts to none.
 * @param named the log in a native path, not validated
 * @param match the match of a protocol
 */
export function corsDestination(
  named: string | undefined,
  match: { readonly logOfPath: string | null } | null,
): Destination | null {
  const log = named ?? match?.logOfPath ?? null;
  return log !== null ? { log: parseLogKey(log) } : match === null ? null : "by key";
}

/** Returns the method of a request; for a preflight, the method that it asks about. */
export function requestedMethod({ method = "", headers }: IncomingMessage): string {
  const asked = headers["access-control-request-method"];
  return method === "OPTIONS" && headers.origin !== undefined && asked !== undefined ? asked : method;
}

/**
 * Sets the CORS headers, and answers preflights and requests for the script. Returns true if it
 * answered. An unknown log is treated like a log that lists no origin.
 */
export function answerBrowser(
  request: IncomingMessage,
  response: ServerResponse,
  destination: Destination | null,
  catalog: Pick<Catalog, "log" | "namesOrigin">,
): boolean {
  if (destination === null) return answerSnippet(request, response);
  if (request.headers.origin === undefined) return false;
  const isAllowed = setCorsHeaders(request, response, destination, catalog);
  const isPreflight = request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined;
  if (!isPreflight) return false;
  if (!isAllowed) throw new LoggiaError("forbidden", "No log lists the origin of this page among its origins");
  const close = hasBody(request);
  if (close) endAfter(request);
  response.writeHead(204, {
    ...COMMON_HEADERS,
    ...(close && { Connection: "close" }),
    "Access-Control-Allow-Methods": METHODS,
    "Access-Control-Allow-Headers": HEADERS,
    "Access-Control-Max-Age": REMEMBERED_S,
  });
  response.end();
  return true;
}
