import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { wordsOf } from "../api/client.ts";
import type { App } from "../app.ts";
import { MarksScreen } from "../marks/marks-screen.tsx";
import { narrowed, successorOf } from "../marks/marked.ts";
import type { MarkedEvent } from "../marks/marked.ts";
import { narrowingOf, useMarked } from "../marks/use-marked.ts";

/** The account's bookmarks, of all logs. */
export function BookmarksScreen({ app }: { app: App }): JSX.Element {
  const version = useSignal(0);
  const marked = useMarked(app, "bookmarks", version.value);
  const current = useSignal<string | null>(null);
  const undo = useRef<(() => void) | null>(null);
  const { client, toaster } = app;
  const remove = async (event: MarkedEvent): Promise<void> => {
    const next = successorOf(narrowed(marked.events.peek() ?? [], narrowingOf(app)), event.id);
    current.value = next;
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`.row[data-id="${next ?? ""}"]`)?.focus());
    const path = `/1/logs/${event.log}/bookmarks`;
    try {
      await marked.leave([event.id], () => client.ask(`${path}/${event.id}`, { method: "DELETE" }));
      const back = (): void => {
        undo.current = null;
        client
          .ask(path, { method: "POST", form: { id: event.id } })
          .catch((fault: unknown) => toaster.show(`Not taken back: ${wordsOf(fault)}`))
          .finally(() => (version.value += 1));
      };
      undo.current = () => toaster.now.peek()?.undo?.();
      toaster.show("Bookmark removed", back);
    } catch (fault) {
      toaster.show(`The bookmark was not removed: ${wordsOf(fault)}`);
    }
    await marked.read();
  };
  useEffect(
    () => app.shortcuts.bind([{ scope: "In the list", keys: ["z"], label: "Undo", act: () => undo.current?.() }]),
    [],
  );
  return (
    <MarksScreen
      app={app}
      marked={marked}
      name="Bookmarks"
      countWords={(count) => `${count.toLocaleString("en")} ${count === 1 ? "bookmark" : "bookmarks"}`}
      label="Bookmarks, newest first"
      current={current}
      takeOut={{ label: "Remove", key: "b", act: (event) => void remove(event) }}
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
