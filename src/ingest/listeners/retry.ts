import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../errors.ts";
import type { ListenerContext } from "./listener.ts";

const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export type RetryOptions = {
  readonly context: Pick<ListenerContext, "limiter" | "abandoned" | "log">;
  /** The owner of the log, for whom each attempt counts as a request. */
  readonly person: string;
  /** What is stored, as the service's log names it. */
  readonly what: string;
  /** Whether nobody waits for it any more, so that the client sends it again. */
  readonly isAbandoned?: () => boolean;
  /** Called with the last failure where it gives up. */
  readonly gaveUp?: (error: unknown) => void;
};

/**
 * Appends until the bus takes it. null: it gave up, as the service ends or nobody waits any more.
 */
export async function appendWithRetry<T>(
  append: () => Promise<T>,
  { context, person, what, isAbandoned = () => false, gaveUp = () => {} }: RetryOptions,
): Promise<T | null> {
  const { limiter, abandoned, log } = context;
  for (let pause_ms = PAUSE_MS; ; pause_ms = Math.min(2 * pause_ms, LONGEST_PAUSE_MS)) {
    try {
      limiter.countCaller(person);
      return await append();
    } catch (error) {
      // The bus has room again within moments, whatever else is wrong with it takes longer.
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
