import { LoggiaError } from "../../errors.ts";
import { parseLogKey } from "../../events/event.ts";
import type { LogKey } from "../../events/event.ts";
import type { Sender } from "../../ratelimit/address.ts";
import { quotaOwner } from "../../ratelimit/quota-owner.ts";
import type { LogOwners } from "../../ratelimit/quota-owner.ts";
import type { RateLimiter } from "../../ratelimit/rate-limiter.ts";
import { mayPost, requireKeyForLog, requirePostingScope } from "../permissions.ts";
import type { KeyGrant } from "../principals.ts";
import type { GuessLimiter } from "./guess-limiter.ts";
import type { Peer } from "./guesses.ts";
import { findGrant } from "./key-grant.ts";
import type { GrantOptions } from "./key-grant.ts";

export type AuthorizeOptions = {
  readonly catalog: GrantOptions["catalog"] & LogOwners;
  readonly limiter: Pick<RateLimiter, "countCaller">;
  readonly guesses: GrantOptions["guesses"] & Pick<GuessLimiter, "rightKey">;
};

/**
 * Returns the grant of a request's API key if it may post.
 * @param logOfPath the log named in the request; null: the key alone determines it
 * @throws LoggiaError `unauthorized`, `forbidden`; `too_many_requests` after too many wrong keys,
 * or posts
 */
export async function authorizeByKey(
  secret: string,
  logOfPath: string | null,
  peer: Peer,
  options: AuthorizeOptions,
): Promise<KeyGrant> {
  if (secret === "") {
    throw new LoggiaError("unauthorized", "The request has no API key; docs/producers describes where to send it");
  }
  const { catalog, limiter, guesses } = options;
  const found = await findGrant(secret, peer, options);
  const grant = requireKeyForLog(found, logOfPath === null ? (found?.log ?? null) : parseLogKey(logOfPath));
  guesses.rightKey(peer, secret, grant.id);
  limiter.countCaller(quotaOwner(catalog, grant.log));
  requirePostingScope(grant);
  return grant;
}

/** Does the same for a post of the native API, whose path names the log. */
export async function authorizePost(
  path: string,
  secret: string,
  peer: Peer,
  options: AuthorizeOptions,
): Promise<KeyGrant> {
  if (secret !== "") return await authorizeByKey(secret, path, peer, options);
  const where = "as the field, parameter or header apikey, as Authorization: Bearer, or as X-API-Key";
  throw new LoggiaError("unauthorized", `The post has no API key; send a key of this log ${where}`);
}

type MemoryOptions = {
  readonly catalog: Pick<GrantOptions["catalog"], "cachedApiKey"> & LogOwners;
  readonly limiter: Pick<RateLimiter, "addressOf" | "admit">;
  readonly guesses: Pick<GuessLimiter, "peerAt" | "mayUseKey" | "rightKey">;
};

/**
 * Authorizes a post from memory, without look-ups and errors. Returns null if {@link authorizePost}
 * has to decide; nothing is counted then.
 */
export function authorizeFromMemory(
  path: string,
  secret: string,
  sender: Sender,
  { catalog, limiter, guesses }: MemoryOptions,
): LogKey | null {
  const grant = secret === "" ? null : catalog.cachedApiKey(secret);
  if (!mayPost(grant, path)) return null;
  const peer = guesses.peerAt(sender, limiter.addressOf(sender));
  if (!guesses.mayUseKey(peer, secret, grant.id)) return null;
  if (!limiter.admit(peer.address, quotaOwner(catalog, grant.log))) return null;
  guesses.rightKey(peer, secret, grant.id);
  return grant.log;
}
