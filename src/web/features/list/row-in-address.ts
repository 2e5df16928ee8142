import { useEffect, useRef } from "preact/hooks";

import type { App } from "../../state/app.ts";
import type { ListControl } from "../../parts/list/control.ts";

/** Time without scrolling before the address changes, in milliseconds: browsers limit changes. */
const REST_MS = 400;

/**
 * Keeps the id of the first visible row in the address, so that links and reloads show the same
 * rows.
 * @returns a function to call when the reader scrolls
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
