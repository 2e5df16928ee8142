import { createHmac, randomBytes } from "node:crypto";
import { BlockList } from "node:net";

import { askedBy } from "../asker.ts";
import { LoggiaError } from "../errors.ts";
import { createAddressReader, createConnectionReader } from "./address.ts";
import type { Sender } from "./address.ts";
import { createBuckets } from "./buckets.ts";
import { createBudget } from "./budget.ts";
import type { Budget, Taken } from "./budget.ts";
import { Guesses } from "./guesses.ts";
import type { Pair, Place } from "./guesses.ts";

/** How much one client may ask of a process. */
export type Rates = {
  /** Requests a second from one address. */
  readonly address: number;
  /** Requests a second by one person, whatever keys and logs they make. */
  readonly caller: number;
  /** Wrong passwords and keys a minute from one address. */
  readonly failures: number;
  /** Queries at a time, by one person and by all. */
  readonly queries: number;
  readonly queriesTotal: number;
  /** Megabytes that all answers of the API may take at a time. One person gets half. */
  readonly answers_mb: number;
};

/**
 * Beyond what one process can answer where requests count, so that whoever means well never meets
 * them; strict where secrets are guessed.
 */
export const DEFAULT_RATES: Rates = Object.freeze({
  address: 100_000,
  caller: 100_000,
  failures: 20,
  queries: 8,
  queriesTotal: 32,
  answers_mb: 256,
});

export type RateLimiterOptions = {
  readonly rates?: Rates;
  /** Whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: BlockList;
  /** Told of each request that is refused, and why. */
  readonly refused?: (reason: Refusal) => void;
  /** Called with each wrong password and key, and the address that sent it. */
  readonly wrong?: (what: "password" | "key", address: string) => void;
  /** Milliseconds that only rise. */
  readonly now?: () => number;
};

export const REFUSALS = ["address", "caller", "failures", "queries", "answers"] as const;
export type Refusal = (typeof REFUSALS)[number];

/**
 * What every request passes, so that no client can take the service from the others: by address, by
 * caller, and by what it asks. All of it is counted in this process alone, in bounded memory.
 */
export type RateLimiter = {
  /** Lets a request in, and tells its address. @throws LoggiaError `too_many_requests` */
  enter(request: Sender): string;
  /** Where guesses are counted. @param address as {@link RateLimiter.enter} gave it */
  placeOf(sender: Sender, address: string): Place;
  /**
   * Fingerprints of an e-mail and a password, under a key of this process.
   * @param account the same for all spellings of an e-mail
   */
  pairOf(account: string, password: string): Pair;
  /**
   * Called before a pair is checked. Beyond the limit a right pair is refused as a wrong one is.
   * @throws LoggiaError `too_many_requests`
   */
  beforePair(place: Place, pair: Pair): void;
  /** Whether the account was right at this place lately. */
  isKnown(place: Place, pair: Pair): boolean;
  /** Counts a guess, unless the pair was right until its password changed. */
  wrongPair(place: Place, pair: Pair): void;
  /** Counts a pair that was refused because too many waited, right or wrong. */
  refusedPair(place: Place, pair: Pair): void;
  /** How many guesses count against this address now. */
  guessesAt(place: Place): number;
  /** How many guesses of strangers count against this account now. */
  failuresOf(pair: Pair): number;
  /** @throws LoggiaError `too_many_requests` where this caller asks too often */
  rightPair(place: Place, pair: Pair, caller: string): void;
  /** Counts a request with a session. @throws LoggiaError `too_many_requests` where this caller asks too often */
  countCaller(caller: string): void;
  /** Notes a pair that is right now, so that it is no guess while it is being changed again. */
  notePassword(pair: Pair): void;
  /**
   * Called before an API key is looked for.
   * @param idOf finds the key in memory, where its id matters
   * @throws LoggiaError `too_many_requests` after too many guesses; never for a key of the drawn
   *   form
   */
  beforeKey(place: Place, secret: string, idOf: () => string | undefined): void;
  wrongKey(place: Place, secret: string): void;
  /** @throws LoggiaError `too_many_requests` where this caller asks too often */
  rightKey(place: Place, secret: string, id: string, caller: string): void;
  /**
   * All of the above at once for a key that is known to be right. False where any of it refuses:
   * then nothing was counted, and the steps by themselves say why.
   * @param id the key's
   */
  admit(sender: Sender, secret: string, id: string, caller: string): boolean;
  /**
   * Does a query as soon as there is room for it.
   * @param gone fires when the client has left: the query is given up then, or waits no longer
   * @throws LoggiaError `too_many_requests`, `overloaded`; {@link ClientGone}
   */
  query<T>(caller: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T>;
  readonly queries: Pick<Budget, "running" | "waiting">;
  /** Takes memory for an answer, in bytes. @throws LoggiaError `too_many_requests`, `overloaded` */
  takeAnswer(caller: string, size_bytes: number, gone?: AbortSignal): Promise<Taken>;
  readonly answers: Pick<Budget, "running" | "waiting">;
};

/** 100,000 addresses take some 15 MB. */
const REMEMBERED = 100_000;
const WAITING = Object.freeze({ waitingPerCaller: 256, waitingTotal: 1_024, wait_ms: 5_000 });
const MB = 1024 * 1024;

export function createRateLimiter(options: RateLimiterOptions = {}): RateLimiter {
  const { rates = DEFAULT_RATES, trustedProxies = new BlockList(), refused = () => {}, wrong = () => {} } = options;
  const { now = () => performance.now() } = options;
  const addressOf = createAddressReader(trustedProxies);
  const connectionOf = createConnectionReader(trustedProxies);
  const bucketsOf = (rate_s: number, burst: number) => createBuckets({ rate_s, burst, most: REMEMBERED, now });
  const addresses = bucketsOf(rates.address, 2 * rates.address);
  const callers = bucketsOf(rates.caller, 2 * rates.caller);
  const guesses = new Guesses({ failures: rates.failures, most: REMEMBERED, now });
  const key = randomBytes(32);
  const fingerprint = (secret: string): string => createHmac("sha256", key).update(secret).digest("base64");
  const budget = createBudget({
    perCaller: rates.queries,
    total: rates.queriesTotal,
    refused: () => refused("queries"),
    ownFault: `You have ${rates.queries} queries running and more waiting; let some end before you ask more`,
    commonFault: "Too many queries are running; try again shortly",
    ...WAITING,
  });
  const answers = createBudget({
    perCaller: (rates.answers_mb * MB) / 2,
    total: rates.answers_mb * MB,
    refused: () => refused("answers"),
    ownFault: "Your answers under way take too much memory; read them, or ask for fewer or smaller ones at a time",
    commonFault: "The answers under way take too much memory; try again shortly",
    ...WAITING,
  });

  function requireTokens(wait_s: number, reason: Refusal, message: string): void {
    if (wait_s === 0) return;
    refused(reason);
    throw new LoggiaError("too_many_requests", message, { retryAfter_s: Math.ceil(wait_s) });
  }

  const tooOften = "Too many requests came from your address; send fewer a second";
  const tooManyByCaller = "Too many requests came with these credentials; send fewer a second";
  const tooManyGuesses =
    "Too many wrong passwords or keys came from your address, or for this account; wait before you try again";

  function countCaller(caller: string): void {
    requireTokens(callers.take(caller), "caller", tooManyByCaller);
  }

  return {
    enter(request) {
      const address = addressOf(request);
      requireTokens(addresses.take(address), "address", tooOften);
      return address;
    },
    placeOf: (sender, address) => ({ address, connection: connectionOf(sender) }),
    pairOf: (account, password) => ({
      account: fingerprint(account),
      pair: fingerprint(JSON.stringify([account, password])),
    }),
    beforePair(place, pair) {
      requireTokens(guesses.pairWait_s(place, pair), "failures", tooManyGuesses);
    },
    isKnown: (place, { account }) => guesses.isKnown(place, account),
    wrongPair(place, pair) {
      guesses.wrongPair(place, pair);
      wrong("password", place.address);
    },
    refusedPair: (place, pair) => guesses.refusedPair(place, pair),
    guessesAt: (place) => guesses.guessesAt(place),
    failuresOf: (pair) => guesses.failuresOf(pair),
    rightPair(place, pair, caller) {
      guesses.rightPair(place, pair);
      countCaller(caller);
    },
    countCaller,
    notePassword: ({ pair }) => guesses.notePassword(pair),
    beforeKey(place, secret, idOf) {
      requireTokens(guesses.keyWait_s(place, secret, idOf), "failures", tooManyGuesses);
    },
    wrongKey(place, secret) {
      guesses.wrongKey(place, secret, fingerprint(secret));
      wrong("key", place.address);
    },
    rightKey(place, secret, id, caller) {
      guesses.rightKey(place, secret, id);
      countCaller(caller);
    },
    admit(sender, secret, id, caller) {
      const address = addressOf(sender);
      const place = { address, connection: connectionOf(sender) };
      if (guesses.keyWait_s(place, secret, () => id) > 0) return false;
      if (addresses.take(address) > 0) return false;
      if (callers.take(caller) > 0) {
        addresses.charge(address, -1);
        return false;
      }
      guesses.rightKey(place, secret, id);
      return true;
    },
    query: (caller, work, gone) => budget.run(caller, () => askedBy(caller, work, gone), gone),
    queries: budget,
    takeAnswer: (caller, size_bytes, gone) => answers.take(caller, size_bytes, gone),
    answers,
  };
}
