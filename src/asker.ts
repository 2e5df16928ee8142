import { AsyncLocalStorage } from "node:async_hooks";

type Asking = { readonly person: string; readonly gone: AbortSignal | undefined };

const asking = new AsyncLocalStorage<Asking>();

/**
 * Does work for a person, among whom a store shares out what it has.
 * @param gone fires when the client has left: the store gives the work up then
 */
export function askedBy<T>(person: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
  return asking.run({ person, gone }, work);
}

/** For whom the work under way is done; undefined where for nobody in particular. */
export function asker(): string | undefined {
  return asking.getStore()?.person;
}

/** Fires when the client of the work under way has left; undefined where nothing tells. */
export function askerGone(): AbortSignal | undefined {
  return asking.getStore()?.gone;
}
