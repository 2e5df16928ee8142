import type { KeyGrant } from "../../auth/principals.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { requireKeyOf, requirePostingScope } from "../../auth/permissions.ts";
import { LoggiaError } from "../../errors.ts";
import { parseLogKey } from "../../events/event.ts";
import type { RateLimiter } from "../../ratelimit/rate-limiter.ts";
import { grantOf } from "../../auth/requests/key-grant.ts";
import type { Peer } from "../../auth/requests/guesses.ts";
import { quotaOwnerOf } from "../../ratelimit/quota-owner.ts";

type AuthorizeOptions = { readonly catalog: Catalog; readonly limiter: RateLimiter };

/**
 * Returns the grant of a request's API key if it may post.
 * @param logOfPath the log named in the request; null: the key alone determines it
 * @throws LoggiaError `unauthorized`, `forbidden`, `too_many_requests`
 */
export async function authorizeByKey(
  secret: string,
  logOfPath: string | null,
  peer: Peer,
  { catalog, limiter }: AuthorizeOptions,
): Promise<KeyGrant> {
  if (secret === "") {
    throw new LoggiaError("unauthorized", "The request has no API key; docs/producers describes where to send it");
  }
  const found = await grantOf(secret, peer, { catalog, limiter });
  const grant = requireKeyOf(found, logOfPath === null ? (found?.log ?? null) : parseLogKey(logOfPath));
  limiter.rightKey(peer, secret, grant.id, quotaOwnerOf(catalog, grant.log));
  requirePostingScope(grant);
  return grant;
}
