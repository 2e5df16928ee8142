import type { Yielder } from "../../scheduling/yielding.ts";
import type { Steps } from "./json-scanner.ts";

/** Runs steps to their end, with turns for other work in between. */
export async function runSteps<T>(steps: Steps<T>, yielder: Yielder): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (yielder.isDue) await yielder.turn();
  }
}
