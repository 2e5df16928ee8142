import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { wordsOf } from "../api/client.ts";
import type { App } from "../app.ts";
import { MarksScreen } from "../marks/marks-screen.tsx";
import { narrowed, successorOf } from "../marks/marked.ts";
import type { MarkedEvent } from "../marks/marked.ts";
import type { MarkedEvents } from "../marks/marked-events.ts";
import { narrowingOf, useMarked } from "../marks/use-marked.ts";
import { Icon } from "../parts/icons.tsx";
import { acknowledgeOne, acknowledgeShown } from "./acknowledge.ts";
import type { Acknowledgement } from "./acknowledge.ts";

/** Whether all that there are are loaded. */
function isWhole({ events, total }: MarkedEvents): boolean {
  return events.peek()?.length === total.peek();
}

/** The account's unread alerts, of all logs. */
export function InboxScreen({ app }: { app: App }): JSX.Element {
  const marked = useMarked(app, "alerts", app.alerts.changes.value);
  const current = useSignal<string | null>(null);
  const undo = useRef<(() => void) | null>(null);
  const { alerts, client, shortcuts, toaster } = app;

  /** Takes alerts out of the list at once; where the service refuses they come back, and it is said. */
  const acknowledge = async (events: readonly MarkedEvent[], work: () => Promise<Acknowledgement>): Promise<void> => {
    try {
      const leaving = events.map(({ id }) => id);
      const { count, undo: takeBack } = await marked.leave(leaving, work);
      alerts.changed();
      const back = (): void => {
        undo.current = null;
        takeBack()
          .catch((fault: unknown) => toaster.show(`Not taken back: ${wordsOf(fault)}`))
          .finally(() => alerts.changed());
      };
      undo.current = () => toaster.now.peek()?.undo?.();
      toaster.show(`${count.toLocaleString("en")} ${count === 1 ? "alert" : "alerts"} acknowledged`, back);
    } catch (fault) {
      toaster.show(`Not acknowledged: ${wordsOf(fault)}`);
      await marked.read();
    }
  };
  const one = (event: MarkedEvent): void => {
    const shown = narrowed(marked.events.peek() ?? [], narrowingOf(app));
    const next = successorOf(shown, event.id);
    void acknowledge([event], () => acknowledgeOne(client, event));
    current.value = next;
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`.row[data-id="${next ?? ""}"]`)?.focus());
  };
  const all = (): void => {
    const by = narrowingOf(app);
    const shown = narrowed(marked.events.peek() ?? [], by);
    if (shown.length > 0)
      void acknowledge(shown, () => acknowledgeShown(client, shown, { by, isWhole: isWhole(marked) }));
  };
  useEffect(
    () =>
      shortcuts.bind([
        { scope: "In the list", keys: ["Shift+e"], label: "Acknowledge all", act: all },
        { scope: "In the list", keys: ["z"], label: "Undo", act: () => undo.current?.() },
      ]),
    [],
  );
  // What another browser acknowledged, and new alerts.
  useEffect(() => {
    const events = marked.events.peek();
    const isAsShown = marked.total.peek() === alerts.unseen.value && (events?.[0]?.id ?? null) === alerts.newest.value;
    if (events !== null && !isAsShown) void marked.read();
  }, [alerts.unseen.value, alerts.newest.value]);
  const by = narrowingOf(app);
  const shown = narrowed(marked.events.value ?? [], by);
  // Without a class or log, one press acknowledges those too that are not loaded.
  const count = by.log === null && by.class === null ? marked.total.value : shown.length;
  const classesLink = app.location.link({ screen: "classes", log: app.logs.value?.[0]?.key ?? "" });
  return (
    <MarksScreen
      app={app}
      marked={marked}
      name="Inbox"
      countWords={(count) => `${count.toLocaleString("en")} unread ${count === 1 ? "alert" : "alerts"}`}
      label="Alerts, newest first"
      current={current}
      takeOut={{ label: "Acknowledge", key: "e", act: one }}
      acts={
        shown.length > 0 && (
          <button class="btn small" type="button" onClick={all}>
            <Icon name="tick" />
            Acknowledge all {count.toLocaleString("en")}
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
