import { AsyncLocalStorage } from "node:async_hooks";

const asking = new AsyncLocalStorage<string>();

/** Does work for a person, among whom a store shares out what it has. */
export function askedBy<T>(person: string, work: () => Promise<T>): Promise<T> {
  return asking.run(person, work);
}

/** For whom the work under way is done; undefined where for nobody in particular. */
export function asker(): string | undefined {
  return asking.getStore();
}
