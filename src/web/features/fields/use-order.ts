import type { ReadonlySignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { keepOrder } from "./keep-order.ts";

/** Entries of a read. Reads with the same `of` are repetitions, such as the counts of a tail. */
export type OrderedRead<Entry> = { readonly of: string; readonly entries: readonly Entry[] };

/** Keeps the order of entries across reads with the same `of`; null until they are loaded. */
export function useOrder<Entry>(
  read: ReadonlySignal<OrderedRead<Entry> | null>,
  keyOf: (entry: Entry) => string,
): readonly Entry[] | null {
  const last = useRef<OrderedRead<Entry> | null>(null);
  const found = read.value;
  if (found === null) return null;
  const isSame = last.current?.of === found.of;
  const entries = isSame ? keepOrder(last.current!.entries, found.entries, keyOf) : found.entries;
  last.current = { of: found.of, entries };
  return entries;
}
