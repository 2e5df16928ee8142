import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiFault } from "../parts/api/client.ts";
import { readPart } from "./search.ts";
import type { Run } from "./search.ts";

export type RunReading<Value> = {
  /** null until the first response. The last value stays while the next is awaited. */
  readonly value: Signal<Value | null>;
  /** When that value arrived, in milliseconds since the Unix epoch. */
  readonly at_ms: Signal<number>;
  /** Short note about the last read's failure, shown beside the result. */
  readonly fault: Signal<string | null>;
  /** The error of that failure; null without one. */
  readonly error: Signal<unknown>;
  readonly isReading: Signal<boolean>;
};

/** Delay before a part beside the result is read again after a temporary failure. */
const AGAIN_MS = 10_000;

/**
 * Reads one part of a run, for each run and whenever one of `causes` changes.
 *
 * @param isMain whether it is the main result, whose view reports failures and retries itself
 */
export function useRead<Value>(
  run: Run,
  read: () => Promise<Value | null>,
  causes: readonly unknown[] = [],
  isMain = false,
): RunReading<Value> {
  const value = useSignal<Value | null>(null);
  const at_ms = useSignal(0);
  const fault = useSignal<string | null>(null);
  const error = useSignal<unknown>(null);
  const isReading = useSignal(false);
  useEffect(() => {
    // A response that a later cause has superseded is ignored.
    let isLast = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isWanted = () => isLast && !run.signal.aborted;
    const keep = async () => {
      let thrown: unknown = null;
      try {
        const found = await readPart(run, read);
        if (isWanted() && found !== null) {
          value.value = found;
          at_ms.value = Date.now();
        }
      } catch (failure) {
        thrown = failure;
      }
      if (!isLast) return;
      isReading.value = false;
      error.value = isWanted() ? thrown : null;
      fault.value = noteOf(error.value, value.peek() !== null);
      if (!isMain && isPassing(error.value)) timer = setTimeout(() => void keep(), AGAIN_MS);
    };
    isReading.value = true;
    void keep();
    return () => {
      isLast = false;
      clearTimeout(timer);
    };
  }, [run, ...causes]);
  return { value, at_ms, fault, error, isReading };
}

/** Returns the note beside a result. An invalid query is reported by the main result only. */
function noteOf(error: unknown, hasOlder: boolean): string | null {
  if (error === null || (error instanceof ApiFault && error.code === "bad_query")) return null;
  return hasOlder ? "Not up to date" : "Not read";
}

/** Reports whether a failure is temporary. A query that timed out would time out again. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiFault)) return false;
  return error.status === 0 || error.status === 429 || (error.status > 499 && !/longer than/.test(error.message));
}
