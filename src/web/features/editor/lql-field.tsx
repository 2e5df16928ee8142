import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import type { App } from "../../state/app.ts";
import type { TextSpan } from "../../../query/syntax.ts";
import type { Search } from "../../state/search.ts";
import type { Assistance } from "./assistance.ts";
import { shadesOfQuery } from "./highlight.ts";

/**
 * A query in LQL: a textarea with a highlighted copy of its text. Completion and faults are added
 * once their code is loaded, without replacing the textarea.
 */
export function LqlField({ app, search }: { app: App; search: Search }): JSX.Element {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const assistance = useSignal<Assistance | null>(null);
  const active = useSignal<string | null>(null);
  // Computed from the text, so that it never belongs to an earlier one.
  const fault = useComputed(() => assistance.value?.checkQuery(search.query.value) ?? null);
  const load = () => {
    if (assistance.peek() !== null) return;
    import("./assistant.tsx").then(
      ({ Assistant, checkQuery }) => (assistance.value = { Assistant, checkQuery }),
      // Without it, the service reports errors.
      () => undefined,
    );
  };
  useEffect(() => {
    if (document.activeElement === field.current) load();
  }, []);
  const Assistant = assistance.value?.Assistant;
  const span = fault.value === null || fault.value.isUnfinished || fault.value.isWords ? null : fault.value.span;
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

/** Draws the text with keywords, literals and the fault highlighted. */
function Shades({ text, fault }: { text: string; fault: TextSpan | null }): JSX.Element {
  const drawn = shadesOfQuery(text, fault).map(({ text: part, kind, isFault }) => {
    const inner = kind === "keyword" ? <i>{part}</i> : kind === "literal" ? <b>{part}</b> : part;
    return isFault ? <u>{inner}</u> : inner;
  });
  // A trailing line break makes a line only if something follows it.
  return (
    <>
      {drawn}
      {"\u200b"}
    </>
  );
}
