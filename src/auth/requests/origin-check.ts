import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { BlockList } from "node:net";
import { hostname } from "node:os";

import { LoggiaError } from "../../errors.ts";
import { isTrustedProxy } from "../../ratelimit/address.ts";
import { isFromBrowser } from "../../http/from-browser.ts";
import { isFromPage } from "./session-cookie.ts";

/** Decides which browser requests may use a person's credentials. */
export type OriginCheck = {
  /**
   * Returns an error for a browser request that comes from another site or names an unknown host,
   * else null.
   */
  originRefusal(request: IncomingMessage): LoggiaError | null;
  /**
   * Returns an error for a request that may not use the session cookie, else null. Such a request
   * needs the page's own header, and may not come from an address bar.
   */
  sessionRefusal(request: IncomingMessage): LoggiaError | null;
  /** Whether a request arrived over TLS through a trusted proxy. */
  isOverTls(request: IncomingMessage): boolean;
};

export type OriginCheckOptions = {
  /** Host names of this service, in addition to loopback names and the machine's own. */
  readonly hosts?: readonly string[];
  /** Proxies whose `X-Forwarded-Host` and `X-Forwarded-Proto` are trusted. */
  readonly trustedProxies?: BlockList;
};

const AUTHORITY = /^(?:\[[\da-f:.]+\]|[^\s:/?#@\\[\]%]+)(?::\d{1,5})?$/i;

/**
 * Creates the check. A browser sends stored credentials with requests of any page. `Sec-Fetch-Site`
 * says whose page that is; without it `Origin` does, and for JSONP `Referer`. With DNS rebinding a
 * hostile page has the same origin by both, so the host name itself must be known. Clients other
 * than browsers pass.
 */
export function createOriginCheck({ hosts = [], trustedProxies }: OriginCheckOptions = {}): OriginCheck {
  const machine = hostname().toLowerCase();
  const names = new Set(["localhost", machine, machine.split(".", 1)[0]!, ...hosts.map(withoutDot)]);
  const isKnown = (authority: string): boolean => {
    const name = withoutDot(parseAuthority(authority, "http:")?.hostname ?? "");
    return isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || names.has(name) || name.endsWith(".localhost");
  };

  const originRefusal = (request: IncomingMessage): LoggiaError | null => {
    const { headers } = request;
    const { host = "" } = headers;
    if (!isFromBrowser(headers)) return null;
    const forwarded = forwardedHeader(request, "x-forwarded-host", trustedProxies);
    const unknown = [host, forwarded ?? host].find((authority) => !isKnown(authority));
    if (unknown !== undefined) {
      const name = JSON.stringify(unknown.slice(0, 100));
      const message = `The host ${name} is not a known name of this service; LOGGIA_HOSTS lists its names`;
      return new LoggiaError("forbidden", message);
    }
    if (isOwnPage(request, forwarded ?? host)) return null;
    const message = "Pages of other sites may not use a person's credentials; they may use an API key";
    return new LoggiaError("forbidden", message);
  };

  return {
    originRefusal,
    sessionRefusal(request) {
      const { headers } = request;
      if (!isFromPage(headers)) {
        const message = "A request with a session cookie needs the header X-Loggia: 1, or a ticket in its URL";
        return new LoggiaError("forbidden", message);
      }
      const site = headers["sec-fetch-site"];
      if (site === undefined || site === "same-origin") return originRefusal(request);
      return new LoggiaError("forbidden", "Only this service's own page may use a session cookie");
    },
    isOverTls(request) {
      return forwardedHeader(request, "x-forwarded-proto", trustedProxies)?.toLowerCase() === "https";
    },
  };
}

/**
 * Returns what the nearest trusted proxy says about the request. Entries further left may come from
 * the client.
 */
function forwardedHeader(
  { socket, headers }: IncomingMessage,
  name: "x-forwarded-host" | "x-forwarded-proto",
  proxies: BlockList | undefined,
): string | null {
  const forwarded = headers[name];
  if (forwarded === undefined || proxies === undefined || !isTrustedProxy(proxies, socket.remoteAddress)) return null;
  return String(forwarded).split(",").at(-1)!.trim();
}

/**
 * Over plain HTTP, requests for scripts carry no `Origin`, and a page can suppress its `Referer`
 * but not forge it. JSONP is the only format that a page of another site could read as a script.
 */
function isOwnPage({ headers, url = "" }: IncomingMessage, authority: string): boolean {
  const { "sec-fetch-site": site, origin, referer } = headers;
  if (site !== undefined) return site === "same-origin" || site === "none";
  if (origin !== undefined) return isSameOrigin(origin, authority);
  const format = new URLSearchParams(url.slice(url.indexOf("?") + 1)).get("fmt");
  if (format?.toLowerCase() !== "jsonp") return true;
  return referer !== undefined && isSameOrigin(URL.parse(referer)?.origin ?? "", authority);
}

function isSameOrigin(origin: string, authority: string): boolean {
  const [, scheme, theirs = ""] = /^(https?:)\/\/(.*)$/.exec(origin) ?? [];
  if (scheme === undefined) return false;
  // A `Host` without a port means the standard port of the page's scheme.
  const [page, own] = [parseAuthority(theirs, scheme), parseAuthority(authority, scheme)];
  return page !== null && page.host === own?.host;
}

function parseAuthority(authority: string, scheme: string): URL | null {
  return AUTHORITY.test(authority) ? URL.parse(`${scheme}//${authority}`) : null;
}

function withoutDot(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}
