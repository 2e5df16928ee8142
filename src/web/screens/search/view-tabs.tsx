import type { JSX } from "preact";

import type { App } from "../../state/app.ts";

const VIEWS = [
  ["events", "Events"],
  ["patterns", "Patterns"],
] as const;

export type View = (typeof VIEWS)[number][0];

/** Returns the view that the address names. */
export function viewInAddress({ location }: App): View {
  return location.place.value.parameters.get("view") === "patterns" ? "patterns" : "events";
}

/** Tabs for single events and for their patterns. */
export function ViewTabs({ app }: { app: App }): JSX.Element {
  const view = viewInAddress(app);
  const show = (next: View) => {
    const parameters = new Map(app.location.place.peek().parameters);
    if (next === "events") parameters.delete("view");
    else parameters.set("view", next);
    app.location.go({ parameters });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const next = view === "events" ? "patterns" : "events";
    show(next);
    document.getElementById(`view-${next}`)?.focus();
  };
  return (
    <div class="seg hide-small" role="tablist" aria-label="View" onKeyDown={onKeyDown}>
      {VIEWS.map(([name, label]) => (
        <button
          id={`view-${name}`}
          type="button"
          role="tab"
          aria-selected={name === view}
          tabIndex={name === view ? 0 : -1}
          onClick={() => show(name)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
