import { isGeneratedApiKey } from "../secrets.ts";
import { guessNetwork } from "../../ratelimit/address.ts";
import { createBuckets, createRecent } from "../../ratelimit/buckets.ts";

/** The sender of a credential. */
export type Peer = {
  readonly address: string;
  /** The client's own connection; null if a proxy shares it among clients. */
  readonly connection: object | null;
};

/** A pair of e-mail and password. Both fields are fingerprints. */
export type Pair = { readonly account: string; readonly pair: string };

export type GuessOptions = {
  /** Wrong credentials allowed a minute from one address. */
  readonly failures: number;
  /** Maximum number of entries in each table. */
  readonly maxEntries: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
};

/** Cost of repeating a wrong credential: the client has an outdated one and is not guessing. */
const REPEATED_COST = 0.2;
/** An account's shares for unknown addresses, as multiples of an address's share. */
const FIRST_SHARE = 3;
const FURTHER_SHARE = 2;
/** How long an address counts as one that has guessed at an account. */
const TRIED_MS = 3_600_000;
/** How long an address is known for an account after a right password from there. */
const KNOWN_ADDRESS_MS = 30 * 86_400_000;
const ADDRESSES_PER_ACCOUNT = 16;
/** How long a former password does not count as a guess. */
const FORMER_MS = 600_000;
/** How far a stored time may lag behind, so that not every request writes one. */
const LAG_MS = 60_000;
const CREDENTIALS_PER_CONNECTION = 8;

/**
 * Counts wrong credentials and returns when the next one may be tried. The answer depends on the
 * peer and the account, never on whether the credential is right, except on a connection where it
 * was right before. See `docs/decisions/0030-password-guesses-are-counted-by-address-and-account.md`.
 */
export class Guesses {
  readonly #now: () => number;
  readonly #networks;
  /** By account and address, for addresses known for the account. */
  readonly #own;
  readonly #first;
  readonly #further;
  readonly #wrong;
  readonly #tried;
  readonly #addresses;
  readonly #right;
  readonly #connections = new WeakMap<object, Set<string>>();

  constructor({ failures, maxEntries, now }: GuessOptions) {
    const createShare = (share: number) =>
      createBuckets({ rate_s: (share * failures) / 60, burst: share * failures, maxEntries, now });
    this.#now = now;
    this.#networks = createShare(1);
    this.#own = createShare(1);
    this.#first = createShare(FIRST_SHARE);
    this.#further = createShare(FURTHER_SHARE);
    this.#wrong = createRecent<true>(maxEntries);
    this.#tried = createRecent<number>(maxEntries);
    this.#addresses = createRecent<Map<string, number>>(maxEntries);
    this.#right = createRecent<number>(maxEntries);
  }

  /** Returns the seconds until a pair may be tried, 0 if now. */
  pairWait_s(peer: Peer, { account, pair }: Pair): number {
    if (this.#wasRightOn(peer.connection, pair)) return 0;
    if (this.isKnown(peer, account)) return this.#own.wait(`${account} ${peer.address}`);
    const network = guessNetwork(peer.address);
    return Math.max(this.#networks.wait(network), this.#shareOfUnknown(network, account).wait(account));
  }

  wrongPair(peer: Peer, { account, pair }: Pair): void {
    // A request sent just before the password changed carries the former one.
    if (this.#isWithin(this.#right.get(pair), FORMER_MS)) return;
    const network = guessNetwork(peer.address);
    const cost = this.#chargeNetwork(network, pair);
    if (this.isKnown(peer, account)) {
      this.#own.charge(`${account} ${peer.address}`, cost);
      return;
    }
    this.#shareOfUnknown(network, account).charge(account, cost);
    this.#tried.set(`${account} ${network}`, this.#now());
  }

  /**
   * Counts a pair from an unknown address that was refused because the queue was full. Otherwise
   * such clients could fill the queue again and again at no cost.
   */
  refusedPair(peer: Peer, pair: Pair): void {
    if (!this.isKnown(peer, pair.account)) this.wrongPair(peer, pair);
  }

  /** Returns how many guesses count against an address now. */
  addressGuesses({ address }: Peer): number {
    return this.#networks.spent(guessNetwork(address));
  }

  /** Returns how many guesses from unknown addresses count against an account now. */
  accountGuesses({ account }: Pair): number {
    return this.#first.spent(account) + this.#further.spent(account);
  }

  rightPair(peer: Peer, { account, pair }: Pair): void {
    this.notePassword(pair);
    this.#rememberOn(peer.connection, pair);
    const addresses = this.#addresses.get(account) ?? new Map<string, number>();
    if (this.#isWithin(addresses.get(peer.address), LAG_MS)) return;
    // Reinsertion moves the address to the end, so the first one is the least recently used.
    addresses.delete(peer.address);
    addresses.set(peer.address, this.#now());
    if (addresses.size > ADDRESSES_PER_ACCOUNT) addresses.delete(addresses.keys().next().value!);
    this.#addresses.set(account, addresses);
  }

  /** Remembers a right pair, so that it does not count as a guess after the password changes. */
  notePassword(pair: string): void {
    if (!this.#isWithin(this.#right.get(pair), LAG_MS)) this.#right.set(pair, this.#now());
  }

  /** Whether the right password of the account came from this address recently. */
  isKnown({ address }: Peer, account: string): boolean {
    return this.#isWithin(this.#addresses.get(account)?.get(address), KNOWN_ADDRESS_MS);
  }

  /**
   * Returns the seconds until an API key may be tried, 0 if now. A generated key cannot be guessed
   * and never waits. A key chosen by a person is guarded as a password is.
   * @param findId finds the key's id; called only if a credential was right on the connection
   *   before
   */
  keyWait_s({ address, connection }: Peer, secret: string, findId: () => string | undefined): number {
    const wait_s = this.#networks.wait(guessNetwork(address));
    if (wait_s === 0 || isGeneratedApiKey(secret)) return 0;
    if (connection === null || !this.#connections.has(connection)) return wait_s;
    return this.#wasRightOn(connection, `key ${findId() ?? ""}`) ? 0 : wait_s;
  }

  wrongKey({ address }: Peer, secret: string, fingerprint: string): void {
    if (!isGeneratedApiKey(secret)) this.#chargeNetwork(guessNetwork(address), fingerprint);
  }

  rightKey({ connection }: Peer, secret: string, id: string): void {
    if (!isGeneratedApiKey(secret)) this.#rememberOn(connection, `key ${id}`);
  }

  /** Returns the share for guesses from an unknown address: that of first or of further ones. */
  #shareOfUnknown(network: string, account: string) {
    return this.#isWithin(this.#tried.get(`${account} ${network}`), TRIED_MS) ? this.#further : this.#first;
  }

  #chargeNetwork(network: string, fingerprint: string): number {
    const name = `${network} ${fingerprint}`;
    const cost = this.#wrong.get(name) === true ? REPEATED_COST : 1;
    this.#wrong.set(name, true);
    this.#networks.charge(network, cost);
    return cost;
  }

  #isWithin(at_ms: number | undefined, within_ms: number): boolean {
    return at_ms !== undefined && this.#now() - at_ms < within_ms;
  }

  #wasRightOn(connection: object | null, credential: string): boolean {
    return connection !== null && this.#connections.get(connection)?.has(credential) === true;
  }

  #rememberOn(connection: object | null, credential: string): void {
    if (connection === null) return;
    let credentials = this.#connections.get(connection);
    if (credentials === undefined) this.#connections.set(connection, (credentials = new Set()));
    if (credentials.has(credential)) return;
    if (credentials.size >= CREDENTIALS_PER_CONNECTION) credentials.delete(credentials.values().next().value!);
    credentials.add(credential);
  }
}
