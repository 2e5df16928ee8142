import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { wordsOf } from "../api/client.ts";
import { readPart } from "./search.ts";
import type { Run } from "./search.ts";

export type Reading<Value> = {
  /** null until the first answer. The last one stays while the next is awaited. */
  readonly value: Signal<Value | null>;
  /** What kept the last reading from its answer, in words. */
  readonly fault: Signal<string | null>;
};

/** One part of a run, read for each run and whenever one of `causes` changes. */
export function useRead<Value>(
  run: Run,
  read: () => Promise<Value | null>,
  causes: readonly unknown[] = [],
): Reading<Value> {
  const value = useSignal<Value | null>(null);
  const fault = useSignal<string | null>(null);
  useEffect(() => {
    // An answer that a later cause has overtaken is left out.
    let isLast = true;
    const keep = async () => {
      try {
        const found = await readPart(run, read);
        if (!isLast || run.signal.aborted) return;
        if (found !== null) value.value = found;
        fault.value = null;
      } catch (error) {
        if (isLast && !run.signal.aborted) fault.value = wordsOf(error);
      }
    };
    void keep();
    return () => {
      isLast = false;
    };
  }, [run, ...causes]);
  return { value, fault };
}
