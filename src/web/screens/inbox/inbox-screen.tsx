import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { shortcut } from "../../parts/keys/table.ts";
import { MarkedView } from "../../features/marked-events/marked-view.tsx";
import { narrowedEvents, successorId } from "../../features/marked-events/marked.ts";
import type { MarkedEvent } from "../../features/marked-events/marked.ts";
import type { MarkedEvents } from "../../features/marked-events/marked-events.ts";
import { narrowingInAddress, useMarked } from "../../features/marked-events/use-marked.ts";
import { useUndo } from "../../features/marked-events/use-undo.ts";
import type { UndoableChange } from "../../features/marked-events/use-undo.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { countWithNoun, formatNumber } from "../../parts/text/numbers.ts";
import { acknowledgeOne, acknowledgeShown } from "./acknowledge.ts";
import type { Acknowledgement } from "./acknowledge.ts";
import "../../css/blank.css";

/** Reports whether all alerts are loaded. */
function isWhole({ events, total }: MarkedEvents): boolean {
  return events.peek()?.length === total.peek();
}

/** The account's unread alerts of all logs. */
export function InboxScreen({ app }: { app: App }): JSX.Element {
  const marked = useMarked(app, "alerts", app.alerts.changes.value);
  const current = useSignal<string | null>(null);
  const act = useUndo(app, "inbox");
  const { alerts, client, shortcuts } = app;

  /** Removes alerts from the list at once; if the service refuses, they return with a message. */
  const acknowledge = (events: readonly MarkedEvent[], acknowledged: () => Promise<Acknowledgement>): void => {
    const leaving = events.map(({ id }) => id);
    const work = async (): Promise<UndoableChange> => {
      const { count, undo } = await marked.leave(leaving, acknowledged);
      return { words: `${countWithNoun(count, "alert")} acknowledged`, undo };
    };
    void act({ work, failed: "Not acknowledged", changed: () => alerts.changed() });
  };
  const one = (event: MarkedEvent): void => {
    const shown = narrowedEvents(marked.events.peek() ?? [], narrowingInAddress(app));
    const next = successorId(shown, event.id);
    acknowledge([event], () => acknowledgeOne(client, event));
    current.value = next;
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`.row[data-id="${next ?? ""}"]`)?.focus());
  };
  const all = (): void => {
    const by = narrowingInAddress(app);
    const shown = narrowedEvents(marked.events.peek() ?? [], by);
    if (shown.length > 0) acknowledge(shown, () => acknowledgeShown(client, shown, { by, isWhole: isWhole(marked) }));
  };
  useLayoutEffect(() => shortcuts.bind([shortcut("inbox", "acknowledgeAll", all)]), []);
  // Reads again after changes by other browsers and new alerts.
  useEffect(() => {
    const events = marked.events.peek();
    const isAsShown = marked.total.peek() === alerts.unseen.value && (events?.[0]?.id ?? null) === alerts.newest.value;
    if (events !== null && !isAsShown) void marked.read();
  }, [alerts.unseen.value, alerts.newest.value]);
  const by = narrowingInAddress(app);
  const shown = narrowedEvents(marked.events.value ?? [], by);
  // Without a class or log, the action also covers alerts that are not loaded.
  const count = by.log === null && by.class === null ? marked.total.value : shown.length;
  const classesLink = app.location.link({ screen: "classes", log: app.logs.value?.[0]?.key ?? "" });
  return (
    <MarkedView
      app={app}
      marked={marked}
      kind="alerts"
      name="Inbox"
      countText={(count) => countWithNoun(count, "unread alert")}
      label="Alerts, newest first"
      current={current}
      takeOut={{
        icon: "tick",
        label: "Acknowledge",
        key: "e",
        bound: (perform) => shortcut("inbox", "acknowledge", perform),
        act: one,
      }}
      actions={
        shown.length > 0 && (
          <button class="btn small" type="button" onClick={all}>
            <Icon name="tick" />
            Acknowledge all {formatNumber(count)}
          </button>
        )
      }
      empty={
        <div class="blank">
          <h2>No unread alerts</h2>
          <p>You get one when an event is in a class that raises alerts for you.</p>
          <p>
            <a class="btn small" href={classesLink}>
              Choose classes
            </a>
          </p>
        </div>
      }
    />
  );
}
