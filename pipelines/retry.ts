import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { LoggiaError } from "../src/errors.ts";
import type { WriteOutcome } from "../src/store/store.ts";

/** How long and how often to retry. There is one policy for each batch. */
export type RetryPolicy = {
  /** Fires when the batch must be abandoned at once. */
  readonly signal: AbortSignal;
  /** Fires when there is no time left for waiting; a write in progress may still finish. */
  readonly closing: AbortSignal;
  /** Wait after the first failure; it doubles up to the last. */
  readonly first_ms: number;
  readonly last_ms: number;
  readonly log: Logger;
  /** Counts items that are retried. */
  retried(count: number): void;
};

/** Number of throws after which a single item is refused, unless the engine is unavailable. */
const STRIKES = 5;
/** Number of items that may all be faulty. If more fail and none succeeds, the engine is faulty. */
const FEW = 8;

/**
 * Runs `work` until it succeeds.
 * @throws the reason of `retryPolicy.signal` once it fires, or of `retryPolicy.closing` if a wait
 * is due
 */
export async function retryForever<T>(what: string, work: () => Promise<T>, retryPolicy: RetryPolicy): Promise<T> {
  for (let failures = 1; ; failures++) {
    retryPolicy.signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      retryPolicy.retried(1);
      await pause(failures, { what, err: error }, retryPolicy);
    }
  }
}

export type RetriedWrite<T> = {
  /** Description for the log. */
  readonly what: string;
  /** Written one after the other. */
  readonly groups: readonly (readonly T[])[];
  /** @param isAllRemaining whether these are all remaining items, and none was rejected before */
  readonly write: (items: readonly T[], isAllRemaining: boolean) => Promise<readonly WriteOutcome[]>;
  /** Rejects if the engine is unavailable or unhealthy. */
  readonly ping: () => Promise<void>;
};

/**
 * Writes items until each is done or rejected, and returns the rejected ones with their reasons.
 * Items that are done are not written again.
 *
 * A busy or unavailable engine is retried without end. On any other error a group is split in
 * halves until the faulty item is the only one in its group and delays no others. If the engine is
 * healthy and still throws at that item, the item is rejected.
 *
 * @throws the reason of `retryPolicy.signal` once it fires, or of `retryPolicy.closing` if a wait
 * is due
 */
export async function writeWithRetry<T>(
  retriedWrite: RetriedWrite<T>,
  retryPolicy: RetryPolicy,
): Promise<ReadonlyMap<T, string>> {
  const ledger: Ledger<T> = { rejected: new Map(), strikes: new Map(), settled: 0, progress: false, cause: null };
  const isSmall = retriedWrite.groups.reduce((sum, group) => sum + group.length, 0) <= FEW;
  let left = retriedWrite.groups;
  for (let failures = 1; ; failures++) {
    ledger.progress = false;
    const next: (readonly T[])[] = [];
    for (const group of left) {
      retryPolicy.signal.throwIfAborted();
      next.push(...(await attempt(group, left.length === 1, isSmall, retriedWrite, ledger)));
    }
    left = next;
    if (left.length === 0) return ledger.rejected;
    if (ledger.progress) failures = 1;
    const pending = left.reduce((sum, group) => sum + group.length, 0);
    retryPolicy.retried(pending);
    await pause(failures, { what: retriedWrite.what, pending, err: ledger.cause }, retryPolicy);
  }
}

type Ledger<T> = {
  readonly rejected: Map<T, string>;
  /** How often the write of a single item threw, by item. */
  readonly strikes: Map<T, number>;
  settled: number;
  /** Whether this round settled an item or split a group. */
  progress: boolean;
  /** Why items are left, for the log. */
  cause: unknown;
};

/** Writes one group once. Returns its remaining items, in the groups to try next. */
async function attempt<T>(
  group: readonly T[],
  isLastGroup: boolean,
  isSmall: boolean,
  { write, ping }: RetriedWrite<T>,
  ledger: Ledger<T>,
): Promise<(readonly T[])[]> {
  try {
    const outcomes = await write(group, isLastGroup && ledger.rejected.size === 0);
    if (outcomes.length !== group.length) throw new Error(`${outcomes.length} outcomes for ${group.length} items`);
    const again = group.filter((item, i) => !settle(item, outcomes[i]!, ledger));
    return again.length === 0 ? [] : [again];
  } catch (error) {
    ledger.cause = error;
    if (error instanceof LoggiaError && error.retryAfter_s !== null) return [group];
    if (group.length > 1) {
      ledger.progress = true;
      const middle = group.length >>> 1;
      return [group.slice(0, middle), group.slice(middle)];
    }
    const item = group[0]!;
    const strikes = (ledger.strikes.get(item) ?? 0) + 1;
    ledger.strikes.set(item, strikes);
    if (strikes < STRIKES || !(isSmall || ledger.settled > 0) || !(await isReachable(ping))) return [group];
    settle(item, { kind: "rejected", reason: String(error) }, ledger);
    return [];
  }
}

/** Records an outcome. Returns false if the item is to be retried. */
function settle<T>(item: T, outcome: WriteOutcome, ledger: Ledger<T>): boolean {
  switch (outcome.kind) {
    case "retry":
      ledger.cause = outcome.reason;
      return false;
    case "rejected":
      ledger.rejected.set(item, outcome.reason);
      break;
    case "done":
      break;
    default:
      outcome satisfies never;
  }
  ledger.settled += 1;
  ledger.progress = true;
  return true;
}

async function isReachable(ping: () => Promise<void>): Promise<boolean> {
  return ping().then(
    () => true,
    () => false,
  );
}

/**
 * Waits after the `failures`-th failure in a row. The wait is random between half of the full time
 * and all of it, so that processes do not retry in step.
 */
async function pause(
  failures: number,
  why: object,
  { signal, closing, first_ms, last_ms, log }: RetryPolicy,
): Promise<void> {
  const full_ms = Math.min(first_ms * 2 ** Math.min(failures - 1, 30), last_ms);
  const wait_ms = Math.round(full_ms * (0.5 + Math.random() / 2));
  log.warn({ ...why, failures, wait_ms }, "a write failed, retrying");
  const stop = AbortSignal.any([signal, closing]);
  // An aborted timer throws an error of its own; callers expect the reason of the signal.
  await sleep(wait_ms, undefined, { signal: stop }).catch(() => {});
  stop.throwIfAborted();
}
