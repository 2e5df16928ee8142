import type { IncomingHttpHeaders } from "node:http";

import type { KeyGrant } from "../principals.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { mayPost, requireKeyOf, requirePostingScope } from "../permissions.ts";
import { LoggiaError } from "../../errors.ts";
import { type LogKey, parseLogKey } from "../../events/event.ts";
import type { RateLimiter } from "../../ratelimit/rate-limiter.ts";
import { grantOf } from "./key-grant.ts";
import type { GrantOptions } from "./key-grant.ts";
import { quotaOwnerOf } from "../../ratelimit/quota-owner.ts";
import type { Peer } from "./guesses.ts";

const BEARER = /^bearer +(\S+) *$/i;

/**
 * Returns the API key outside of the form: from the query string, a bearer token, or the header
 * `apikey` or `X-API-Key`; "" if there is none.
 */
export function keyBesideForm(query: URLSearchParams, headers: IncomingHttpHeaders): string {
  const inQuery = query.get("apikey");
  if (inQuery !== null) return inQuery;
  const bearer = headers.authorization === undefined ? undefined : BEARER.exec(headers.authorization)?.[1];
  if (bearer !== undefined) return bearer;
  const header = headers["apikey"] || headers["x-api-key"];
  return typeof header === "string" ? header : "";
}

export type AuthorizeOptions = GrantOptions & {
  readonly catalog: Pick<Catalog, "ownerOf">;
  readonly limiter: Pick<RateLimiter, "rightKey">;
};

/**
 * Returns the grant of the API key if it may post to the log of the path.
 * @throws LoggiaError `unauthorized`, `forbidden`; `too_many_requests` after too many wrong keys,
 * or posts
 */
export async function authorize(
  path: string,
  secret: string,
  peer: Peer,
  options: AuthorizeOptions,
): Promise<KeyGrant> {
  if (secret === "") throw keyMissing();
  const found = await grantOf(secret, peer, options);
  const grant = requireKeyOf(found, parseLogKey(path));
  options.limiter.rightKey(peer, secret, grant.id, quotaOwnerOf(options.catalog, grant.log));
  requirePostingScope(grant);
  return grant;
}

function keyMissing(): LoggiaError {
  const where = "as the field, parameter or header apikey, as Authorization: Bearer, or as X-API-Key";
  return new LoggiaError("unauthorized", `The post has no API key; send a key of this log ${where}`);
}

/**
 * Authorizes a post from memory, without look-ups and errors. Returns null if {@link authorize} has
 * to decide; nothing is counted then.
 * @param sender as for {@link RateLimiter.admit}
 */
export function authorizeFromMemory(
  path: string,
  secret: string,
  sender: Parameters<RateLimiter["admit"]>[0],
  { catalog, limiter }: Pick<AuthorizeOptions, "catalog"> & { readonly limiter: Pick<RateLimiter, "admit"> },
): LogKey | null {
  const grant = secret === "" ? null : catalog.cachedApiKey(secret);
  if (!mayPost(grant, path)) return null;
  return limiter.admit(sender, secret, grant.id, quotaOwnerOf(catalog, grant.log)) ? grant.log : null;
}
