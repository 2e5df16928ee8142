import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { shortcut } from "../../parts/keys/table.ts";
import { readQuery } from "../../parts/query/compose.ts";
import { rangeName } from "../../parts/query/range.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { PopoverButton } from "../../parts/controls/popover.tsx";
import { lazy } from "../../parts/controls/lazy.tsx";
import type { Search } from "../../state/search.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";

const RangePicker = lazy(async () => (await import("./range-picker.tsx")).RangePicker);

/** The range of the search. If the query has its own, the button selects that in the query. */
export function RangeButton({ app, search }: { app: App; search: Search }): JSX.Element {
  const root = useRef<HTMLSpanElement>(null);
  useLayoutEffect(
    () => app.shortcuts.bind([shortcut("search", "range", () => root.current?.querySelector("button")?.click())]),
    [],
  );
  const formats = useComputed(() => formatsOfZone(search.zone.value));
  const own = useComputed(() => readQuery(search.query.value)?.clauses.get("occurs") ?? null).value;
  const name = rangeName(search.range.value, search.run.value.moments, formats.value);
  if (own !== null) {
    return (
      <span class="anchor" ref={root}>
        <button class="btn" type="button" onClick={() => selectInQuery(root.current, own)}>
          <Icon name="clock" />
          In the query
        </button>
      </span>
    );
  }
  return (
    <span class="anchor" ref={root}>
      <PopoverButton
        class="btn"
        label={`Range: ${name}, ${search.zone.value}`}
        popoverClass="picker"
        popoverLabel="Range"
        renderContent={(close) => <RangePicker app={app} search={search} onClose={close} />}
      >
        <Icon name="clock" />
        {name} <Icon name="down" />
      </PopoverButton>
    </span>
  );
}

/** Selects the query's own range in its field. */
function selectInQuery(from: HTMLElement | null, { start, end }: { start: number; end: number }): void {
  const field = from?.closest("form")?.querySelector("textarea");
  field?.focus();
  field?.setSelectionRange(start, end);
}
