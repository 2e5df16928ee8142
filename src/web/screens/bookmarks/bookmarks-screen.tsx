import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import type { App } from "../../state/app.ts";
import { shortcut } from "../../parts/keys/table.ts";
import { MarkedView } from "../../features/marked-events/marked-view.tsx";
import { narrowedEvents, successorId } from "../../features/marked-events/marked.ts";
import type { MarkedEvent } from "../../features/marked-events/marked.ts";
import { narrowingInAddress, useMarked } from "../../features/marked-events/use-marked.ts";
import { useUndo } from "../../features/marked-events/use-undo.ts";
import type { UndoableChange } from "../../features/marked-events/use-undo.ts";
import { countWithNoun } from "../../parts/text/numbers.ts";
import "../../css/blank.css";

/** The account's bookmarks of all logs. */
export function BookmarksScreen({ app }: { app: App }): JSX.Element {
  const version = useSignal(0);
  // A bookmark just set in a list may not be stored yet.
  const marked = useMarked(app, "bookmarks", version.value + app.bookmarkChanges.value);
  const current = useSignal<string | null>(null);
  const act = useUndo(app, "bookmarks");
  const { client } = app;
  const remove = (event: MarkedEvent): void => {
    const next = successorId(narrowedEvents(marked.events.peek() ?? [], narrowingInAddress(app)), event.id);
    current.value = next;
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`.row[data-id="${next ?? ""}"]`)?.focus());
    const path = `/1/logs/${event.log}/bookmarks`;
    const work = async (): Promise<UndoableChange> => {
      await marked.leave([event.id], () => client.request(`${path}/${event.id}`, { method: "DELETE" }));
      return {
        words: "Bookmark removed",
        undo: () => client.request(path, { method: "POST", form: { id: event.id } }),
      };
    };
    void act({ work, failed: "The bookmark was not removed", changed: () => (version.value += 1) });
  };
  return (
    <MarkedView
      app={app}
      marked={marked}
      kind="bookmarks"
      name="Bookmarks"
      countText={(count) => countWithNoun(count, "bookmark")}
      label="Bookmarks, newest first"
      current={current}
      takeOut={{
        icon: "bookmark",
        label: "Remove",
        key: "b",
        bound: (act) => shortcut("bookmarks", "remove", act),
        act: remove,
      }}
      empty={
        <div class="blank">
          <h2>No bookmarks</h2>
          <p>
            Press <kbd>b</kbd> on an event to keep it here.
          </p>
        </div>
      }
    />
  );
}
