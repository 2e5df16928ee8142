import { useSignal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { actWith } from "../../parts/controls/act-with.ts";
import { STANDARD_QUERY } from "../../state/search.ts";
import type { Search } from "../../state/search.ts";
import { LqlField } from "./lql-field.tsx";
import type { SimpleFieldProperties } from "./simple-field.tsx";
import { SIMPLE_HINT, SIMPLE_LABEL } from "./simple-label.ts";

const loadSimple = () => import("./simple-field.tsx");

/** The query's field: conditions and words in simple mode, or LQL. Both edit the same query. */
export function QueryField({ app, search }: { app: App; search: Search }): JSX.Element {
  /** The last query that simple mode could not show, and whether the reader asked for it. */
  const tooRich = useSignal<{ readonly query: string; readonly note: string } | null>(null);
  const Simple = useSignal<ComponentType<SimpleFieldProperties> | null>(null);
  const begun = useRef<HTMLInputElement>(null);
  const takesFocus = useRef(false);
  const typed = useRef("");
  const isTooRich = tooRich.value?.query === search.query.value;
  const mode = app.location.place.value.parameters.get("m") ?? app.preferences.now.value.mode;
  const wantsSimple = mode !== "lql";
  const isSimple = wantsSimple && !isTooRich;
  const load = async () => {
    const { SimpleField, canShow } = await loadSimple();
    if (!canShow(search.query.peek())) tooRich.value = { query: search.query.peek(), note: "" };
    typed.current = begun.current?.value ?? "";
    takesFocus.current ||= begun.current !== null && document.activeElement === begun.current;
    Simple.value = SimpleField;
  };
  // The rows come first.
  const mayLoad = app.isSettled.value && wantsSimple && Simple.value === null;
  useEffect(() => {
    if (mayLoad) actWith(app, "Simple mode is not there", load(), () => undefined);
  }, [mayLoad]);
  const isBegun = isSimple && Simple.value === null;
  useEffect(() => {
    const form = isBegun ? begun.current?.form : null;
    if (!form) return undefined;
    const run = (event: Event) => {
      const words = begun.current?.value ?? "";
      if (words.trim() === "") return;
      event.preventDefault();
      event.stopPropagation();
      actWith(app, "Simple mode is not there", loadSimple(), ({ SimpleField, searchFor }) => {
        search.query.value = searchFor(words);
        takesFocus.current = true;
        Simple.value = SimpleField;
        search.start();
      });
    };
    form.addEventListener("submit", run, true);
    return () => form.removeEventListener("submit", run, true);
  }, [isBegun]);
  const setMode = (next: "simple" | "lql") => {
    app.location.note({ m: next });
    app.preferences.change({ mode: next });
  };
  const chooseSimple = () =>
    actWith(app, "Simple mode is not there", loadSimple(), ({ SimpleField, fitting }) => {
      const { query, note } = fitting(search.query.peek());
      search.query.value = query;
      tooRich.value = note === "" ? null : { query, note };
      if (note !== "") return;
      takesFocus.current = true;
      Simple.value = SimpleField;
      setMode("simple");
    });
  const View = Simple.value;
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
            setMode("lql");
          }}
        >
          LQL
        </button>
      </div>
      {!isSimple ? (
        <LqlField app={app} search={search} />
      ) : View === null ? (
        <input
          ref={begun}
          class="begun"
          aria-label={SIMPLE_LABEL}
          placeholder={SIMPLE_HINT}
          autocomplete="off"
          // Conditions are shown once their code is loaded.
          disabled={search.query.value !== STANDARD_QUERY}
        />
      ) : (
        <View
          search={search}
          takesFocus={takesFocus}
          typed={typed}
          onTooRich={() => (tooRich.value = { query: search.query.peek(), note: "" })}
        />
      )}
      <p class={isTooRich && tooRich.value!.note !== "" ? "pop mode-note" : "sr"} role="status">
        {isTooRich && tooRich.value!.note}
      </p>
    </>
  );
}
