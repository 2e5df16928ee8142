import { isDrawnApiKey } from "../catalog/secrets.ts";
import { guessNetworkOf } from "./address.ts";
import { createBuckets, createRecent } from "./buckets.ts";

/** Where a credential comes from. */
export type Place = {
  readonly address: string;
  /** The client's own connection; null where a proxy shares it among clients. */
  readonly connection: object | null;
};

/** A pair of e-mail and password. Both fields are fingerprints. */
export type Pair = { readonly account: string; readonly pair: string };

export type GuessOptions = {
  /** Wrong credentials a minute from one address. */
  readonly failures: number;
  /** Names that are remembered of each kind. */
  readonly most: number;
  /** Milliseconds that only rise. */
  readonly now: () => number;
};

/** A client that repeats a wrong credential has an old one, and guesses nothing. */
const REPEATED_COST = 0.2;
/** An account's shares for strangers, as multiples of an address's: first and further guesses. */
const FIRST_SHARE = 3;
const FURTHER_SHARE = 2;
/** How long an address counts as one that has guessed at an account. */
const TRIED_MS = 3_600_000;
/** How long an address counts as a place of an account that was right there. */
const PLACE_MS = 30 * 86_400_000;
const PLACES_PER_ACCOUNT = 16;
/** How long a former password is no guess. */
const FORMER_MS = 600_000;
/** How far a remembered moment may lag behind, so that not every request writes one. */
const LAG_MS = 60_000;
const CREDENTIALS_PER_CONNECTION = 8;

/**
 * Counts wrong credentials, and says when the next one may be tried. The answer depends on the
 * place and the account, never on whether the credential is right, except on a connection where it
 * was right before. `docs/decisions/0030-guesses.md` has the reasons.
 */
export class Guesses {
  readonly #now: () => number;
  readonly #networks;
  /** By account and address, where the account was right lately. */
  readonly #own;
  readonly #first;
  readonly #further;
  readonly #wrong;
  readonly #tried;
  readonly #places;
  readonly #right;
  readonly #connections = new WeakMap<object, Set<string>>();

  constructor({ failures, most, now }: GuessOptions) {
    const bucketsOf = (share: number) =>
      createBuckets({ rate_s: (share * failures) / 60, burst: share * failures, most, now });
    this.#now = now;
    this.#networks = bucketsOf(1);
    this.#own = bucketsOf(1);
    this.#first = bucketsOf(FIRST_SHARE);
    this.#further = bucketsOf(FURTHER_SHARE);
    this.#wrong = createRecent<true>(most);
    this.#tried = createRecent<number>(most);
    this.#places = createRecent<Map<string, number>>(most);
    this.#right = createRecent<number>(most);
  }

  /** In how many seconds a pair may be tried: 0, now. */
  pairWait_s(place: Place, { account, pair }: Pair): number {
    if (this.#wasRightOn(place.connection, pair)) return 0;
    if (this.isKnown(place, account)) return this.#own.wait(`${account} ${place.address}`);
    const network = guessNetworkOf(place.address);
    return Math.max(this.#networks.wait(network), this.#strangers(network, account).wait(account));
  }

  wrongPair(place: Place, { account, pair }: Pair): void {
    // A request that crosses a change of its password comes with a former one.
    if (this.#isLately(this.#right.get(pair), FORMER_MS)) return;
    const network = guessNetworkOf(place.address);
    const cost = this.#chargeNetwork(network, pair);
    if (this.isKnown(place, account)) {
      this.#own.charge(`${account} ${place.address}`, cost);
      return;
    }
    this.#strangers(network, account).charge(account, cost);
    this.#tried.set(`${account} ${network}`, this.#now());
  }

  /**
   * Counts a pair of a stranger that was refused because too many others waited: it may have been
   * checked all the same. Else strangers could also fill the line over and over.
   */
  refusedPair(place: Place, pair: Pair): void {
    if (!this.isKnown(place, pair.account)) this.wrongPair(place, pair);
  }

  /** How many guesses count against an address now. */
  guessesAt({ address }: Place): number {
    return this.#networks.spent(guessNetworkOf(address));
  }

  /** How many guesses of strangers count against an account now. */
  failuresOf({ account }: Pair): number {
    return this.#first.spent(account) + this.#further.spent(account);
  }

  rightPair(place: Place, { account, pair }: Pair): void {
    this.notePassword(pair);
    this.#rememberOn(place.connection, pair);
    const places = this.#places.get(account) ?? new Map<string, number>();
    if (this.#isLately(places.get(place.address), LAG_MS)) return;
    // Put at the end: the first is the one that was not used for longest.
    places.delete(place.address);
    places.set(place.address, this.#now());
    if (places.size > PLACES_PER_ACCOUNT) places.delete(places.keys().next().value!);
    this.#places.set(account, places);
  }

  /** Notes a pair that is right now, so that it is no guess when it is a former one. */
  notePassword(pair: string): void {
    if (!this.#isLately(this.#right.get(pair), LAG_MS)) this.#right.set(pair, this.#now());
  }

  /** Whether the account was right at this address lately. */
  isKnown({ address }: Place, account: string): boolean {
    return this.#isLately(this.#places.get(account)?.get(address), PLACE_MS);
  }

  /**
   * In how many seconds an API key may be tried: 0, now. A drawn key cannot be guessed, so it never
   * waits for others' guesses. A key that people chose is guarded as a password is.
   * @param idOf finds the key's id; called only where something was right on the connection before
   */
  keyWait_s({ address, connection }: Place, secret: string, idOf: () => string | undefined): number {
    const wait_s = this.#networks.wait(guessNetworkOf(address));
    if (wait_s === 0 || isDrawnApiKey(secret)) return 0;
    if (connection === null || !this.#connections.has(connection)) return wait_s;
    return this.#wasRightOn(connection, `key ${idOf() ?? ""}`) ? 0 : wait_s;
  }

  wrongKey({ address }: Place, secret: string, fingerprint: string): void {
    if (!isDrawnApiKey(secret)) this.#chargeNetwork(guessNetworkOf(address), fingerprint);
  }

  rightKey({ connection }: Place, secret: string, id: string): void {
    if (!isDrawnApiKey(secret)) this.#rememberOn(connection, `key ${id}`);
  }

  /** The share that a stranger's guess is counted in. */
  #strangers(network: string, account: string) {
    return this.#isLately(this.#tried.get(`${account} ${network}`), TRIED_MS) ? this.#further : this.#first;
  }

  #chargeNetwork(network: string, fingerprint: string): number {
    const name = `${network} ${fingerprint}`;
    const cost = this.#wrong.get(name) === true ? REPEATED_COST : 1;
    this.#wrong.set(name, true);
    this.#networks.charge(network, cost);
    return cost;
  }

  #isLately(at_ms: number | undefined, within_ms: number): boolean {
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
