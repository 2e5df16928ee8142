import type { KeyGrant } from "../principals.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { RateLimiter } from "../../ratelimit/rate-limiter.ts";
import type { Peer } from "./guesses.ts";

export type GrantOptions = {
  readonly catalog: Pick<Catalog, "apiKey" | "cachedApiKey">;
  readonly limiter: Pick<RateLimiter, "beforeKey" | "wrongKey">;
};

/**
 * Returns the grant of the API key with this secret, disabled or not, or null if there is no such
 * key. A miss counts as a guess. A recently used key is not hashed and looked up again.
 * @throws LoggiaError `too_many_requests` after too many wrong keys
 */
export async function grantOf(
  secret: string,
  peer: Peer,
  { catalog, limiter }: GrantOptions,
): Promise<KeyGrant | null> {
  limiter.beforeKey(peer, secret, () => catalog.cachedApiKey(secret)?.id);
  const grant = catalog.cachedApiKey(secret) ?? (await catalog.apiKey(secret));
  if (grant === null) limiter.wrongKey(peer, secret);
  return grant;
}
