import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { LoggiaError } from "../src/errors.ts";
import type { WriteOutcome } from "../src/store/store.ts";

/** How long to go on trying, and how eagerly. One for each batch. */
export type RetryPolicy = {
  /** Fires when the batch must be left as it is, at once. */
  readonly signal: AbortSignal;
  /** Fires when there is no more time for waiting: what succeeds at once may still be finished. */
  readonly closing: AbortSignal;
  /** The first wait, which doubles up to the last. */
  readonly first_ms: number;
  readonly last_ms: number;
  readonly log: Logger;
  /** Counts items that are tried again. */
  retried(count: number): void;
};

/** A single item that makes a write throw, other than by the engine being away, is refused after so many times. */
const STRIKES = 5;
/** So few items may all be at fault. Where more fail and none succeeds, the engine is. */
const FEW = 8;

/**
 * Runs `work` until it succeeds.
 * @throws the reason of `retryPolicy.signal` once that fires, or of `retryPolicy.closing` where it would have to wait
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
  /** For the log. */
  readonly what: string;
  /** Written one after the other. */
  readonly groups: readonly (readonly T[])[];
  /** @param rest whether these are all the items that are left, and none was rejected before */
  readonly write: (items: readonly T[], rest: boolean) => Promise<readonly WriteOutcome[]>;
  /** Rejects where the engine is away or ill. */
  readonly ping: () => Promise<void>;
};

/**
 * Writes items until each is done or rejected, and gives the rejected ones with their reasons.
 * Items that are done are not written again.
 *
 * An engine that is busy or away is waited for without end. A write that throws anything else is
 * split in halves until the item that causes it stands alone, so that it holds up no other; if the
 * engine is well and still throws at that item, the item is rejected.
 *
 * @throws the reason of `retryPolicy.signal` once that fires, or of `retryPolicy.closing` where it would
 * have to wait
 */
export async function writeWithRetry<T>(
  retriedWrite: RetriedWrite<T>,
  retryPolicy: RetryPolicy,
): Promise<ReadonlyMap<T, string>> {
  const ledger: Ledger<T> = { rejected: new Map(), strikes: new Map(), settled: 0, progress: false, cause: null };
  const few = retriedWrite.groups.reduce((sum, group) => sum + group.length, 0) <= FEW;
  let left = retriedWrite.groups;
  for (let failures = 1; ; failures++) {
    ledger.progress = false;
    const next: (readonly T[])[] = [];
    for (const group of left) {
      retryPolicy.signal.throwIfAborted();
      next.push(...(await attempt(group, left.length === 1, few, retriedWrite, ledger)));
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
  /** How often the write of a single item threw. */
  readonly strikes: Map<T, number>;
  settled: number;
  /** Whether this round came nearer to the end. */
  progress: boolean;
  /** Why something is left, for the log. */
  cause: unknown;
};

/** Writes one group once. Returns what is left of it, in the groups to try next. */
async function attempt<T>(
  group: readonly T[],
  alone: boolean,
  few: boolean,
  { write, ping }: RetriedWrite<T>,
  ledger: Ledger<T>,
): Promise<(readonly T[])[]> {
  try {
    const outcomes = await write(group, alone && ledger.rejected.size === 0);
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
    if (strikes < STRIKES || !(few || ledger.settled > 0) || !(await isWell(ping))) return [group];
    settle(item, { kind: "rejected", reason: String(error) }, ledger);
    return [];
  }
}

/** Takes down an outcome; false where the item is to be tried again. */
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

async function isWell(ping: () => Promise<void>): Promise<boolean> {
  return ping().then(
    () => true,
    () => false,
  );
}

/**
 * Waits after the `failures`-th failure in a row, at random between half of the full time and all
 * of it, so that processes do not come back at once.
 */
async function pause(
  failures: number,
  why: object,
  { signal, closing, first_ms, last_ms, log }: RetryPolicy,
): Promise<void> {
  const full_ms = Math.min(first_ms * 2 ** Math.min(failures - 1, 30), last_ms);
  const wait_ms = Math.round(full_ms * (0.5 + Math.random() / 2));
  log.warn({ ...why, failures, wait_ms }, "a write will be tried again");
  const cut = AbortSignal.any([signal, closing]);
  // A timer that is cut short says so by an error of its own; the reason of the signal is what callers know.
  await sleep(wait_ms, undefined, { signal: cut }).catch(() => {});
  cut.throwIfAborted();
}
