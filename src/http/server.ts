import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Logger } from "pino";
import type * as Restify from "restify";

import { LoggiaError } from "../errors.ts";
import { createRateLimiter } from "../ratelimit/rate-limiter.ts";
import type { RateLimiter } from "../ratelimit/rate-limiter.ts";
import { answer } from "./answer.ts";
import type { Exchange } from "./answer.ts";
import { toFailure } from "./errors.ts";
import { FailureLog } from "./failure-log.ts";
import { restify } from "./restify.ts";
import type { EvictionReason } from "./limits/connections.ts";
import { handleInTurn } from "./limits/long-heads.ts";
import { closeGracefully, limitConnections, listenOn } from "./listen.ts";
import type { Listener } from "./listen.ts";
import type { ConnectionLimits } from "./limits/connection-limits.ts";
import { limitPipelining } from "./limits/pipelining.ts";
import { refuseAmbiguous } from "./malformed.ts";
import type { Handler, Observer, Route } from "./route.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

export type HttpServer = {
  readonly server: Server;
  /** @throws StartError if it cannot listen at the address */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /** Waits for the requests in flight, then closes. */
  close(): Promise<void>;
};

export type HttpServerOptions = {
  readonly routes: readonly Route[];
  readonly log: Logger;
  readonly scheduler: Scheduler;
  readonly limits: ConnectionLimits;
  readonly listener: Listener;
  /** Called when a connection is evicted. */
  readonly onEvicted?: ((reason: EvictionReason) => void) | undefined;
  readonly observe?: Observer | undefined;
  /** Rate limiter applied to each request. Default: one of its own. */
  readonly limiter?: Pick<RateLimiter, "enter" | "addressOf"> | undefined;
  /** Whether a request that is refused with 401 may be challenged for HTTP Basic. Default: each */
  readonly mayAskForBasic?: Exchange["mayAskForBasic"] | undefined;
  /** Answers some requests before routing. Returns whether it did. */
  readonly answerFirst?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
};

type Options = HttpServerOptions & Pick<Exchange, "limiter" | "mayAskForBasic" | "failures">;

/** The supported methods, each with Restify's name for it. */
const METHODS = {
  GET: "get",
  HEAD: "head",
  POST: "post",
  PUT: "put",
  PATCH: "patch",
  DELETE: "del",
  OPTIONS: "opts",
} as const;
const METHOD_NAMES = Object.keys(METHODS) as (keyof typeof METHODS)[];

/** Maximum number of pipelined requests handled at once. Clients that pipeline send few. */
const REQUESTS_AT_ONCE = 8;

/** Maximum length of a path. No route has a longer one. */
const PATH_LENGTH = 2048;

/**
 * Creates an HTTP server for `routes`. Restify only finds the route; bodies, responses and errors
 * are handled here.
 *
 * Invariant: no request can end the process. Every handler is awaited inside `answer`, and whatever
 * Restify does with a URL before a handler runs is tried first, in {@link refusalFor}.
 */
export function createHttpServer(given: HttpServerOptions): HttpServer {
  const { limiter = createRateLimiter(), mayAskForBasic = () => true } = given;
  const failures = new FailureLog(given.log, limiter);
  const options: Options = { ...given, limiter, mayAskForBasic, failures };
  const { log, limits, listener } = options;
  const restifyServer = restify.createServer({
    name: "",
    // Restify's types still expect bunyan; pino has all the methods that it calls.
    log: log as unknown as NonNullable<Restify.ServerOptions["log"]>,
    ignoreTrailingSlash: true,
    maxParamLength: PATH_LENGTH,
  });
  const server = restifyServer.server as Server;
  server.once("close", () => failures[Symbol.dispose]());
  limitConnections(server, limits, given.onEvicted);
  restifyServer.on("error", (error: Error) => {
    // Before the server listens, `listen` reports the error. A lack of file descriptors is counted
    // and logged like evicted connections.
    const isShort = /^E[MN]FILE$/.test((error as NodeJS.ErrnoException).code ?? "");
    if (server.listening && !isShort) log.error({ err: error }, "the listener failed");
  });
  mountRoutes(restifyServer, server, options);
  checkBeforeRouting(restifyServer, server, options);
  limitPipelining(server, REQUESTS_AT_ONCE);
  return {
    server,
    listen: (address) => listenOn(server, address, listener),
    close: () => closeGracefully(server, limits.drain_ms),
  };
}

/** Checks each request before Restify does, and answers those that would make it throw. */
function checkBeforeRouting(restifyServer: Restify.Server, server: Server, options: Options): void {
  const route = server.listeners("request")[0] as (request: IncomingMessage, response: ServerResponse) => void;
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (options.answerFirst?.(request, response) === true) return;
    const refuse = refusalFor(request as Restify.Request);
    if (refuse === null) route(request, response);
    else {
      const common = exchange(server, options);
      void answer({ ...common, request, response, url: NOWHERE, params: {}, route: null, handle: refuse });
    }
  };
  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    if (!refuseAmbiguous(request, response)) handleInTurn(request, options.scheduler, () => handle(request, response));
  };
  // Restify would leave a connection that asks for an upgrade hanging. Without a listener, Node
  // treats it as a usual request.
  server.removeAllListeners("upgrade").removeAllListeners("request").on("request", receive);
  restifyServer.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    response.writeContinue();
    server.emit("request", request, response);
  });
}

const NOWHERE = new URL("http://localhost/");
/** Matches a segment `.` or `..`, plain or encoded, in the path of a URL. */
const DOT_SEGMENT = /^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i;

/** Returns a handler for a request whose URL or method Restify cannot route, else null. */
function refusalFor(request: Restify.Request): Handler | null {
  if (!Object.hasOwn(METHODS, request.method ?? "")) return refuseMethod(METHOD_NAMES.join(", "));
  // A proxy judges the path literally, so dot segments are refused rather than resolved.
  if (DOT_SEGMENT.test(request.url ?? "")) return refusePath;
  try {
    const { pathname } = urlOf(request);
    decodeURIComponent(pathname);
    return pathname.length <= PATH_LENGTH && pathname.startsWith("/") ? null : refusePath;
  } catch {
    return refusePath;
  }
}

/** Returns the URL of a request, which Restify parses once. */
function urlOf(request: Restify.Request): URL {
  return request.getUrl() as unknown as URL;
}

/** Mounts every method on every path: handler, HEAD, OPTIONS, or 405. Other paths answer 404. */
function mountRoutes(restifyServer: Restify.Server, server: Server, options: Options): void {
  const mount = (method: keyof typeof METHODS, path: string, route: Route | null, handle: Handler) => {
    restifyServer[METHODS[method]](path, async (request: Restify.Request, response: Restify.Response) => {
      const params = request.params as Record<string, string>;
      await answer({ ...exchange(server, options), request, response, url: urlOf(request), params, route, handle });
    });
  };
  for (const [path, routes] of Map.groupBy(options.routes, (route) => route.path)) {
    const byMethod = new Map<string, Route>(routes.map((route) => [route.method, route]));
    const get = byMethod.get("GET");
    if (get !== undefined) byMethod.set("HEAD", get);
    const allow = METHOD_NAMES.filter((method) => byMethod.has(method) || method === "OPTIONS").join(", ");
    for (const method of METHOD_NAMES) {
      const route = byMethod.get(method);
      const other = method === "OPTIONS" ? answerOptions(allow) : refuseMethod(allow);
      mount(method, path, route ?? (routes[0] as Route), route?.handle ?? other);
    }
  }
  for (const method of METHOD_NAMES) mount(method, "*", null, refusePath);
}

/** Returns the parts of an exchange that are the same for all requests of a server. */
function exchange(
  server: Server,
  { log, scheduler, observe, limiter, mayAskForBasic, failures }: Options,
): Pick<Exchange, "log" | "scheduler" | "observe" | "limiter" | "mayAskForBasic" | "failures" | "closing"> {
  return { log, scheduler, observe, limiter, mayAskForBasic, failures, closing: () => !server.listening };
}

function answerOptions(allow: string): Handler {
  return () => Promise.resolve({ status: 204, body: null, headers: { Allow: allow } });
}

function refuseMethod(allow: string): Handler {
  return ({ request }) => {
    const error = new LoggiaError("method_not_allowed", `${request.method} is not allowed here; allowed are ${allow}`);
    const failure = toFailure(error);
    return Promise.resolve({ ...failure, headers: { ...failure.headers, Allow: allow } });
  };
}

const refusePath: Handler = () =>
  Promise.reject(new LoggiaError("path_not_found", "There is no such path; /openapi.json describes all of them"));
