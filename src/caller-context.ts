import { AsyncLocalStorage } from "node:async_hooks";

type CallerContext = {
  readonly caller: string;
  readonly gone: AbortSignal | undefined;
  readonly until_ms: number;
};

/** Longest time for a query with all its waiting. Shorter than a connection may be silent. */
const QUERY_TIMEOUT_MS = 50_000;

const storage = new AsyncLocalStorage<CallerContext>();

/**
 * Runs work on behalf of a caller. Stores share their resources among callers.
 * @param gone fires when the client has disconnected; the store then cancels the work
 */
export function runForCaller<T>(caller: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
  return storage.run({ caller, gone, until_ms: performance.now() + QUERY_TIMEOUT_MS }, work);
}

/** Returns the caller of the current work; undefined if there is none. */
export function currentCaller(): string | undefined {
  return storage.getStore()?.caller;
}

/** Returns a signal that fires when the client of the current work has disconnected, if known. */
export function callerGone(): AbortSignal | undefined {
  return storage.getStore()?.gone;
}

/** Returns the time left for the current work, in milliseconds, or Infinity if it has no limit. */
export function timeLeft_ms(): number {
  return (storage.getStore()?.until_ms ?? Infinity) - performance.now();
}
