import type { ComponentChildren, JSX } from "preact";
import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { Message } from "../../parts/controls/message.tsx";
import { formatNumber } from "../../parts/text/numbers.ts";
import { countEach } from "./count-marked.ts";
import type { MarkedCounts } from "./count-marked.ts";
import type { MarkedEvents } from "./marked-events.ts";
import { MarkedList } from "./marked-list.tsx";
import { narrowedEvents } from "./marked.ts";
import type { MarkedEvent, Narrowing, RemovalAction } from "./marked.ts";
import { NarrowingPane } from "./narrow.tsx";
import { narrowingInAddress } from "./use-marked.ts";
import "../../css/marked.css";
import "../../css/blank.css";

type MarksScreenProperties = {
  readonly app: App;
  readonly marked: MarkedEvents;
  readonly kind: "alerts" | "bookmarks";
  /** Name in the page's title, such as Inbox. */
  readonly name: string;
  /** Formats the number of events: 12 unread alerts. */
  readonly countText: (count: number) => string;
  readonly label: string;
  readonly current: Signal<string | null>;
  readonly takeOut: RemovalAction;
  /** Actions on all events shown. */
  readonly actions?: ComponentChildren;
  readonly empty: JSX.Element;
};

/** A screen with events of all logs: narrowing, count and list. */
export function MarkedView(properties: MarksScreenProperties): JSX.Element {
  const { app, marked, name, countText, label, current, takeOut, actions, empty } = properties;
  const by = narrowingInAddress(app);
  const events = marked.events.value;
  const shown = narrowedEvents(events ?? [], by);
  const isNarrowed = by.log !== null || by.class !== null;
  const isMore = events !== null && events.length < marked.total.value;
  const counts = useCounts(properties, by);
  const count = !isNarrowed ? marked.total.value : isMore ? (counts?.shown ?? null) : shown.length;
  useEffect(() => {
    app.title.value = `${name}, Loggia`;
  }, [name]);
  return (
    <div class="marked">
      <NarrowingPane app={app} events={events ?? []} by={by} counts={counts} isWhole={!isMore} />
      <main id="main" tabIndex={-1} class="main" aria-labelledby="found">
        <div class="found">
          <h1 id="found" aria-live="polite">
            {events === null || count === null ? name : countText(count)}
          </h1>
          <span class="note hide-small">{events !== null && shown.length > 0 && placesOf(shown)}</span>
          <span class="space" />
          {actions}
        </div>
        {marked.fault.value !== null && (
          <div class="pad">
            <Message
              kind="warn"
              title={`${name} could not be read`}
              actions={[{ label: "Try again", act: () => void marked.read() }]}
            >
              {marked.fault.value}
            </Message>
          </div>
        )}
        {events !== null && shown.length === 0 && (isNarrowed ? <NothingLeft app={app} /> : empty)}
        {shown.length > 0 && <MarkedList app={app} events={shown} label={label} current={current} takeOut={takeOut} />}
        {isMore && (
          <p class="pad rest">
            The newest {formatNumber(events.length)} of {formatNumber(marked.total.value)} are shown.{" "}
            <button class="btn small" type="button" onClick={() => void marked.readMore()}>
              Show more
            </button>
          </p>
        )}
      </main>
    </div>
  );
}

/** Returns exact counts if not all events are loaded; null until known, or if all are. */
function useCounts({ app, marked, kind }: MarksScreenProperties, by: Narrowing): MarkedCounts | null {
  const counts = useSignal<MarkedCounts | null>(null);
  const events = marked.events.value;
  const total = marked.total.value;
  useEffect(() => {
    counts.value = null;
    if (events === null || events.length >= total) return undefined;
    let isLast = true;
    countEach(app.client, kind, events, by).then(
      (found) => isLast && (counts.value = found),
      // Without counts, no number is shown.
      () => undefined,
    );
    return () => (isLast = false);
  }, [events, total, by.log, by.class]);
  return counts.value;
}

function placesOf(events: readonly MarkedEvent[]): string {
  const logs = new Set(events.map(({ log }) => log));
  return logs.size === 1 ? `in ${events[0]!.log}` : `in ${logs.size} logs`;
}

function NothingLeft({ app }: { app: App }): JSX.Element {
  return (
    <div class="blank">
      <h2>Nothing is left of that log or class</h2>
      <p>
        <a href={app.location.link({ parameters: new Map() })}>Show all</a>
      </p>
    </div>
  );
}
