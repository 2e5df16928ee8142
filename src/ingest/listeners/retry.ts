import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../errors.ts";
import type { ListenerContext } from "./listener.ts";

const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export type RetryOptions = {
  readonly context: Pick<ListenerContext, "limiter" | "abandoned" | "log">;
  /** Quota owner of the log. Each attempt counts as a request of this account. */
  readonly owner: string;
  /** What is stored, as named in the service's log. */
  readonly what: string;
  /** Returns whether no client waits for the result any more. It will send the events again. */
  readonly isAbandoned?: () => boolean;
  /** Called with the last error when it gives up. */
  readonly gaveUp?: (error: unknown) => void;
};

/** Retries an append until it succeeds. Returns null if the service stops, or no client waits. */
export async function appendWithRetry<T>(
  append: () => Promise<T>,
  { context, owner, what, isAbandoned = () => false, gaveUp = () => {} }: RetryOptions,
): Promise<T | null> {
  const { limiter, abandoned, log } = context;
  for (let pause_ms = PAUSE_MS; ; pause_ms = Math.min(2 * pause_ms, LONGEST_PAUSE_MS)) {
    try {
      limiter.countCaller(owner);
      return await append();
    } catch (error) {
      // The bus's queue has room again within moments; other faults last longer.
      if (error instanceof LoggiaError && error.code === "overloaded") pause_ms = PAUSE_MS;
      else if (!(error instanceof LoggiaError)) log.error({ err: error }, `${what} could not be stored`);
      if (abandoned.aborted || isAbandoned()) {
        gaveUp(error);
        return null;
      }
      await sleep(pause_ms, undefined, { signal: abandoned }).catch(() => {});
    }
  }
}
