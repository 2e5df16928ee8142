import type { IncomingMessage, ServerResponse } from "node:http";

import type { Catalog } from "../../catalog/catalog.ts";
import { LoggiaError } from "../../errors.ts";
import { type LogKey, parseLogKey } from "../../events/event.ts";
import { hasBody } from "../../http/body.ts";
import { COMMON_HEADERS } from "../../http/headers.ts";
import { endAfter } from "../../http/fast-path/last-answer.ts";
import type { Match } from "../protocols/match.ts";
import { answerSnippet } from "./snippet.ts";

/** Where a request of a page goes: a log that its path names, or whichever its key opens. */
export type Destination = { readonly log: LogKey | null } | "by key";

/** What pages may send besides what browsers let every page send. */
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
/** How long a browser may go without asking again, in seconds: as long a removed origin may count. */
const REMEMBERED_S = "600";

/**
 * Lets a page read the answer where the log names its origin. Without that, a browser keeps the
 * answer from the page. A key is needed as ever, and no cookie or password is let through.
 *
 * Where the key alone chooses the log, the origins of all logs count until the key is known.
 */
export function admitPage(
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
 * Where a request goes; null where nothing is posted to.
 * @param named the log of an address of our own, not checked
 */
export function destinationOf(named: string | undefined, match: Pick<Match, "logOfPath"> | null): Destination | null {
  const log = named ?? match?.logOfPath ?? null;
  return log !== null ? { log: parseLogKey(log) } : match === null ? null : "by key";
}

/** The method of a request, or of the one that a browser asks about beforehand. */
export function methodOf({ method = "", headers }: IncomingMessage): string {
  const asked = headers["access-control-request-method"];
  return method === "OPTIONS" && headers.origin !== undefined && asked !== undefined ? asked : method;
}

/**
 * Says whether a page may read the answer, and answers what its browser asks before, or the script
 * that it loads; true where it answered. Of a log that is not there it says the same as of one that names no origin.
 */
export function answerPage(
  request: IncomingMessage,
  response: ServerResponse,
  destination: Destination | null,
  catalog: Pick<Catalog, "log" | "namesOrigin">,
): boolean {
  if (destination === null) return answerSnippet(request, response);
  if (request.headers.origin === undefined) return false;
  const isAdmitted = admitPage(request, response, destination, catalog);
  const isPreflight = request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined;
  if (!isPreflight) return false;
  if (!isAdmitted) throw new LoggiaError("forbidden", "No log here names the origin of this page");
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
