import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

import { isGeneratedSecret } from "../secrets.ts";

/**
 * Names of the session cookie. Browsers accept `__Host-` names only over TLS and for this host
 * alone, so no sibling domain can set one.
 */
const PLAIN_NAME = "loggia";
const TLS_NAME = "__Host-loggia";

const SESSION_PATH = /^\/1\/session\/?$/;

/**
 * Whether a request says that it comes from the page. Pages of other sites cannot send this header.
 */
export function isFromPage(headers: IncomingHttpHeaders): boolean {
  return headers["x-loggia"] === "1";
}

/** Returns the distinct values of the session cookie. The cookie of the other scheme is ignored. */
export function readSessionCookies(headers: IncomingHttpHeaders, isTls: boolean): readonly string[] {
  const name = isTls ? TLS_NAME : PLAIN_NAME;
  const values = cookiesOf(headers).flatMap(([cookie, value]) => (cookie === name ? [value] : []));
  return [...new Set(values)];
}

/** Returns `Set-Cookie` for a new session. */
export function sessionCookie(secret: string, isTls: boolean): string {
  const name = isTls ? TLS_NAME : PLAIN_NAME;
  return `${name}=${secret}; Path=/; HttpOnly; SameSite=Strict${isTls ? "; Secure" : ""}`;
}

/** Returns `Set-Cookie` that removes the cookie of an ended session. */
export function endedCookie(isTls: boolean): string {
  return `${sessionCookie("", isTls)}; Max-Age=0`;
}

/**
 * Whether a refused request may be answered with a challenge for HTTP Basic. Browsers show a dialog
 * for it, which must not appear over the page.
 */
export function mayAskForBasic(
  { headers }: Pick<IncomingMessage, "headers">,
  { pathname, searchParams }: Pick<URL, "pathname" | "searchParams">,
): boolean {
  if (headers["x-loggia"] !== undefined || SESSION_PATH.test(pathname)) return false;
  if (isGeneratedSecret(searchParams.get("ticket") ?? "")) return false;
  return !cookiesOf(headers).some(([name]) => name === PLAIN_NAME || name === TLS_NAME);
}

function cookiesOf({ cookie = "" }: IncomingHttpHeaders): (readonly [name: string, value: string])[] {
  return cookie.split(";").map((pair) => {
    const [name = "", ...rest] = pair.split("=");
    return [name.trim(), rest.join("=").trim()] as const;
  });
}
