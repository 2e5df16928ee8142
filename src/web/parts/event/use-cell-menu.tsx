import { useSignal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";

import type { CellMenuProperties, EventActions, EventFormats } from "./event-actions.ts";
import { actWith } from "../controls/act-with.ts";
import type { ListColumn } from "../rows/columns.ts";
import type { ListControl, MenuPlace } from "../list/control.ts";
import type { Toaster } from "../controls/toast.tsx";
import type { RowSource } from "../rows/row-source.ts";

type CellMenuOptions = {
  readonly app: { readonly toaster: Toaster };
  readonly source: RowSource;
  readonly control: { readonly current: ListControl | null };
  readonly columns: readonly ListColumn[];
  readonly actions: EventActions;
  readonly formats: EventFormats;
};

/** Returns the menu of a list's cells: a function to open it, and its element. Loaded on use. */
export function useCellMenu({ app, source, control, ...given }: CellMenuOptions): {
  readonly show: (place: MenuPlace) => void;
  readonly element: JSX.Element | null;
} {
  const shown = useSignal<{ View: ComponentType<CellMenuProperties>; place: MenuPlace } | null>(null);
  const show = (place: MenuPlace): void => {
    actWith(app, "The menu could not be opened", import("./cell-menu.tsx"), ({ CellMenu }) => {
      shown.value = { View: CellMenu, place };
    });
  };
  if (shown.value === null) return { show, element: null };
  const { View, place } = shown.value;
  const close = (returnsFocus = true): void => {
    if (shown.peek()?.place !== place) return;
    shown.value = null;
    if (returnsFocus) control.current?.focus(place.id);
  };
  const row = source.at(source.indexOf(place.id));
  if (row === undefined) return { show, element: null };
  return { show, element: <View row={row} place={place} {...given} onClose={close} /> };
}
