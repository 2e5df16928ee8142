import { createHmac, randomBytes } from "node:crypto";
import { BlockList } from "node:net";

import { LoggiaError } from "../errors.ts";
import { createAddressReader } from "./address.ts";
import type { Sender } from "./address.ts";
import { createBuckets, createRecent } from "./buckets.ts";
import { createBudget } from "./budget.ts";
import type { Budget } from "./budget.ts";

/** How much one client may ask of a process. */
export type Rates = {
  /** Requests a second from one address. */
  readonly address: number;
  /** Requests a second by one API key or account. */
  readonly caller: number;
  /** Wrong passwords and keys a minute from one address. */
  readonly failures: number;
  /** Queries at a time, by one caller and by all. */
  readonly queries: number;
  readonly queriesTotal: number;
};

/** Beyond what one process can answer where requests count, so that whoever means well never meets them; strict where secrets are guessed. */
export const DEFAULT_RATES: Rates = Object.freeze({
  address: 100_000,
  caller: 100_000,
  failures: 20,
  queries: 8,
  queriesTotal: 32,
});

export type GateOptions = {
  readonly rates?: Rates;
  /** Whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: BlockList;
  /** Told of each request that is refused, and why. */
  readonly refused?: (reason: Refusal) => void;
  /** Milliseconds that only rise. */
  readonly now?: () => number;
};

export const REFUSALS = ["address", "caller", "failures", "queries"] as const;
export type Refusal = (typeof REFUSALS)[number];

/**
 * What every request passes, so that no client can take the service from the others: by address, by caller, and by what it asks.
 * All of it is counted in this process alone, in bounded memory.
 */
export type Gate = {
  /** Lets a request in, and tells its address. @throws LoggiaError `too_many_requests` */
  enter(request: Sender): string;
  /** What stands for a secret in this process. Nothing can be learnt from it. */
  fingerprint(secret: string): string;
  /**
   * Asked before a secret is checked, so that an address that has guessed too often learns no more. What was right from there before passes:
   * one producer with an old key does not lock out the others beside it. Guesses that were under way at once are paid for afterwards.
   *
   * @param credential what stands for it: a {@link Gate.fingerprint}, or the id of a key; null: a secret that no key has
   * @throws LoggiaError `too_many_requests`
   */
  beforeCheck(address: string, credential: string | null): void;
  /** The secret was wrong. The same one again counts as a fifth: that is a client with an old password, and no guess. */
  failed(address: string, fingerprint: string): void;
  /** It was right. @throws LoggiaError `too_many_requests` where this caller asks too often */
  passed(address: string, credential: string, caller: string): void;
  /**
   * All of the above at once for a key that is known to be right. False where any of it refuses: then nothing was counted, and the steps by themselves tell why.
   * @param credential the id of the key
   */
  admit(sender: Sender, credential: string, caller: string): boolean;
  /** Does a query as soon as there is room for it. @throws LoggiaError `too_many_requests`, `overloaded` */
  query<T>(caller: string, work: () => Promise<T>): Promise<T>;
  readonly queries: Pick<Budget, "running" | "waiting">;
};

/** 100,000 addresses take some 15 MB. */
const REMEMBERED = 100_000;
const REPEATED_COST = 0.2;
const QUERY_WAIT_MS = 5_000;
const WAITING_QUERIES = 256;
const WAITING_QUERIES_TOTAL = 1_024;

export function createGate(options: GateOptions = {}): Gate {
  const { rates = DEFAULT_RATES, trustedProxies = new BlockList(), refused = () => {}, now } = options;
  const addressOf = createAddressReader(trustedProxies);
  const bucketsOf = (rate_s: number, burst: number) =>
    createBuckets({ rate_s, burst, most: REMEMBERED, ...(now && { now }) });
  const addresses = bucketsOf(rates.address, 2 * rates.address);
  const callers = bucketsOf(rates.caller, 2 * rates.caller);
  const failures = bucketsOf(rates.failures / 60, rates.failures);
  const wrong = createRecent<true>(REMEMBERED);
  const right = createRecent<true>(REMEMBERED);
  const key = randomBytes(32);
  const budget = createBudget({
    perCaller: rates.queries,
    total: rates.queriesTotal,
    waitingPerCaller: WAITING_QUERIES,
    waitingTotal: WAITING_QUERIES_TOTAL,
    wait_ms: QUERY_WAIT_MS,
  });

  function requireTokens(wait_s: number, reason: Refusal, message: string): void {
    if (wait_s === 0) return;
    refused(reason);
    throw new LoggiaError("too_many_requests", message, { retryAfter_s: Math.ceil(wait_s) });
  }

  /** In how many seconds a credential may be tried from an address: 0, now. What was right from there before never waits. */
  function guessWait_s(address: string, credential: string | null): number {
    const wait_s = failures.wait(address);
    return wait_s === 0 || (credential !== null && right.get(`${address} ${credential}`) === true) ? 0 : wait_s;
  }

  function remember(address: string, credential: string): void {
    const name = `${address} ${credential}`;
    if (right.get(name) === undefined) right.set(name, true);
  }

  const tooOften = "Too many requests came from your address; send fewer a second";
  const tooManyByCaller = "Too many requests came with these credentials; send fewer a second";
  const tooManyGuesses = "Too many wrong passwords or keys came from your address; wait before you try again";

  return {
    enter(request) {
      const address = addressOf(request);
      requireTokens(addresses.take(address), "address", tooOften);
      return address;
    },
    fingerprint: (secret) => createHmac("sha256", key).update(secret).digest("base64"),
    beforeCheck(address, credential) {
      requireTokens(guessWait_s(address, credential), "failures", tooManyGuesses);
    },
    failed(address, fingerprint) {
      const name = `${address} ${fingerprint}`;
      const cost = wrong.get(name) === true ? REPEATED_COST : 1;
      wrong.set(name, true);
      failures.charge(address, cost);
    },
    passed(address, credential, caller) {
      remember(address, credential);
      requireTokens(callers.take(caller), "caller", tooManyByCaller);
    },
    admit(sender, credential, caller) {
      const address = addressOf(sender);
      if (guessWait_s(address, credential) > 0) return false;
      if (addresses.take(address) > 0) return false;
      if (callers.take(caller) > 0) {
        addresses.charge(address, -1);
        return false;
      }
      remember(address, credential);
      return true;
    },
    async query(caller, work) {
      try {
        return await budget.run(caller, work);
      } catch (error) {
        if (error instanceof LoggiaError && error.code === "too_many_requests") refused("queries");
        throw error;
      }
    },
    queries: budget,
  };
}
