import type { JSX } from "preact";

import { OWN_HIDING } from "../state/search.ts";
import type { Search } from "../state/search.ts";
import type { App } from "../app.ts";

export type HidingNoteProperties = { readonly app: App; readonly search: Search };

/** Says which classes the list leaves out because the reader hides them, and shows them on demand. */
export function HidingNote({ app, search }: HidingNoteProperties): JSX.Element {
  const { hidden, log } = search.run.value;
  const own = app.preferences.now.value.hidden[log] ?? [];
  const shown = hidden.length > 0 ? hidden : own;
  const names = shown.map((key) => app.classes.nameOf(log, key)).join(", ");
  const count = shown.length === 1 ? "1 class" : `${shown.length} classes`;
  const change = (hide: string): void => {
    search.hide.value = hide;
    search.start();
  };
  const isHiding = hidden.length > 0;
  return (
    <>
      <span class="note hiding" role="status">
        {count} {isHiding ? "hidden" : "shown that you hide"}: {names}
      </span>
      <button type="button" class="quiet" onClick={() => change(isHiding ? "" : OWN_HIDING)}>
        {isHiding ? "Show all" : "Hide again"}
      </button>
    </>
  );
}
