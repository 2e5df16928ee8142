import type { JSX } from "preact";

import type { App } from "../app.ts";
import type { Search } from "../state/search.ts";

/** The field of the query. */
export function QueryField({ search }: { app: App; search: Search }): JSX.Element {
  return (
    <textarea
      class="lql"
      aria-label="Query, LQL"
      rows={1}
      spellcheck={false}
      value={search.query.value}
      onInput={(event) => (search.query.value = event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        search.start();
      }}
    />
  );
}
