import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { shortcut } from "../../parts/keys/table.ts";
import { QueryField } from "../../features/editor/query-field.tsx";
import { useWait } from "../../parts/controls/use-wait.ts";
import { isLive, switchLive } from "../../state/live/switch.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { PopoverButton } from "../../parts/controls/popover.tsx";
import type { SavedListProperties } from "../../features/saved/saved-list.tsx";
import { lazy } from "../../parts/controls/lazy.tsx";
import type { Search } from "../../state/search.ts";
import { RangeButton } from "../../features/range/range-button.tsx";
import { cancelOrLeave } from "../../state/leave-query.ts";

const SavedOpener = lazy<SavedListProperties>(
  async () => (await import("../../features/saved/saved-list.tsx")).SavedOpener,
);

type QueryBarProperties = {
  readonly app: App;
  readonly search: Search;
  /** Whether the fields cover the list, where there is no room beside it. */
  readonly isFieldsOpen: Signal<boolean>;
};

/** The bar with the query and its range. */
export function QueryBar({ app, search, isFieldsOpen }: QueryBarProperties): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const onFields = () => (isFieldsOpen.value = !isFieldsOpen.value);
  useLayoutEffect(
    () =>
      app.shortcuts.bind([
        shortcut("search", "query", () => focusQuery(form.current?.querySelector<HTMLInputElement>("textarea, input"))),
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
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        // In a context, Escape on a button returns to the list of the query.
        if (app.location.place.peek().screen === "context" && !isField(event.target)) return;
        event.preventDefault();
        // The field's assistant may not be loaded yet; text that was not run keeps the focus.
        if (isField(event.target) && search.query.peek() !== search.run.peek().typed) return;
        cancelOrLeave(search);
      }}
    >
      <div class="field">
        <QueryField app={app} search={search} />
        <RunButton search={search} />
        <PopoverButton
          class="run"
          label="Open a saved query"
          popoverClass="under end form-pop"
          popoverLabel="Saved queries"
          renderContent={(close) => <SavedOpener app={app} search={search} close={close} />}
        >
          <Icon name="star" />
          <span class="hide-small">Saved</span>
        </PopoverButton>
      </div>
      <RangeButton app={app} search={search} />
      <LiveButton app={app} search={search} />
      <button class="btn fit only-mid" type="button" aria-expanded={isFieldsOpen.value} onClick={onFields}>
        <Icon name="filter" />
        Fields
      </button>
    </form>
  );
}

function isField(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("input, textarea");
}

/** Focuses the query. That of a new search is selected, to be replaced; others are continued. */
function focusQuery(field: HTMLInputElement | HTMLTextAreaElement | null | undefined): void {
  field?.focus();
  if (field?.value.trim() === "GET events") field.select();
}

/** Runs the query, or cancels one that has been running for a while. */
function RunButton({ search }: { search: Search }): JSX.Element {
  const run = search.run.value;
  const isSlow = useWait(run.reading.value > 0 && !search.isCancelled.value, run) > 0;
  return isSlow ? (
    <button key="cancel" class="run" type="button" onClick={search.cancel}>
      Cancel <kbd>Esc</kbd>
    </button>
  ) : (
    <button key="run" class="run" type="submit">
      Run <Icon name="enter" />
    </button>
  );
}

/** Turns the live tail of the query on and off. */
function LiveButton({ app, search }: Pick<QueryBarProperties, "app" | "search">): JSX.Element {
  const isOn = isLive(app);
  const toggle = () => switchLive(app, search, !isLive(app));
  useLayoutEffect(() => app.shortcuts.bind([shortcut("search", "live", toggle)]), []);
  return (
    <button class="btn" type="button" aria-pressed={isOn} onClick={toggle}>
      <Icon name="play" />
      Live
    </button>
  );
}
