import type { Signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { App } from "../../state/app.ts";
import type { EventActions } from "../../parts/event/event-actions.ts";
import { bindListKeys } from "../../parts/event/list-keys.ts";
import type { MarkedEvent, RemovalAction } from "./marked.ts";

type Keys = {
  readonly app: App;
  readonly events: readonly MarkedEvent[];
  readonly current: Signal<string | null>;
  readonly root: { readonly current: HTMLElement | null };
  readonly opened: Signal<ReadonlySet<string>>;
  readonly toggle: (id: string) => void;
  readonly actionsOf: (event: MarkedEvent) => EventActions;
  readonly takeOut: RemovalAction;
};

const PAGE_ROWS = 10;

/** Binds the keys of a list across logs; returns the handler for keys of a focused row. */
export function useListKeys(keys: Keys): (event: KeyboardEvent) => void {
  const latest = useRef(keys);
  latest.current = keys;
  const move = (steps: number): void => {
    const { events, current } = latest.current;
    const from = events.findIndex(({ id }) => id === current.peek());
    const hasFocus = latest.current.root.current?.matches(":has(.row:focus)") === true;
    // From outside, the focus moves to the selected row first.
    const to = hasFocus || from < 0 ? from + steps : from;
    const next = events[Math.min(events.length - 1, Math.max(0, to))];
    if (next !== undefined) focusRow(latest.current, next.id);
  };
  useLayoutEffect(() => {
    const { app, takeOut } = keys;
    const act = (perform: (event: MarkedEvent) => void) => () => {
      const { events, current } = latest.current;
      const event = events.find(({ id }) => id === current.peek());
      if (event !== undefined) perform(event);
    };
    const actions: Parameters<typeof bindListKeys>[2]["actions"] = {
      bookmark: (row) => latest.current.actionsOf(row as MarkedEvent).bookmark(row),
      context: (row) => latest.current.actionsOf(row as MarkedEvent).context?.(row),
      copy: (form, row) => latest.current.actionsOf(row as MarkedEvent).copy(form, row),
    };
    const control = () => ({ current: latest.current.current.peek(), move });
    const unbind = bindListKeys(app.shortcuts, control, {
      actions,
      rowOf: (id) => latest.current.events.find((event) => event.id === id),
    });
    const leave = app.shortcuts.bind([takeOut.bound(act((event) => latest.current.takeOut.act(event)))]);
    return () => {
      leave();
      unbind();
    };
  }, []);
  return (event) => {
    const row = (event.target as Element).closest<HTMLElement>(".row[data-id]");
    const id = row?.dataset["id"];
    if (id === undefined || event.target !== row || event.altKey || event.ctrlKey || event.metaKey) return;
    const isOpen = keys.opened.peek().has(id);
    if (event.key === "Enter" || (event.key === "ArrowRight" && !isOpen)) keys.toggle(id);
    else if ((event.key === "ArrowLeft" || event.key === "Escape") && isOpen) keys.toggle(id);
    else if (MOVES[event.key] !== undefined) move(MOVES[event.key]!);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}

const MOVES: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: PAGE_ROWS,
  PageUp: -PAGE_ROWS,
  Home: -Infinity,
  End: Infinity,
};

/** Makes a row the current one, focuses it and scrolls it into view. */
export function focusRow({ current, root }: Pick<Keys, "current" | "root">, id: string): void {
  current.value = id;
  const row = root.current?.querySelector<HTMLElement>(`.row[data-id="${id}"]`);
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}
