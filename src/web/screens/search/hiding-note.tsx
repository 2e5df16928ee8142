import type { JSX } from "preact";

import type { App } from "../../state/app.ts";
import { countWithNoun } from "../../parts/text/numbers.ts";
import { OWN_HIDING } from "../../state/search.ts";
import type { Search } from "../../state/search.ts";

export type HidingNoteProperties = { readonly app: App; readonly search: Search };

/** Names the classes that the list hides for the reader, and shows them on demand. */
export function HidingNote({ app, search }: HidingNoteProperties): JSX.Element {
  const { hidden, log } = search.run.value;
  const isHiding = hidden.length > 0;
  const keys = isHiding ? hidden : (app.preferences.now.value.hidden[log] ?? []);
  const names = keys.map((key) => app.classes.nameOf(log, key)).join(", ");
  const change = (hide: string): void => {
    search.hide.value = hide;
    search.start();
  };
  return (
    <>
      <span class="note hiding" role="status">
        {countWithNoun(keys.length, "class", "classes")} {isHiding ? "hidden" : "shown that you hide"}: {names}
      </span>
      <button type="button" class="quiet" onClick={() => change(isHiding ? "" : OWN_HIDING)}>
        {isHiding ? "Show all" : "Hide again"}
      </button>
    </>
  );
}
