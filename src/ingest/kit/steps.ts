import type { Yielder } from "../../scheduling/yielding.ts";

/** Placeholder for no item. Long decoding yields it to let other work run. */
export type Pending = { readonly fault: string; readonly isPending: true };
export const PENDING: Pending = Object.freeze({ fault: "", isPending: true });

/** Whether a decoder paused instead of yielding an item. */
export function isPending(item: unknown): item is Pending {
  return item === PENDING;
}

/** Work that yields {@link PENDING} to let other work run, and returns its result. */
export type Steps<T> = Generator<Pending, T>;

/** Runs steps to their end, with turns for other work in between. */
export async function runSteps<T>(steps: Steps<T>, yielder: Yielder): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (yielder.isDue) await yielder.turn();
  }
}
