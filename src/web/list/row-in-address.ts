import { useEffect, useRef } from "preact/hooks";

import type { App } from "../app.ts";
import type { ListControl } from "./control.ts";

/** Scrolling has come to rest when nothing has moved for so long: browsers count changes of the address. */
const REST_MS = 400;

/**
 * Keeps the id of the first visible row in the address, so that a link and a reload show the same rows.
 * @returns what says that the reader has scrolled
 */
export function useRowInAddress(
  { location }: Pick<App, "location">,
  control: { readonly current: ListControl | null },
): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const write = (): void => {
    const view = control.current?.view;
    if (view === undefined) return;
    const at = view.isAtTop ? null : (view.place?.id ?? null);
    if (at !== (location.place.peek().parameters.get("at") ?? null)) location.note({ at });
  };
  return () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(write, REST_MS);
  };
}
