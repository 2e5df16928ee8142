import { AsyncLocalStorage } from "node:async_hooks";

type Asking = {
  readonly person: string;
  readonly gone: AbortSignal | undefined;
  readonly until_ms: number;
};

/** How long a question may take with all its waiting: less than a connection may be silent. */
const QUESTION_MS = 50_000;

const asking = new AsyncLocalStorage<Asking>();

/**
 * Does work for a person, among whom a store shares out what it has.
 * @param gone fires when the client has left: the store gives the work up then
 */
export function askedBy<T>(person: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
  return asking.run({ person, gone, until_ms: performance.now() + QUESTION_MS }, work);
}

/** For whom the work under way is done; undefined where for nobody in particular. */
export function asker(): string | undefined {
  return asking.getStore()?.person;
}

/** Fires when the client of the work under way has left; undefined where nothing tells. */
export function askerGone(): AbortSignal | undefined {
  return asking.getStore()?.gone;
}

/** How much time the work under way has left, in milliseconds; without bound where it is for nobody in particular. */
export function askerLeft_ms(): number {
  return (asking.getStore()?.until_ms ?? Infinity) - performance.now();
}
