import type { ComponentChildren, JSX } from "preact";

import type { App } from "../app.ts";
import type { Search } from "../search.ts";
import type { RunReading } from "../use-read.ts";
import { ListFault } from "./list-fault.tsx";
import { SlowNote } from "./slow-note.tsx";
import { useWait } from "../../parts/controls/use-wait.ts";

type ReadingStateProperties = {
  readonly app: App;
  readonly search: Search;
  readonly reading: RunReading<unknown>;
  /** Noun for what the view shows. */
  readonly what: string;
};

type LineProperties = Pick<ReadingStateProperties, "search" | "reading">;

/** The progress line above a view's content. */
export function ReadingLine({ search, reading: { isReading } }: LineProperties): JSX.Element | null {
  const stage = useWait(isReading.value && !search.isCancelled.value, search.run.value);
  return stage > 0 ? <div class="progress line" role="progressbar" aria-label="Searching" /> : null;
}

/** Below a view's content, so that nothing moves: reports a slow or failed read. */
export function ReadingState({ app, search, reading, what }: ReadingStateProperties): JSX.Element | null {
  const { error, isReading, value, at_ms } = reading;
  const isAsking = isReading.value && !search.isCancelled.value;
  const stage = useWait(isAsking, search.run.value);
  const fault = error.value;
  if (stage <= 1 && fault === null) return null;
  return (
    <div class={value.value === null ? undefined : "foot"}>
      {fault === null && <SlowNote search={search} />}
      {fault !== null && (
        <ListFault
          app={app}
          search={search}
          fault={fault}
          isAsking={isAsking}
          loaded_ms={value.value === null ? null : at_ms.value}
          what={what}
          onRetry={search.again}
          onCancel={() => {
            search.cancel();
            error.value = null;
          }}
        />
      )}
    </div>
  );
}

/** A view without a response yet: its head, and a message instead of the content. */
export function Unanswered({ head, children }: { head: string; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <div class="found">
        <h1 id="found">{head}</h1>
      </div>
      {children}
    </>
  );
}
