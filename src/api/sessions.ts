import type { z } from "zod";

import type { Account, Session } from "../auth/principals.ts";
import { LoggiaError } from "../errors.ts";
import { isFromLoopback } from "../ratelimit/address.ts";
import { Moment } from "../http/moment.ts";
import type { Call, Reply } from "../http/route.ts";
import { endedCookie, readSessionCookies, sessionCookie } from "../auth/requests/session-cookie.ts";
import { checkPair } from "../auth/requests/authenticate.ts";
import type { Context } from "./context.ts";
import { defineRoute } from "./define-route.ts";
import type { RouteCall } from "./define-route.ts";
import { requireJson } from "./input.ts";
import { NO_CONTENT, ok } from "./replies.ts";
import { OwnSession, SessionList, TicketRecord } from "./schemas/answers.ts";
import { NewTicket, SignIn } from "./schemas/inputs.ts";
import { readTicketPath } from "../auth/requests/request-ticket.ts";

const base = { tag: "sessions", formats: "json" } as const;

/** Routes to sign in and out with a cookie, for the web page. */
export const SESSION_ROUTES = [
  defineRoute({
    ...base,
    method: "POST",
    path: "/1/session",
    who: "anyone",
    id: "signIn",
    summary: "Sign in: create a session with a cookie; a session whose cookie is sent along ends",
    json: SignIn,
    answers: {
      201: {
        what: "The account that is signed in, and when the session ends",
        schema: OwnSession,
        headers: ["Set-Cookie"],
      },
    },
    errors: ["unauthorized", "forbidden", "too_many_requests", "bad_body", "body_too_large", "unsupported_media_type"],
    handle: signIn,
  }),
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/session",
    who: "session",
    id: "readSession",
    summary: "Read who is signed in by the cookie",
    answers: { 200: { what: "The account that is signed in, and when the session ends", schema: OwnSession } },
    handle: (_, { access: { account, session } }) => ok(showOwn(account, session)),
  }),
  defineRoute({
    ...base,
    method: "POST",
    path: "/1/session/tickets",
    who: "session",
    id: "createTicket",
    summary: "Create a ticket for one GET of a path by a link or a frame, which cannot send X-Loggia",
    json: NewTicket,
    answers: { 201: { what: "The ticket", schema: TicketRecord } },
    async handle({ catalog }, { access: { session }, request, input }) {
      requireJson(request);
      const { path } = await input();
      return { ...ok({ ticket: await catalog.createTicket(session, readTicketPath(path)) }), status: 201 };
    },
  }),
  defineRoute({
    ...base,
    method: "DELETE",
    path: "/1/session",
    who: "session",
    id: "signOut",
    summary: "End the session of the cookie",
    answers: { 204: { what: "Signed out", headers: ["Set-Cookie"] } },
    async handle({ catalog, browsers }, { access: { session }, request }) {
      await catalog.endSession(session.user, session.id);
      return { ...NO_CONTENT, headers: { "Set-Cookie": endedCookie(browsers.isOverTls(request)) } };
    },
  }),
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/sessions",
    who: "account",
    id: "listSessions",
    summary: "List the caller's sessions, oldest first",
    answers: { 200: { what: "The sessions", schema: SessionList } },
    handle({ catalog }, { access: { id }, caller }) {
      const current = caller.kind === "account" ? caller.session?.id : undefined;
      return ok(catalog.sessionsOf(id).map((session) => show(session, current)));
    },
  }),
  defineRoute({
    ...base,
    method: "DELETE",
    path: "/1/sessions/:id",
    who: "account",
    id: "endSession",
    summary: "End one of the caller's sessions",
    answers: { 204: { what: "Ended" } },
    errors: ["session_not_found"],
    async handle({ catalog }, { access: account, params }) {
      const isEnded = await catalog.endSession(account.id, params["id"] ?? "");
      if (!isEnded) throw new LoggiaError("session_not_found", "You have no such session, or it has ended");
      return NO_CONTENT;
    },
  }),
];

/**
 * Signs in. The session whose cookie the request carries ends, so that someone who knows that
 * cookie gains nothing from the new session.
 */
async function signIn(context: Context, call: RouteCall<"anyone", z.infer<typeof SignIn>>): Promise<Reply> {
  const { catalog, browsers } = context;
  const refusal = browsers.originRefusal(call.request);
  if (refusal !== null) throw refusal;
  requireJson(call.request);
  const given = await call.input();
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
