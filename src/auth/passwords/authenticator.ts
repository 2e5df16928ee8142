import { createHmac, randomBytes } from "node:crypto";

import { foldEmail, isEmail, PASSWORD_LENGTH } from "../credential-checks.ts";
import type { Account } from "../principals.ts";
import type { Requester } from "./fair-queue.ts";
import { unmatchableHash } from "./password-hasher.ts";
import type { PasswordHasher } from "./password-hasher.ts";

const CACHE_MS = 60_000;
const MAX_CACHED = 10_000;

/** Longest password in UTF-16 units. Longer ones are not hashed. */
const MAX_PASSWORD_UNITS = 2 * PASSWORD_LENGTH.most;

/** An attempt to sign in with e-mail and password, as described by the caller. */
export type Attempt = Omit<Requester, "account" | "exists"> & {
  /** Called if the password changed while it was checked, and the old one matched. */
  readonly outdated?: () => void;
};

/**
 * Returns the account if e-mail and password match, else null. Unknown e-mails cost the same time.
 * Slow hashing is bounded, and verified pairs are cached.
 * @throws LoggiaError `overloaded` if too many checks are queued; errors of
 * {@link Requester.recheck}
 */
export type Authenticate = (email: string, password: string, attempt?: Attempt) => Promise<Account | null>;

/** The accounts that passwords are checked for, by e-mail address in any case. */
type StoredAccounts = {
  account(email: string): Account | null;
  /** The hash as {@link PasswordHasher} returned it; null if there is no such account. */
  storedPassword(email: string): string | null;
};

/** The default attempt: by the service itself. */
const SERVICE = Object.freeze({ address: "", isKnown: true });

/**
 * Checks e-mail and password. Results are cached for a minute as an HMAC under a key of this
 * process. The HMAC covers the stored hash, so a new password, set by any process, invalidates them
 * at once. Wrong pairs are cached too: a client that retries an old password takes no hashing time
 * from others.
 *
 * An unknown e-mail takes the path of a wrong password, against a hash that nothing matches.
 */
export function createAuthenticator(accounts: StoredAccounts, hasher: PasswordHasher): Authenticate {
  const key = randomBytes(32);
  const nobody = unmatchableHash();
  const verified = createExpiringSet(CACHE_MS, MAX_CACHED);
  const rejected = createExpiringSet(CACHE_MS, MAX_CACHED);
  const running = new Map<string, Promise<boolean>>();

  const verify = async (pair: string, password: string, stored: string, requester: Requester): Promise<boolean> => {
    if (verified.has(pair)) return true;
    if (rejected.has(pair)) return false;
    // Concurrent checks of a pair share one hash, such as those of a page that opens with twenty
    // requests. Each address has its own check, as its guesses may be used up.
    const name = `${pair} ${requester.address}`;
    let check = running.get(name);
    if (check === undefined) {
      check = hasher.verify(password, stored, requester).finally(() => running.delete(name));
      running.set(name, check);
    }
    const right = await check;
    (right ? verified : rejected).add(pair);
    return right;
  };

  return async (email, password, { outdated, ...attempt } = SERVICE) => {
    if (password.length > MAX_PASSWORD_UNITS || !isEmail(email)) return null;
    const current = accounts.storedPassword(email);
    const stored = current ?? nobody;
    const account = foldEmail(email);
    const pair = createHmac("sha256", key)
      .update(JSON.stringify([account, stored, password]))
      .digest("base64");
    if (!(await verify(pair, password, stored, { ...attempt, account, exists: current !== null }))) return null;
    // The account may have been removed, or its password changed, during the hash.
    if (accounts.storedPassword(email) === stored) return accounts.account(email);
    outdated?.();
    return null;
  };
}

/** Creates a set whose members expire after `life_ms`; beyond `most`, the oldest go first. */
function createExpiringSet(life_ms: number, most: number): { has(member: string): boolean; add(member: string): void } {
  const expiries = new Map<string, number>();
  return {
    has(member) {
      const expiry = expiries.get(member);
      if (expiry === undefined) return false;
      if (expiry > performance.now()) return true;
      expiries.delete(member);
      return false;
    },
    add(member) {
      // Callers that shared one check all add its pair: the first sets the expiry.
      if (expiries.has(member)) return;
      const now_ms = performance.now();
      for (const [oldest, expiry] of expiries) {
        if (expiry > now_ms && expiries.size < most) break;
        expiries.delete(oldest);
      }
      expiries.set(member, now_ms + life_ms);
    },
  };
}
