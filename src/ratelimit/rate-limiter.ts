import { BlockList } from "node:net";

import { runForCaller } from "../caller-context.ts";
import { LoggiaError } from "../errors.ts";
import { createAddressReader } from "./address.ts";
import type { Sender } from "./address.ts";
import { createBuckets } from "./buckets.ts";
import { Budget } from "./budget.ts";
import type { Reservation } from "./budget.ts";

/** Limits for the clients of one process. */
export type Rates = {
  /** Requests per second from one address. */
  readonly address: number;
  /** Requests per second by one quota owner, over all keys and logs. */
  readonly caller: number;
  /** Wrong passwords and keys per minute from one address. */
  readonly failures: number;
  /** Concurrent queries of one quota owner, and of all. */
  readonly queries: number;
  readonly queriesTotal: number;
  /** Megabytes that all API responses in progress may take. One quota owner gets half. */
  readonly answers_mb: number;
};

/**
 * Default limits. Those for requests are above what one process can answer, so that normal use
 * never reaches them. Those for guesses are strict.
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
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: BlockList;
  /** Called for each refused request, with the reason. */
  readonly refused?: (reason: LimitReason) => void;
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number;
};

export const REFUSALS = ["address", "caller", "failures", "queries", "answers"] as const;
export type LimitReason = (typeof REFUSALS)[number];

/**
 * Applies limits to requests: by address, by caller, and by the cost of queries and responses. The
 * counts are those of this process alone, in bounded memory.
 */
export type RateLimiter = {
  /**
   * Admits a request and returns its address.
   * @throws LoggiaError `too_many_requests`
   */
  enter(request: Sender): string;
  /**
   * Counts a request of an authenticated caller.
   * @throws LoggiaError `too_many_requests` if this caller sends too many
   */
  countCaller(caller: string): void;
  /** Returns the address that the requests of a sender count for. */
  addressOf(sender: Sender): string;
  /**
   * Admits a request of an authenticated caller: both steps above in one call. Returns false if one
   * of them refuses; then nothing is counted, and the single steps throw the error.
   * @param address as {@link RateLimiter.addressOf} returned it
   */
  admit(address: string, caller: string): boolean;
  /**
   * Runs a query as soon as there is room for it.
   * @param gone fires when the client has disconnected: the query is cancelled, running or
   *   waiting
   * @throws LoggiaError `too_many_requests`, `overloaded`; {@link ClientGone}
   */
  query<T>(caller: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T>;
  readonly queries: Pick<Budget, "running" | "waiting">;
  /**
   * Reserves memory for a response, in bytes.
   * @throws LoggiaError `too_many_requests`, `overloaded`; {@link ClientGone}
   */
  reserveResponse(caller: string, size_bytes: number, gone?: AbortSignal): Promise<Reservation>;
  /**
   * Reserves memory for an export, which takes as long as its client likes. All exports together
   * leave half of the memory of responses to other queries, and one person a part to others.
   * @throws LoggiaError as {@link RateLimiter.reserveResponse} does
   */
  reserveExport(caller: string, size_bytes: number, gone?: AbortSignal): Promise<Reservation>;
  readonly answers: Pick<Budget, "running" | "waiting">;
};

/** Entries remembered in each table. 100,000 addresses take some 15 MB. */
const ENTRIES_MAX = 100_000;
const WAITING = Object.freeze({ waitingPerCaller: 256, waitingTotal: 1_024, wait_ms: 5_000 });
const MB = 1024 * 1024;
/** Parts of the memory of responses that all exports may take, and those of one person. */
const EXPORTS_SHARE = 1 / 2;
const EXPORTS_SHARE_OF_CALLER = 1 / 8;

const TOO_MANY_FROM_ADDRESS = "Too many requests from your address; send fewer per second";
const TOO_MANY_BY_CALLER = "Too many requests with these credentials; send fewer per second";

export function createRateLimiter(options: RateLimiterOptions = {}): RateLimiter {
  const { rates = DEFAULT_RATES, trustedProxies = new BlockList(), refused = () => {} } = options;
  const { now = () => performance.now() } = options;
  const addressOf = createAddressReader(trustedProxies);
  const bucketsOf = (rate_s: number, burst: number) => createBuckets({ rate_s, burst, maxEntries: ENTRIES_MAX, now });
  const addresses = bucketsOf(rates.address, 2 * rates.address);
  const callers = bucketsOf(rates.caller, 2 * rates.caller);
  const { queries, answers, exports } = createBudgets(rates, refused);

  function requireTokens(wait_s: number, reason: LimitReason, message: string): void {
    if (wait_s === 0) return;
    refused(reason);
    throw new LoggiaError("too_many_requests", message, { retryAfter_s: Math.ceil(wait_s) });
  }

  function countCaller(caller: string): void {
    requireTokens(callers.take(caller), "caller", TOO_MANY_BY_CALLER);
  }

  return {
    enter(request) {
      const address = addressOf(request);
      requireTokens(addresses.take(address), "address", TOO_MANY_FROM_ADDRESS);
      return address;
    },
    countCaller,
    addressOf,
    admit(address, caller) {
      if (addresses.take(address) > 0) return false;
      if (callers.take(caller) === 0) return true;
      addresses.charge(address, -1);
      return false;
    },
    query: (caller, work, gone) => queries.run(caller, () => runForCaller(caller, work, gone), gone),
    queries,
    reserveResponse: (caller, size_bytes, gone) => answers.take(caller, size_bytes, gone),
    reserveExport: (caller, size_bytes, gone) => exports.take(caller, size_bytes, gone),
    answers,
  };
}

/** Creates the budgets of queries, and of the memory of responses and of exports. */
function createBudgets(
  rates: Rates,
  refused: (reason: LimitReason) => void,
): Readonly<Record<"queries" | "answers" | "exports", Budget>> {
  const answers_bytes = rates.answers_mb * MB;
  return {
    queries: new Budget({
      perCaller: rates.queries,
      total: rates.queriesTotal,
      refused: () => refused("queries"),
      perCallerMessage: `You have ${rates.queries} queries running and more waiting; wait for some to finish`,
      totalMessage: "Too many queries are running; try again shortly",
      ...WAITING,
    }),
    answers: new Budget({
      perCaller: answers_bytes / 2,
      total: answers_bytes,
      refused: () => refused("answers"),
      perCallerMessage:
        "Your responses in progress take too much memory; read them, or request fewer or smaller ones at a time",
      totalMessage: "The responses in progress take too much memory; try again shortly",
      ...WAITING,
    }),
    exports: new Budget({
      perCaller: answers_bytes * EXPORTS_SHARE_OF_CALLER,
      total: answers_bytes * EXPORTS_SHARE,
      refused: () => refused("answers"),
      perCallerMessage: "Your exports in progress take too much memory; wait for them to end",
      totalMessage: "Too many exports are in progress; try again shortly",
      ...WAITING,
    }),
  };
}
