import { useLayoutEffect, useRef } from "preact/hooks";

import { isPrecededByNew } from "./marked.ts";
import type { MarkedEvent } from "./marked.ts";

type Held = { readonly id: string; readonly top: number };

/** Keeps the reader's row at its position on the screen when rows are added above it. */
export function useStillRows(root: { readonly current: HTMLElement | null }, events: readonly MarkedEvent[]): void {
  const drawn = useRef(events);
  const held = useRef<Held | null>(null);
  if (drawn.current !== events) {
    // The list still shows the events drawn before.
    const row = root.current && rowAtHand(root.current);
    const id = row?.dataset["id"];
    const isMoved = row && id !== undefined && isPrecededByNew(events, drawn.current, id);
    held.current = isMoved ? { id, top: row.getBoundingClientRect().top } : null;
    drawn.current = events;
  }
  useLayoutEffect(() => {
    const list = root.current;
    if (held.current === null || list === null) return;
    const { id, top } = held.current;
    held.current = null;
    const row = list.querySelector(`.row[data-id="${id}"]`);
    if (row !== null) list.scrollTop += row.getBoundingClientRect().top - top;
  }, [events]);
}

/** Returns the focused row, else the first visible one: any if scrolled, otherwise an open one. */
function rowAtHand(list: HTMLElement): HTMLElement | null {
  const focused = document.activeElement?.closest<HTMLElement>(".row[data-id]") ?? null;
  if (focused !== null && list.contains(focused)) return focused;
  const isBelowTop = (row: HTMLElement) => row.getBoundingClientRect().bottom > list.getBoundingClientRect().top;
  const rows = list.querySelectorAll<HTMLElement>(
    list.scrollTop > 0 ? ".row[data-id]" : '.row[data-id][aria-expanded="true"]',
  );
  return [...rows].find(isBelowTop) ?? null;
}
