import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiFault, wordsOf } from "../api/client.ts";
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

/** One part of a run, read for each run and whenever one of `causes` changes. */
export function useRead<Value>(
  run: Run,
  read: () => Promise<Value | null>,
  causes: readonly unknown[] = [],
): Reading<Value> {
  const value = useSignal<Value | null>(null);
  const at_ms = useSignal(0);
  const fault = useSignal<string | null>(null);
  const error = useSignal<unknown>(null);
  const isReading = useSignal(false);
  useEffect(() => {
    // An answer that a later cause has overtaken is left out.
    let isLast = true;
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
      fault.value = error.value === null ? null : noteOf(thrown, value.peek() !== null);
    };
    isReading.value = true;
    void keep();
    return () => {
      isLast = false;
    };
  }, [run, ...causes]);
  return { value, at_ms, fault, error, isReading };
}

/** The result itself says what is wrong with a query. */
function noteOf(error: unknown, hasOlder: boolean): string | null {
  if (error instanceof ApiFault && error.code === "bad_query") return null;
  return `${hasOlder ? "Not up to date" : "Not read"}: ${wordsOf(error)}`;
}
