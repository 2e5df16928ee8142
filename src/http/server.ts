import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Logger } from "pino";
import type * as Restify from "restify";

import { LoggiaError } from "../errors.ts";
import { createRateLimiter } from "../ratelimit/rate-limiter.ts";
import type { RateLimiter } from "../ratelimit/rate-limiter.ts";
import { answer } from "./answer.ts";
import type { Exchange } from "./answer.ts";
import { toFailure } from "./errors.ts";
import { restify } from "./restify.ts";
import type { Cut } from "./limits/connections.ts";
import { closeGracefully, limitConnections, listenOn } from "./listen.ts";
import type { ConnectionLimits, Listener } from "./listen.ts";
import { limitPipelining } from "./fast-path/pipelining.ts";
import { refuseAmbiguous } from "./malformed.ts";
import type { Handler, Observer, Route } from "./route.ts";

export type HttpServer = {
  readonly server: Server;
  /** @throws StartError where the address cannot be had */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /** Lets requests in flight end, then closes. */
  close(): Promise<void>;
};

export type HttpServerOptions = {
  readonly routes: readonly Route[];
  readonly log: Logger;
  readonly limits: ConnectionLimits;
  readonly listener: Listener;
  /** Told of each connection that had to leave for others. */
  readonly cut?: ((reason: Cut) => void) | undefined;
  readonly observe?: Observer | undefined;
  /** What each request passes first. Default: one of its own */
  readonly limiter?: Pick<RateLimiter, "enter"> | undefined;
  /** Answers some requests before the routes are asked; true where it did. */
  readonly front?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
};

type Options = HttpServerOptions & Pick<Exchange, "limiter">;

/** The methods that an address can answer, each with Restify's name for it. */
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

/** Whatever sends ahead sends a few, and waits for answers that are worth it. */
const REQUESTS_AT_ONCE = 8;

/** Longer paths belong to no route. */
const PATH_LENGTH = 2048;

/**
 * An HTTP server that answers by `routes`. Restify finds the route; reading bodies, writing answers
 * and telling of errors are ours.
 *
 * Invariant: no request can end the process. Every handler is awaited inside `answer`, and what
 * Restify does with an address before a handler runs is tried first, in {@link findFault}.
 */
export function createHttpServer(given: HttpServerOptions): HttpServer {
  const options: Options = { ...given, limiter: given.limiter ?? createRateLimiter() };
  const { log, limits, listener } = options;
  const restifyServer = restify.createServer({
    name: "",
    // Restify's types still speak of bunyan; what it calls is what pino has.
    log: log as unknown as NonNullable<Restify.ServerOptions["log"]>,
    ignoreTrailingSlash: true,
    maxParamLength: PATH_LENGTH,
  });
  const server = restifyServer.server as Server;
  limitConnections(server, limits, given.cut);
  restifyServer.on("error", (error: Error) => {
    // Before it listens, `listen` tells of it; that no connection can be taken is counted and
    // logged like those cut.
    const isShort = /^E[MN]FILE$/.test((error as NodeJS.ErrnoException).code ?? "");
    if (server.listening && !isShort) log.error({ err: error }, "the listener failed");
  });
  mountRoutes(restifyServer, server, options);
  guard(restifyServer, server, options);
  limitPipelining(server, REQUESTS_AT_ONCE);
  return {
    server,
    listen: (address) => listenOn(server, address, listener),
    close: () => closeGracefully(server, limits.drain_ms),
  };
}

/** Puts a look at each request before Restify's own listener: what would make it throw is answered here. */
function guard(restifyServer: Restify.Server, server: Server, options: Options): void {
  const route = server.listeners("request")[0] as (request: IncomingMessage, response: ServerResponse) => void;
  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    if (refuseAmbiguous(request, response) || options.front?.(request, response) === true) return;
    const refuse = findFault(request as Restify.Request);
    if (refuse === null) route(request, response);
    else {
      const common = exchange(server, options);
      void answer({ ...common, request, response, url: NOWHERE, params: {}, route: null, handle: refuse });
    }
  };
  // Restify would leave a connection that asks for an upgrade hanging; without a listener, Node
  // takes it for a usual request.
  server.removeAllListeners("upgrade").removeAllListeners("request").on("request", receive);
  restifyServer.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    response.writeContinue();
    server.emit("request", request, response);
  });
}

const NOWHERE = new URL("http://localhost/");
/** A segment `.` or `..`, plain or encoded, in the path of an address. */
const DOT_SEGMENT = /^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i;

/**
 * The answer to a request that Restify could not route: its address is none, or its method is one
 * that no address has.
 */
function findFault(request: Restify.Request): Handler | null {
  if (!Object.hasOwn(METHODS, request.method ?? "")) return refuseMethod(METHOD_NAMES.join(", "));
  // Who stands in front judges the path by its letters, so it means what they say: no step up is taken.
  if (DOT_SEGMENT.test(request.url ?? "")) return refusePath;
  try {
    const { pathname } = urlOf(request);
    decodeURIComponent(pathname);
    return pathname.length <= PATH_LENGTH && pathname.startsWith("/") ? null : refusePath;
  } catch {
    return refusePath;
  }
}

/** Restify parses the address of a request once, and keeps it. */
function urlOf(request: Restify.Request): URL {
  return request.getUrl() as unknown as URL;
}

/** Every path answers every method: with its handler, as HEAD or OPTIONS, or with 405. All other paths answer 404. */
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
      const other = method === "OPTIONS" ? tellMethods(allow) : refuseMethod(allow);
      mount(method, path, route ?? (routes[0] as Route), route?.handle ?? other);
    }
  }
  for (const method of METHOD_NAMES) mount(method, "*", null, refusePath);
}

/** What is the same for every exchange of a server. */
function exchange(
  server: Server,
  { log, observe, limiter }: Options,
): Pick<Exchange, "log" | "observe" | "limiter" | "closing"> {
  return { log, observe, limiter, closing: () => !server.listening };
}

function tellMethods(allow: string): Handler {
  return () => Promise.resolve({ status: 204, body: null, headers: { Allow: allow } });
}

function refuseMethod(allow: string): Handler {
  return ({ request, log }) => {
    const error = new LoggiaError(
      "method_not_allowed",
      `${request.method} is not possible here; possible are ${allow}`,
    );
    const failure = toFailure(error, log);
    return Promise.resolve({ ...failure, headers: { ...failure.headers, Allow: allow } });
  };
}

const refusePath: Handler = () =>
  Promise.reject(
    new LoggiaError("path_not_found", "There is nothing at this address; /openapi.json describes those that there are"),
  );
