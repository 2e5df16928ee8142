import type { Account, Session } from "../catalog/catalog.ts";
import { requireAccount } from "../catalog/permissions.ts";
import { LoggiaError } from "../errors.ts";
import { isFromLoopback } from "../ratelimit/address.ts";
import { Moment } from "../http/moment.ts";
import type { Call, Method, Reply, Route } from "../http/route.ts";
import { endedCookie, readSessionCookies, sessionCookie } from "../http/session-cookie.ts";
import { checkPair, checkSession } from "./caller.ts";
import type { SessionCaller } from "./caller.ts";
import { authenticated, NO_CONTENT } from "./context.ts";
import type { Context } from "./context.ts";
import { readJson, requireJson } from "./input.ts";
import { ok } from "./manage/json.ts";
import { NewTicket, SignIn } from "./schemas/inputs.ts";
import { readTicketPath } from "./tickets.ts";

/** Routes to sign in and out with a cookie, for the web page. */
export function sessionRoutes(context: Context): Route[] {
  const { catalog } = context;
  return [
    { method: "POST", path: "/1/session", formats: "json", handle: (call) => signIn(context, call) },
    bySession(context, "GET", "/1/session", ({ account, session }) => ok(showOwn(account, session))),
    bySession(context, "POST", "/1/session/tickets", async ({ session }, call) => {
      requireJson(call.request);
      const { path } = await readJson(context, call, NewTicket);
      return { ...ok({ ticket: await catalog.createTicket(session, readTicketPath(path)) }), status: 201 };
    }),
    bySession(context, "DELETE", "/1/session", async ({ session }, call) => {
      await catalog.endSession(session.user, session.id);
      return { ...NO_CONTENT, headers: { "Set-Cookie": endedCookie(context.browsers.isOverTls(call.request)) } };
    }),
    authenticated(
      context,
      "GET",
      "/1/sessions",
      ({ caller }) => {
        const { id } = requireAccount(caller);
        const current = caller.kind === "account" ? caller.session?.id : undefined;
        return ok(catalog.sessionsOf(id).map((session) => show(session, current)));
      },
      { formats: "json" },
    ),
    authenticated(
      context,
      "DELETE",
      "/1/sessions/:id",
      async ({ caller, params }) => {
        const isEnded = await catalog.endSession(requireAccount(caller).id, params["id"] ?? "");
        if (!isEnded) throw new LoggiaError("session_not_found", "You have no such session, or it has ended");
        return NO_CONTENT;
      },
      { formats: "json" },
    ),
  ];
}

/** Creates a route that only the request's own session can use, not other credentials. */
function bySession(
  context: Context,
  method: Method,
  path: string,
  handle: (caller: SessionCaller, call: Call) => Reply | Promise<Reply>,
): Route {
  return {
    method,
    path,
    formats: "json",
    handle: async (call) => {
      const cookies = readSessionCookies(call.request.headers, context.browsers.isOverTls(call.request));
      if (cookies.length === 0)
        throw new LoggiaError("unauthorized", "There is no session; sign in with POST /1/session");
      return handle(await checkSession(cookies, call, context), call);
    },
  };
}

/**
 * Signs in. The session whose cookie the request carries ends, so that someone who knows that
 * cookie gains nothing from the new session.
 */
async function signIn(context: Context, call: Call): Promise<Reply> {
  const { catalog, browsers } = context;
  const refusal = browsers.refusalOf(call.request);
  if (refusal !== null) throw refusal;
  requireJson(call.request);
  const given = await readJson(context, call, SignIn);
  const { account, mark } = await ("ticket" in given
    ? checkTicket(context, call, given.ticket)
    : checkPassword(context, call, given));
  const isTls = browsers.isOverTls(call.request);
  for (const secret of readSessionCookies(call.request.headers, isTls)) {
    const old = await catalog.session(secret);
    if (old === null) continue;
    // While the catalog cannot be written it has ended in this process; that is no reason to refuse.
    await catalog.endSession(old.session.user, old.session.id).catch((error: unknown) => {
      if (!(error instanceof LoggiaError) || error.code !== "store_unavailable") throw error;
    });
  }
  const agent = call.request.headers["user-agent"] ?? "";
  const made = await catalog.createSession({ account, password: mark, address: call.address, agent });
  const headers = { "Set-Cookie": sessionCookie(made.secret, isTls) };
  return { ...ok(showOwn(account, made.session)), status: 201, headers };
}

/** The account that signs in, and its password mark. */
type SignedIn = { readonly account: Account; readonly mark: string };

async function checkPassword(
  context: Context,
  call: Call,
  pair: { readonly email: string; readonly password: string },
): Promise<SignedIn> {
  const { catalog } = context;
  const before = catalog.account(pair.email);
  // Read before the check, so that a session begun with an old password ends.
  const mark = before === null ? null : catalog.passwordMark(before.id);
  const { account } = await checkPair(pair, call, context);
  if (mark !== null && catalog.passwordMark(account.id) === mark) return { account, mark };
  throw changedMeanwhile();
}

async function checkTicket({ catalog }: Context, { request }: Call, ticket: string): Promise<SignedIn> {
  if (!isFromLoopback(request)) {
    const message =
      "A ticket of the first start only signs in from the machine of the service, without a proxy in between";
    throw new LoggiaError("forbidden", message);
  }
  const account = await catalog.useStartTicket(ticket);
  if (account === null) {
    const message = "This ticket is unknown, was used, or is older than ten minutes; sign in with e-mail and password";
    throw new LoggiaError("unauthorized", message);
  }
  const mark = catalog.passwordMark(account.id);
  if (mark === null) throw changedMeanwhile();
  return { account, mark };
}

function changedMeanwhile(): LoggiaError {
  return new LoggiaError("unauthorized", "The account was changed meanwhile; sign in again");
}

function showOwn({ email, admin }: Account, { expires }: Session) {
  return { email, admin, expires: new Moment(expires) };
}

function show({ id, created, seen, address, agent }: Session, current: string | undefined) {
  return { id, created: new Moment(created), seen: new Moment(seen), address, agent, current: id === current };
}
