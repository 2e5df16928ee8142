import { createHmac, randomBytes } from "node:crypto";
import { BlockList } from "node:net";

import { LoggiaError } from "../../errors.ts";
import { createConnectionReader } from "../../ratelimit/address.ts";
import type { ConnectionOf, Sender } from "../../ratelimit/address.ts";
import { DEFAULT_RATES } from "../../ratelimit/rate-limiter.ts";
import type { WrongCredential } from "./failed-sign-ins.ts";
import { Guesses } from "./guesses.ts";
import type { Pair, Peer } from "./guesses.ts";

export type GuessLimiterOptions = {
  /** Wrong passwords and keys per minute from one address. */
  readonly failures?: number;
  /** Proxies that share a connection among clients. */
  readonly trustedProxies?: BlockList;
  /** Called for each refused request. */
  readonly refused?: () => void;
  /** Called for each wrong password or key, with the address that sent it. */
  readonly wrong?: (wrong: WrongCredential, address: string) => void;
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number;
};

/** Entries remembered in each table. 100,000 addresses take some 15 MB. */
const ENTRIES_MAX = 100_000;

/**
 * Limits guesses of passwords, API keys and signatures of webhooks. The counts are those of this
 * process alone, in bounded memory. Secrets are remembered as fingerprints under a key of it.
 */
export class GuessLimiter {
  readonly #guesses: Guesses;
  /** Those of signatures have their own limit: that of keys would show which hooks exist. */
  readonly #signatures: Guesses;
  readonly #connectionOf: ConnectionOf;
  readonly #refused: () => void;
  readonly #wrong: NonNullable<GuessLimiterOptions["wrong"]>;
  readonly #key = randomBytes(32);

  constructor({
    failures = DEFAULT_RATES.failures,
    trustedProxies = new BlockList(),
    refused = () => {},
    wrong = () => {},
    now = () => performance.now(),
  }: GuessLimiterOptions = {}) {
    this.#guesses = new Guesses({ failures, maxEntries: ENTRIES_MAX, now });
    this.#signatures = new Guesses({ failures, maxEntries: ENTRIES_MAX, now });
    this.#connectionOf = createConnectionReader(trustedProxies);
    this.#refused = refused;
    this.#wrong = wrong;
  }

  /**
   * Returns the peer that guesses of the sender are counted for.
   * @param address as {@link RateLimiter.enter} returned it
   */
  peerAt(sender: Sender, address: string): Peer {
    return { address, connection: this.#connectionOf(sender) };
  }

  /**
   * Returns fingerprints of an e-mail and a password.
   * @param account the same for all spellings of an e-mail
   */
  pairFor(account: string, password: string): Pair {
    const pair = this.#fingerprint(JSON.stringify([account, password]));
    return { account: this.#fingerprint(account), pair };
  }

  /**
   * Called before a pair is checked. Beyond the limit, right and wrong pairs are refused alike.
   * @throws LoggiaError `too_many_requests`
   */
  beforePair(peer: Peer, pair: Pair): void {
    this.#requireNoWait(this.#guesses.pairWait_s(peer, pair));
  }

  /** Whether the right password of the account came from this address recently. */
  isKnown(peer: Peer, { account }: Pair): boolean {
    return this.#guesses.isKnown(peer, account);
  }

  /** Counts a guess, unless the pair was right until a recent change of the password. */
  wrongPair(peer: Peer, pair: Pair): void {
    this.#guesses.wrongPair(peer, pair);
    this.#wrong("password", peer.address);
  }

  /** Counts a pair, right or wrong, that was refused because the queue was full. */
  refusedPair(peer: Peer, pair: Pair): void {
    this.#guesses.refusedPair(peer, pair);
  }

  /** Returns how many guesses count against this address now. */
  addressGuesses(peer: Peer): number {
    return this.#guesses.addressGuesses(peer);
  }

  /** Returns how many guesses from unknown addresses count against this account now. */
  accountGuesses(pair: Pair): number {
    return this.#guesses.accountGuesses(pair);
  }

  rightPair(peer: Peer, pair: Pair): void {
    this.#guesses.rightPair(peer, pair);
  }

  /** Remembers a right pair, so that it does not count as a guess after the next change. */
  notePassword({ pair }: Pair): void {
    this.#guesses.notePassword(pair);
  }

  /**
   * Called before an API key is looked up.
   * @param findId finds the key in memory, if its id matters
   * @throws LoggiaError `too_many_requests` after too many guesses; never for a generated key
   */
  beforeKey(peer: Peer, secret: string, findId: () => string | undefined): void {
    this.#requireNoWait(this.#guesses.keyWait_s(peer, secret, findId));
  }

  /** Whether a key that is known to be right may be used now. Counts nothing. */
  mayUseKey(peer: Peer, secret: string, id: string): boolean {
    return this.#guesses.keyWait_s(peer, secret, () => id) === 0;
  }

  wrongKey(peer: Peer, secret: string): void {
    this.#guesses.wrongKey(peer, secret, this.#fingerprint(secret));
    this.#wrong("key", peer.address);
  }

  rightKey(peer: Peer, secret: string, id: string): void {
    this.#guesses.rightKey(peer, secret, id);
  }

  /**
   * Whether the signature of a webhook may be compared with a secret that a person chose.
   * @param id of the hook
   */
  mayUseSignature(peer: Peer, signature: string, id: string): boolean {
    const mayUse = this.#signatures.keyWait_s(peer, signature, () => id) === 0;
    if (!mayUse) this.#refused();
    return mayUse;
  }

  wrongSignature(peer: Peer, signature: string): void {
    this.#signatures.wrongKey(peer, signature, this.#fingerprint(signature));
    this.#wrong("key", peer.address);
  }

  rightSignature(peer: Peer, signature: string, id: string): void {
    this.#signatures.rightKey(peer, signature, id);
  }

  #requireNoWait(wait_s: number): void {
    if (wait_s === 0) return;
    this.#refused();
    const message = "Too many wrong passwords or keys from your address or for this account; wait before you try again";
    throw new LoggiaError("too_many_requests", message, { retryAfter_s: Math.ceil(wait_s) });
  }

  #fingerprint(secret: string): string {
    return createHmac("sha256", this.#key).update(secret).digest("base64");
  }
}
