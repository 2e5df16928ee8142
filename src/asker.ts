import { AsyncLocalStorage } from "node:async_hooks";

type Asking = {
  readonly person: string;
  readonly gone: AbortSignal | undefined;
  readonly until_ms: number;
};

/** Longest time for a query with all its waiting. Shorter than a connection may be silent. */
const QUESTION_MS = 50_000;

const asking = new AsyncLocalStorage<Asking>();

/**
 * Runs work on behalf of a person. Stores share their resources among persons.
 * @param gone fires when the client has disconnected; the store then cancels the work
 */
export function askedBy<T>(person: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
  return asking.run({ person, gone, until_ms: performance.now() + QUESTION_MS }, work);
}

/** Returns the person for whom the current work is done; undefined if there is none. */
export function asker(): string | undefined {
  return asking.getStore()?.person;
}

/** Returns a signal that fires when the client of the current work has disconnected, if known. */
export function askerGone(): AbortSignal | undefined {
  return asking.getStore()?.gone;
}

/** Returns the time left for the current work, in milliseconds, or Infinity if it has no limit. */
export function askerLeft_ms(): number {
  return (asking.getStore()?.until_ms ?? Infinity) - performance.now();
}
