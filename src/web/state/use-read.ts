import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiFault } from "../api/client.ts";
import { readPart } from "./search.ts";
import type { Run } from "./search.ts";

export type Reading<Value> = {
  /** null until the first answer. The last one stays while the next is awaited. */
  readonly value: Signal<Value | null>;
  /** When that arrived, in milliseconds since the Unix epoch. */
  readonly at_ms: Signal<number>;
  /** What kept the last reading from its answer, in a few words for what stands beside the result. */
  readonly fault: Signal<string | null>;
  /** The same as it was thrown; null where nothing was. */
  readonly error: Signal<unknown>;
  readonly isReading: Signal<boolean>;
};

/** What stands beside a result, and failed alone, is read again after this. */
const AGAIN_MS = 10_000;

/**
 * One part of a run, read for each run and whenever one of `causes` changes.
 *
 * @param isMain whether it is the result itself, whose view says why it failed and asks again
 */
export function useRead<Value>(
  run: Run,
  read: () => Promise<Value | null>,
  causes: readonly unknown[] = [],
  isMain = false,
): Reading<Value> {
  const value = useSignal<Value | null>(null);
  const at_ms = useSignal(0);
  const fault = useSignal<string | null>(null);
  const error = useSignal<unknown>(null);
  const isReading = useSignal(false);
  useEffect(() => {
    // An answer that a later cause has overtaken is left out.
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

/** Beside a result whose own message says why. A fault of the query is one that only that has to tell. */
function noteOf(error: unknown, hasOlder: boolean): string | null {
  if (error === null || (error instanceof ApiFault && error.code === "bad_query")) return null;
  return hasOlder ? "Not up to date" : "Not read";
}

/** Whether the same may be answered in a while. A query that takes too long would take as long again. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiFault)) return false;
  return error.status === 0 || error.status === 429 || (error.status > 499 && !/longer than/.test(error.message));
}
