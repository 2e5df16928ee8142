import { createHmac, randomBytes } from "node:crypto";

import type { Asker, Catalog } from "./catalog.ts";
import { isEmail } from "./checks.ts";
import { idOf } from "./model.ts";
import { unmatchableHash } from "./passwords.ts";
import type { PasswordHasher } from "./passwords.ts";
import type { Snapshot } from "./snapshot.ts";

const CACHE_MS = 60_000;
const MAX_CACHED = 10_000;

/** No password is longer, so a longer one need not be hashed. In UTF-16 units: twice the 200 characters. */
const MAX_PASSWORD_UNITS = 400;

/** The default attempt: of the service itself. */
const SERVICE = Object.freeze({ address: "", isKnown: true });

/**
 * Checks pairs of e-mail and password. A pair that was right is remembered for a minute, as an HMAC
 * under a key that lives and dies with this process. The stored hash is part of what is remembered:
 * a new password, set here or by any other process, makes it worthless at once. So is one that was
 * wrong: a client that keeps an old password takes no time from those who have the right one.
 *
 * An unknown e-mail takes the path of a wrong password, against a hash that nothing matches.
 */
export function createAuthenticator(snapshot: Snapshot, hasher: PasswordHasher): Catalog["authenticate"] {
  const key = randomBytes(32);
  const nobody = unmatchableHash();
  const verified = createExpiringSet(CACHE_MS, MAX_CACHED);
  const refuted = createExpiringSet(CACHE_MS, MAX_CACHED);
  const running = new Map<string, Promise<boolean>>();

  const verify = async (pair: string, password: string, stored: string, asker: Asker): Promise<boolean> => {
    if (verified.has(pair)) return true;
    if (refuted.has(pair)) return false;
    // A page that opens with twenty requests checks its password once.
    // Another address has a turn of its own, whose guesses may be used up.
    const name = `${pair} ${asker.address}`;
    let check = running.get(name);
    if (check === undefined) {
      check = hasher.verify(password, stored, asker).finally(() => running.delete(name));
      running.set(name, check);
    }
    const right = await check;
    (right ? verified : refuted).add(pair);
    return right;
  };

  return async (email, password, { outdated, ...attempt } = SERVICE) => {
    if (password.length > MAX_PASSWORD_UNITS || !isEmail(email)) return null;
    const entity = snapshot.accountEntity(email);
    const stored = entity?.password ?? nobody;
    const account = idOf.account(email);
    const pair = createHmac("sha256", key)
      .update(JSON.stringify([account, stored, password]))
      .digest("base64");
    if (!(await verify(pair, password, stored, { ...attempt, account, exists: entity !== null }))) return null;
    // The account may have gone, or got another password, while this one was hashed.
    if (snapshot.accountEntity(email)?.password === stored) return snapshot.account(email);
    outdated?.();
    return null;
  };
}

/** Members leave `life_ms` after they came, or earlier where more than `most` are there: the oldest first. */
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
      // Several who waited for one check all add its pair: the first decides how long it lives.
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
