import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

import { isDrawnSecret } from "../catalog/secrets.ts";

/**
 * The names of a session's cookie. Browsers take `__Host-` names only by TLS, for this host alone:
 * no sibling domain can set one.
 */
const PLAIN_NAME = "loggia";
const TLS_NAME = "__Host-loggia";

const SESSION_PATH = /^\/1\/session\/?$/;

/** Whether a request says that it is the page's own: no other site's page can send this header. */
export function isFromPage(headers: IncomingHttpHeaders): boolean {
  return headers["x-loggia"] === "1";
}

/** The different values of the session's cookie. A cookie of the other kind of connection is none. */
export function readSessionCookies(headers: IncomingHttpHeaders, isTls: boolean): readonly string[] {
  const name = isTls ? TLS_NAME : PLAIN_NAME;
  const values = cookiesOf(headers).flatMap(([cookie, value]) => (cookie === name ? [value] : []));
  return [...new Set(values)];
}

/** `Set-Cookie` of a new session. */
export function sessionCookie(secret: string, isTls: boolean): string {
  const name = isTls ? TLS_NAME : PLAIN_NAME;
  return `${name}=${secret}; Path=/; HttpOnly; SameSite=Strict${isTls ? "; Secure" : ""}`;
}

/** `Set-Cookie` that removes the cookie of a session that has ended. */
export function endedCookie(isTls: boolean): string {
  return `${sessionCookie("", isTls)}; Max-Age=0`;
}

/**
 * Whether a refused request may be asked for HTTP Basic. Browsers answer that with a window of
 * their own, which has no place in front of the page.
 */
export function mayAskForBasic(
  { headers }: Pick<IncomingMessage, "headers">,
  { pathname, searchParams }: Pick<URL, "pathname" | "searchParams">,
): boolean {
  if (headers["x-loggia"] !== undefined || SESSION_PATH.test(pathname)) return false;
  if (isDrawnSecret(searchParams.get("ticket") ?? "")) return false;
  return !cookiesOf(headers).some(([name]) => name === PLAIN_NAME || name === TLS_NAME);
}

function cookiesOf({ cookie = "" }: IncomingHttpHeaders): (readonly [name: string, value: string])[] {
  return cookie.split(";").map((pair) => {
    const [name = "", ...rest] = pair.split("=");
    return [name.trim(), rest.join("=").trim()] as const;
  });
}
