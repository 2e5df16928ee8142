import type { z } from "zod";

import type { Log } from "../catalog/catalog.ts";
import { LoggiaError } from "../errors.ts";
import type { Call, Reply, Route } from "../http/route.ts";
import { readSessionCookies } from "../auth/requests/session-cookie.ts";
import { parameterHints } from "../query/hints.ts";
import { grantAccess } from "../auth/requests/access.ts";
import type { Granted, Grants } from "../auth/requests/access.ts";
import { authenticate, checkSession, quotaOwnerOfCaller } from "../auth/requests/authenticate.ts";
import type { SessionCaller } from "../auth/requests/authenticate.ts";
import type { ApiCall, Context } from "./context.ts";
import type { Endpoint } from "./endpoint.ts";
import { parameterNames, withHints } from "./hints.ts";
import { readForm, readJson, requireJson } from "./input.ts";
import { ResponseMemory } from "./response-memory.ts";

/** An endpoint of the API listener, which {@link mountRoute} turns into a route. */
export type ApiEndpoint = Endpoint & {
  readonly open: (context: Context, call: Call) => Promise<Reply>;
};

/** Kinds of access of the API listener. */
type ApiWho = Granted | "anyone" | "session";

/** The request as the handler of a route receives it. */
export type RouteCall<W extends ApiWho, Input> = (W extends Granted ? ApiCall : Call) & {
  /** What the check of `who` returned. */
  readonly access: W extends Granted ? Grants<Log>[W] : W extends "session" ? SessionCaller : null;
  /**
   * Reads the body by the schema `json` or `form`. A handler decides when, as errors of a body come
   * after those of what it checks first.
   * @throws LoggiaError `bad_body`, `bad_parameter`, errors of {@link readBody}
   */
  readonly input: () => Promise<Input>;
};

export type RouteDefinition<W extends ApiWho, Input> = Omit<Endpoint, "who" | "json" | "form" | "lines"> & {
  readonly who: W;
  readonly json?: z.ZodType<Input>;
  readonly form?: z.ZodType<Input>;
  /** Requires bodies to be `application/json`, which then never contain credentials. */
  readonly onlyJson?: boolean;
  readonly handle: (context: Context, call: RouteCall<W, Input>) => Reply | Promise<Reply>;
};

/** Defines a route: everything that is said about an endpoint, and its handler. */
export function defineRoute<const W extends ApiWho, Input>(route: RouteDefinition<W, Input>): ApiEndpoint {
  return { ...route, open: openerOf(route) };
}

/** Returns the route of the HTTP server. */
export function mountRoute(context: Context, { method, path, formats = "all", open }: ApiEndpoint): Route {
  return { method, path, formats, handle: (call) => open(context, call) };
}

function openerOf<W extends ApiWho, Input>(route: RouteDefinition<W, Input>): ApiEndpoint["open"] {
  const { who } = route;
  const answer = (context: Context, call: Call, access: unknown): Reply | Promise<Reply> => {
    // `who` is a type parameter, so its call is known to the types of handlers alone.
    const own: unknown = { ...call, access, input: () => readInput(route, context, call) };
    return route.handle(context, own as RouteCall<W, Input>);
  };
  if (who === "anyone") return async (context, call) => answer(context, call, null);
  if (who === "session") return async (context, call) => answer(context, call, await ownSession(context, call));
  const takesBody = Boolean(route.onlyJson) || route.json !== undefined || route.form !== undefined;
  const parameters = parameterNames(route.query);
  return async (context, call) => {
    const { catalog, body, limiter, guesses, browsers } = context;
    const caller = await authenticate(call, { catalog, body, limiter, guesses, browsers, takesBody });
    const quotaOwner = quotaOwnerOfCaller(catalog, caller);
    const memory = new ResponseMemory(limiter, quotaOwner, call.gone);
    const work = async (): Promise<Reply> => {
      if (route.onlyJson) requireJson(call.request);
      const authenticated: ApiCall = { ...call, caller, memory };
      return await answer(context, authenticated, grantAccess(who, catalog, authenticated));
    };
    try {
      // A GET may occupy the store, so all of it counts as a query.
      const reply =
        route.method === "GET"
          ? withHints(await limiter.query(quotaOwner, work, call.gone), parameterHints(call.query, parameters))
          : await work();
      return { ...reply, memory };
    } catch (error) {
      memory.release();
      throw error;
    }
  };
}

async function readInput<Input>(
  { json, form }: Pick<RouteDefinition<ApiWho, Input>, "json" | "form">,
  context: Context,
  call: Call,
): Promise<Input> {
  if (json !== undefined) return await readJson(context, call, json);
  if (form !== undefined) return await readForm(context, call, form);
  throw new Error("a route without json or form has no input");
}

/** Returns the session of the request's own cookie; other credentials are not accepted. */
async function ownSession(context: Context, call: Call): Promise<SessionCaller> {
  const cookies = readSessionCookies(call.request.headers, context.browsers.isOverTls(call.request));
  if (cookies.length === 0) throw new LoggiaError("unauthorized", "There is no session; sign in with POST /1/session");
  return await checkSession(cookies, call, context);
}

/** Returns a handler for calls that the service does not offer. @param message what to do instead */
export function unsupported(message: string): () => Promise<Reply> {
  return () => Promise.reject(new LoggiaError("unsupported", message));
}
