import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { App } from "../app.ts";
import { QueryField } from "../editor/query-field.tsx";
import { Icon } from "../parts/icons.tsx";
import type { Search } from "../state/search.ts";
import { RangeButton } from "../time/range-button.tsx";

/** The bar with the query and its range. */
export function AskBar({ app, search }: { app: App; search: Search }): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  useEffect(
    () =>
      app.shortcuts.bind([
        {
          scope: "Anywhere",
          keys: ["/"],
          label: "Query",
          act: () => form.current?.querySelector<HTMLElement>("textarea, input")?.focus(),
        },
        { scope: "In the query", keys: ["Enter"], label: "Run", act: null },
        { scope: "In the query", keys: ["Shift", "Enter"], label: "New line", act: null },
        { scope: "In the query", keys: ["Escape"], label: "Close, then cancel", act: null },
      ]),
    [],
  );
  return (
    <form
      ref={form}
      class="ask"
      role="search"
      aria-label={`Query of the log ${search.log}`}
      onSubmit={(event) => {
        event.preventDefault();
        search.start();
      }}
    >
      <div class="field">
        <QueryField app={app} search={search} />
        <button class="run" type="submit">
          Run <Icon name="enter" />
        </button>
      </div>
      <RangeButton app={app} search={search} />
    </form>
  );
}
