import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "pino";

import { LoggiaError } from "../errors.ts";
import { hasBody } from "../http/body.ts";
import { toFailure } from "../http/errors.ts";
import { FailureLog } from "../http/failure-log.ts";
import { COMMON_HEADERS } from "../http/headers.ts";
import { endAfter } from "../http/response-tracker.ts";
import { requireHost } from "../http/malformed.ts";
import type { Health, Need } from "./health.ts";
import { METRICS_CONTENT_TYPE } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";

/** Handles the ops requests of a listener, without credentials. Returns whether it responds. */
export type OpsEndpoints = (request: IncomingMessage, response: ServerResponse) => boolean;

export type OpsEndpointsOptions = {
  readonly health: Health;
  /** Needs of this listener. */
  readonly needed: readonly Need[];
  /** null if metrics are served elsewhere. */
  readonly metrics: Pick<Metrics, "text"> | null;
  readonly log: Logger;
};

type OpsAnswer = { readonly status: number; readonly type: string; readonly payload: Buffer };

const JSON_TYPE = "application/json; charset=utf-8";
const LIVE: OpsAnswer = { status: 200, type: JSON_TYPE, payload: Buffer.from(JSON.stringify({ status: "live" })) };

/**
 * Creates the endpoints `/health/live`, `/health/ready` and `/metrics`. Their cost does not grow
 * with the rate of requests.
 */
export function createOpsEndpoints({ health, needed, metrics, log }: OpsEndpointsOptions): OpsEndpoints {
  const encode = createCachedEncoder();
  const failures = new FailureLog(log, { addressOf: ({ socket }) => socket.remoteAddress ?? "" });
  const answers: Readonly<Record<string, () => Promise<OpsAnswer>>> = {
    "/health/live": () => Promise.resolve(LIVE),
    "/health/ready": async () => {
      const readiness = await health.ready(needed);
      return {
        status: readiness.status === "ready" ? 200 : 503,
        type: JSON_TYPE,
        payload: Buffer.from(JSON.stringify(readiness)),
      };
    },
    ...(metrics && {
      "/metrics": async () => ({ status: 200, type: METRICS_CONTENT_TYPE, payload: encode(await metrics.text()) }),
    }),
  };
  return (request, response) => {
    const { url = "" } = request;
    // Quick exit for posts: hardly any other URL begins with these letters.
    if (!url.startsWith("/h") && !url.startsWith("/m")) return false;
    const [path = ""] = url.split("?", 1);
    const produce = Object.hasOwn(answers, path) ? answers[path] : undefined;
    if (produce === undefined) return false;
    void respond(request, response, produce, failures);
    return true;
  };
}

/**
 * Returns a function that encodes a text and reuses the last buffer for an equal text, so that slow
 * readers hold no copies.
 */
function createCachedEncoder(): (text: string) => Buffer {
  let last = { text: "", bytes: Buffer.alloc(0) };
  return (text) => {
    if (text !== last.text) last = { text, bytes: Buffer.from(text) };
    return last.bytes;
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  produce: () => Promise<OpsAnswer>,
  failures: FailureLog,
) {
  // The unread rest of a body would be parsed as the next request.
  const isLast = hasBody(request);
  if (isLast) endAfter(request);
  let answer: OpsAnswer;
  let headers: Readonly<Record<string, string>> = {};
  try {
    requireHost(request);
    if (request.method !== "GET" && request.method !== "HEAD") {
      headers = { Allow: "GET, HEAD" };
      throw new LoggiaError("method_not_allowed", `${request.method} is not allowed here; allowed are GET, HEAD`);
    }
    answer = await produce();
  } catch (error) {
    const route = request.url?.split("?", 1)[0] ?? "";
    failures.note(error, { method: request.method ?? "", route, sender: request });
    const failure = toFailure(error);
    headers = { ...headers, ...failure.headers };
    answer = { status: failure.status, type: JSON_TYPE, payload: Buffer.from(failure.body.json()) };
  }
  if (answer.status === 503) headers = { ...headers, "Retry-After": "1" };
  if (isLast) headers = { ...headers, Connection: "close" };
  response.writeHead(answer.status, {
    ...COMMON_HEADERS,
    ...headers,
    "Content-Type": answer.type,
    "Content-Length": answer.payload.length,
  });
  response.end(answer.payload);
}
