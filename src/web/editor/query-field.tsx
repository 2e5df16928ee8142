import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";

import type { App } from "../app.ts";
import { actWith } from "../shell/act-with.ts";
import { lazy } from "../shell/lazy.tsx";
import type { Search } from "../state/search.ts";
import { LqlField } from "./lql-field.tsx";

const loadSimple = () => import("./simple-field.tsx");
const SimpleField = lazy(async () => (await loadSimple()).SimpleField);

/** The query's field: conditions and a text in simple mode, or LQL. Both edit the same query. */
export function QueryField({ app, search }: { app: App; search: Search }): JSX.Element {
  /** The last query that simple mode could not show. */
  const tooRich = useSignal<string | null>(null);
  const text = search.query.value;
  const isTooRich = tooRich.value === text;
  const isSimple = app.location.place.value.parameters.get("m") === "simple" && !isTooRich;
  const setMode = (mode: string | null) => {
    app.location.note({ m: mode });
  };
  const takesFocus = useRef(false);
  const chooseSimple = () =>
    actWith(app, "Simple mode is not there", loadSimple(), ({ canShow }) => {
      const query = search.query.peek();
      tooRich.value = canShow(query) ? null : query;
      if (tooRich.value !== null) return;
      takesFocus.current = true;
      setMode("simple");
    });
  return (
    <>
      <div class="seg" role="group" aria-label="Query mode">
        <button type="button" aria-pressed={isSimple} onClick={chooseSimple}>
          Simple
        </button>
        <button
          type="button"
          aria-pressed={!isSimple}
          onClick={() => {
            tooRich.value = null;
            setMode(null);
          }}
        >
          LQL
        </button>
      </div>
      {isSimple ? (
        <SimpleField search={search} takesFocus={takesFocus} onTooRich={() => (tooRich.value = search.query.peek())} />
      ) : (
        <LqlField app={app} search={search} />
      )}
      <p class={isTooRich ? "pop mode-note" : "sr"} role="status">
        {isTooRich && "Simple mode cannot show this query: it has more than conditions of one field each."}
      </p>
    </>
  );
}
