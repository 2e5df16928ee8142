import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import type { App } from "../app.ts";
import type { Span } from "../../query/syntax.ts";
import type { Search } from "../state/search.ts";
import type { Assistance } from "./assistance.ts";
import { shadesOf } from "./highlight.ts";

/**
 * A query in LQL: a textarea under a drawing of the same text. It works by itself; completion and
 * faults join it when their code is there, and leave the textarea as it is.
 */
export function LqlField({ app, search }: { app: App; search: Search }): JSX.Element {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const assistance = useSignal<Assistance | null>(null);
  const active = useSignal<string | null>(null);
  // Computed with the text, so that it is never of an earlier one.
  const fault = useComputed(() => assistance.value?.checkQuery(search.query.value) ?? null);
  const load = () => {
    if (assistance.peek() !== null) return;
    import("./assistant.tsx").then(
      ({ Assistant, checkQuery }) => (assistance.value = { Assistant, checkQuery }),
      // Without it the service says what is wrong.
      () => undefined,
    );
  };
  useEffect(() => {
    if (document.activeElement === field.current) load();
  }, []);
  const Assistant = assistance.value?.Assistant;
  const span = fault.value === null || fault.value.isUnfinished ? null : fault.value.span;
  return (
    <>
      <div class="lql-box">
        <div class="lql shade" aria-hidden="true">
          <Shades text={search.query.value} fault={span} />
        </div>
        <textarea
          ref={field}
          class="lql"
          aria-label="Query, LQL"
          aria-autocomplete="list"
          aria-controls={active.value === null ? undefined : `${id}-options`}
          aria-activedescendant={active.value ?? undefined}
          aria-invalid={span !== null}
          aria-describedby={span === null ? undefined : `${id}-fault`}
          rows={1}
          spellcheck={false}
          autocapitalize="off"
          autocomplete="off"
          value={search.query.value}
          onFocus={load}
          onInput={(event) => (search.query.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.defaultPrevented) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
        />
      </div>
      {Assistant !== undefined && field.current !== null && (
        <Assistant app={app} search={search} field={field.current} fault={fault} active={active} id={id} />
      )}
    </>
  );
}

/** The text as it is drawn: keywords, literals, and what is wrong. */
function Shades({ text, fault }: { text: string; fault: Span | null }): JSX.Element {
  const drawn = shadesOf(text, fault).map(({ text: part, kind, isFault }) => {
    const inner = kind === "keyword" ? <i>{part}</i> : kind === "literal" ? <b>{part}</b> : part;
    return isFault ? <u>{inner}</u> : inner;
  });
  // A line break at the end makes a line only where something follows.
  return (
    <>
      {drawn}
      {"\u200b"}
    </>
  );
}
