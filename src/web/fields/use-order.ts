import type { ReadonlySignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { keepOrder } from "../parts/keep-order.ts";

/** What was read, and what makes it another reading of the same: a tail counts it again and again. */
export type Read<Entry> = { readonly of: string; readonly entries: readonly Entry[] };

/** Entries in the order in which another reading of the same was shown before; null until they are there. */
export function useOrder<Entry>(
  read: ReadonlySignal<Read<Entry> | null>,
  keyOf: (entry: Entry) => string,
): readonly Entry[] | null {
  const last = useRef<Read<Entry> | null>(null);
  const found = read.value;
  if (found === null) return null;
  const isSame = last.current?.of === found.of;
  const entries = isSame ? keepOrder(last.current!.entries, found.entries, keyOf) : found.entries;
  last.current = { of: found.of, entries };
  return entries;
}
