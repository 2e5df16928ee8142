import { LoggiaError } from "../../errors.ts";
import { hasBody, readBody } from "../../http/body.ts";
import type { BodyOptions } from "../../http/body.ts";
import { parseForm } from "../../http/form.ts";
import type { Call } from "../../http/route.ts";
import { guessNetwork } from "../../ratelimit/address.ts";
import { quotaOwner } from "../../ratelimit/quota-owner.ts";
import type { LogOwners } from "../../ratelimit/quota-owner.ts";
import type { RateLimiter } from "../../ratelimit/rate-limiter.ts";
import { foldEmail } from "../credential-checks.ts";
import type { Authenticate } from "../passwords/authenticator.ts";
import { requireKey } from "../permissions.ts";
import type { Caller } from "../permissions.ts";
import type { Session } from "../principals.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { SessionTickets } from "../sessions/session-tickets.ts";
import type { GuessLimiter } from "./guess-limiter.ts";
import { findGrant } from "./key-grant.ts";
import type { GrantOptions } from "./key-grant.ts";
import type { OriginCheck } from "./origin-check.ts";
import { unreadKeyHeader } from "./request-key.ts";
import { pathWithoutTicket, requestTicket } from "./request-ticket.ts";
import { isFromPage, readSessionCookies } from "./session-cookie.ts";

export type AuthenticationOptions = {
  readonly catalog: GrantOptions["catalog"] &
    LogOwners & { authenticate: Authenticate } & Pick<Sessions, "session" | "useSession"> &
    Pick<SessionTickets, "useTicket">;
  readonly limiter: Pick<RateLimiter, "countCaller">;
  readonly guesses: GuessLimiter;
  readonly browsers: OriginCheck;
  readonly body: BodyOptions;
  /** Whether the body belongs to the call (form or JSON) and so cannot contain credentials. */
  readonly takesBody: boolean;
};

type AccountCaller = Extract<Caller, { kind: "account" }>;
type Pair = { readonly email: string; readonly password: string };

const HOW_TO_AUTHENTICATE = "Send e-mail and password by HTTP Basic, or an API key as the parameter apikey";

/**
 * Authenticates a request. A session cookie with the page's header takes precedence, then a ticket,
 * as browsers add stored Basic credentials to both. Then HTTP Basic, `apikey` in the query, and
 * credentials as the body of a call that takes none. With these, a cookie is ignored.
 * @throws LoggiaError `unauthorized`; `too_many_requests` after too many wrong credentials or
 * requests; `forbidden` if a browser sends a user's credentials for another site; errors of {@link
 * readBody}
 */
export async function authenticate(call: Call, options: AuthenticationOptions): Promise<Caller> {
  const { body, takesBody, browsers } = options;
  const { authorization } = call.request.headers;
  const key = call.query.get("apikey") ?? "";
  const cookies = readSessionCookies(call.request.headers, browsers.isOverTls(call.request));
  if (cookies.length > 0 && isFromPage(call.request.headers)) return await checkSession(cookies, call, options);
  const ticket = requestTicket(call);
  if (ticket !== null) return await checkTicket(ticket, cookies, call, options);
  if (authorization !== undefined) {
    const refusal = browsers.originRefusal(call.request);
    // Browsers also add stored Basic credentials to another site's requests with an API key.
    if (refusal !== null && key !== "") return await checkKey(key, call, options);
    if (refusal !== null) throw refusal;
    const pair = parseBasic(authorization);
    if (pair === null) {
      throw noCredentials(call, "The header Authorization holds no e-mail and password in the form of HTTP Basic");
    }
    return await checkPair(pair, call, options);
  }
  if (key !== "") return await checkKey(key, call, options);
  if (!takesBody && hasBody(call.request)) {
    return await checkBody((await readBody(call.request, body)).toString("utf8"), call, options);
  }
  const refusal = cookies.length === 0 ? null : browsers.sessionRefusal(call.request);
  throw refusal ?? noCredentials(call, "The request has no credentials");
}

/** @param otherwise what is wrong, unless the request has a key where the API reads none */
function noCredentials({ request }: Call, otherwise: string): LoggiaError {
  const header = unreadKeyHeader(request.headers);
  const why = header === null ? otherwise : `The API reads no key from the header ${header}`;
  return new LoggiaError("unauthorized", `${why}. ${HOW_TO_AUTHENTICATE}`);
}

/**
 * Returns the account of a session cookie.
 * @throws LoggiaError `forbidden` if the request is not from the page, or is for JSONP;
 * `unauthorized` if the session has ended; `too_many_requests`
 */
export async function checkSession(
  cookies: readonly string[],
  call: Call,
  options: SessionOptions,
): Promise<SessionCaller> {
  const { catalog, browsers } = options;
  const refusal = browsers.sessionRefusal(call.request);
  if (refusal !== null) throw refusal;
  refuseJsonp(call);
  const [secret, ...others] = cookies;
  // A page of a sibling domain may have set another cookie. Then it is unknown which one is valid.
  const found = secret === undefined || others.length > 0 ? null : await catalog.session(secret);
  if (found === null) throw new LoggiaError("unauthorized", "There is no such session, or it has ended; sign in again");
  return calledBy(found, options);
}

/**
 * Returns the account of a ticket and consumes the ticket. A cookie sent along, as the page does,
 * must belong to the same account.
 */
async function checkTicket(
  ticket: string,
  cookies: readonly string[],
  call: Call,
  options: SessionOptions,
): Promise<SessionCaller> {
  const { catalog, browsers } = options;
  const refusal = browsers.originRefusal(call.request);
  if (refusal !== null) throw refusal;
  refuseJsonp(call);
  const [cookie] = cookies;
  const beside = cookie === undefined ? null : await catalog.session(cookie);
  const found = await catalog.useTicket(ticket, pathWithoutTicket(call), beside?.account.id ?? null);
  if (found !== null) return calledBy(found, options);
  const message = "This ticket is unknown, used, older than a minute, for another user, or for another path";
  throw new LoggiaError("unauthorized", message);
}

function calledBy(
  found: Pick<SessionCaller, "account" | "session">,
  { catalog, limiter }: SessionOptions,
): SessionCaller {
  limiter.countCaller(found.account.id);
  catalog.useSession(found.session);
  return { kind: "account", ...found };
}

function refuseJsonp({ format }: Call): void {
  if (format.kind !== "jsonp") return;
  throw new LoggiaError("forbidden", "JSONP is for the pages of other sites, with an API key; never with a session");
}

type SessionOptions = Pick<AuthenticationOptions, "catalog" | "limiter" | "browsers">;

export type SessionCaller = AccountCaller & { readonly session: Session };

/** Returns the account that a caller's requests count for: of an API key, its log's owner. */
export function quotaOwnerOfCaller(catalog: LogOwners, caller: Caller): string {
  return caller.kind === "account" ? caller.account.id : quotaOwner(catalog, caller.grant.log);
}

/**
 * Returns the account of an e-mail and password. A wrong pair counts as a guess.
 * @throws LoggiaError `unauthorized`, `too_many_requests`, `overloaded`
 */
export async function checkPair(
  { email, password }: Pair,
  call: Call,
  options: Pick<AuthenticationOptions, "catalog" | "limiter" | "guesses">,
): Promise<AccountCaller> {
  const { catalog, limiter, guesses } = options;
  const peer = guesses.peerAt(call.request, call.address);
  const pair = guesses.pairFor(foldEmail(email), password);
  guesses.beforePair(peer, pair);
  const attempt = {
    address: guessNetwork(call.address),
    isKnown: guesses.isKnown(peer, pair),
    guesses: guesses.addressGuesses(peer),
    failures: guesses.accountGuesses(pair),
    recheck: () => guesses.beforePair(peer, pair),
    outdated: () => guesses.notePassword(pair),
  };
  const account = await catalog.authenticate(email, password, attempt).catch((error: unknown) => {
    if (error instanceof LoggiaError && error.code === "overloaded") guesses.refusedPair(peer, pair);
    throw error;
  });
  if (account === null) {
    guesses.wrongPair(peer, pair);
    throw wrongPair();
  }
  const caller: AccountCaller = { kind: "account", account };
  guesses.rightPair(peer, pair);
  limiter.countCaller(quotaOwnerOfCaller(catalog, caller));
  return caller;
}

function wrongPair(): LoggiaError {
  return new LoggiaError("unauthorized", `E-mail or password is wrong. ${HOW_TO_AUTHENTICATE}`);
}

async function checkKey(secret: string, call: Call, options: AuthenticationOptions): Promise<Caller> {
  const { catalog, limiter, guesses } = options;
  const peer = guesses.peerAt(call.request, call.address);
  const caller = requireKey(await findGrant(secret, peer, options));
  guesses.rightKey(peer, secret, caller.grant.id);
  limiter.countCaller(quotaOwnerOfCaller(catalog, caller));
  return caller;
}

/**
 * Authenticates by the body: `e-mail:password`, as `curl -d` sends it, or a form with `apikey`,
 * such as a post sent to this address by mistake.
 */
async function checkBody(body: string, call: Call, options: AuthenticationOptions): Promise<Caller> {
  const key = parseForm(body).get("apikey");
  if (key !== null) return await checkKey(key, call, options);
  const pair = splitPair(body.replace(/(?<![\r\n])[\r\n]+$/, ""));
  // A malformed pair does not count as a guess.
  if (pair === null) throw wrongPair();
  const refusal = options.browsers.originRefusal(call.request);
  if (refusal !== null) throw refusal;
  return await checkPair(pair, call, options);
}

function parseBasic(authorization: string): Pair | null {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(authorization)?.[1];
  return encoded === undefined ? null : splitPair(Buffer.from(encoded, "base64").toString("utf8"));
}

function splitPair(text: string): Pair | null {
  const colon = text.indexOf(":");
  return colon === -1 ? null : { email: text.slice(0, colon), password: text.slice(colon + 1) };
}
