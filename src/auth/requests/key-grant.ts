import type { KeyGrant } from "../principals.ts";
import type { GuessLimiter } from "./guess-limiter.ts";
import type { Peer } from "./guesses.ts";

export type GrantOptions = {
  /** The catalog's API keys, looked up by their secret. */
  readonly catalog: {
    apiKey(secret: string): Promise<KeyGrant | null>;
    /** From memory only: null may mean "not seen yet". */
    cachedApiKey(secret: string): KeyGrant | null;
  };
  readonly guesses: Pick<GuessLimiter, "beforeKey" | "wrongKey">;
};

/**
 * Returns the grant of the API key with this secret, disabled or not, or null if there is no such
 * key. A miss counts as a guess. A recently used key is not hashed and looked up again.
 * @throws LoggiaError `too_many_requests` after too many wrong keys
 */
export async function findGrant(
  secret: string,
  peer: Peer,
  { catalog, guesses }: GrantOptions,
): Promise<KeyGrant | null> {
  guesses.beforeKey(peer, secret, () => catalog.cachedApiKey(secret)?.id);
  const grant = catalog.cachedApiKey(secret) ?? (await catalog.apiKey(secret));
  if (grant === null) guesses.wrongKey(peer, secret);
  return grant;
}
