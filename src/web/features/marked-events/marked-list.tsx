import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import type { App } from "../../state/app.ts";
import type { EventActions, EventFormats, OpenEventProperties } from "../../parts/event/event-actions.ts";
import { OpenStates } from "../../parts/event/memory.ts";
import { TextPieces } from "../../parts/text/pieces.tsx";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { shownLevel } from "../../parts/rows/row.ts";
import { cutText } from "../../parts/text/visible-text.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { lazy } from "../../parts/controls/lazy.tsx";
import { preferredZone } from "../../state/preferences.ts";
import { bookmarksByLog, markedActions } from "./marked-actions.ts";
import { byDay } from "./marked.ts";
import type { MarkedEvent, RemovalAction } from "./marked.ts";
import { useListKeys } from "./use-list-keys.ts";
import { useStillRows } from "./use-still-rows.ts";
import "../../css/marked.css";

const OpenEvent = lazy<OpenEventProperties>(async () => (await import("../../parts/event/open-event.tsx")).OpenEvent);

export type MarkedListProperties = {
  readonly app: App;
  readonly events: readonly MarkedEvent[];
  readonly label: string;
  /** The row that has the focus or had it last. */
  readonly current: Signal<string | null>;
  readonly takeOut: RemovalAction;
};

/** Events of several logs, grouped by day. Each opens in place. */
export function MarkedList({ app, events, label, current, takeOut }: MarkedListProperties): JSX.Element {
  const opened = useSignal<ReadonlySet<string>>(new Set());
  const root = useRef<HTMLDivElement>(null);
  const states = useMemo(() => new OpenStates(), []);
  const bookmarks = useMemo(() => bookmarksByLog(app), []);
  const zone = preferredZone(app.preferences.now.value);
  const moments = useMemo(() => formatsOfZone(zone), [zone]);
  const toggle = (id: string) => {
    opened.value = opened.value.has(id)
      ? new Set([...opened.value].filter((each) => each !== id))
      : new Set([...opened.value, id]);
  };
  const actionsOf = (event: MarkedEvent): EventActions => markedActions(app, event, bookmarks(event.log));
  const onKeyDown = useListKeys({ app, events, current, root, opened, toggle, actionsOf, takeOut });
  useStillRows(root, events);
  useLayoutEffect(() => {
    // A row is selected initially, so that keys have a visible target.
    if (!events.some(({ id }) => id === current.peek())) current.value = events[0]?.id ?? null;
  }, [events]);
  const tabStop = events.some(({ id }) => id === current.value) ? current.value : (events[0]?.id ?? null);
  return (
    <div
      ref={root}
      class="list marked"
      id="list"
      role="treegrid"
      tabIndex={events.length === 0 ? 0 : undefined}
      aria-label={label}
      aria-rowcount={events.length + 1}
      onKeyDown={onKeyDown}
    >
      <div class="row head" role="row">
        {["Time", "Class", "Log", "Source", "Text"].map((title) => (
          <span key={title} role="columnheader">
            {title}
          </span>
        ))}
        <span role="columnheader">
          <span class="sr">{takeOut.label}</span>
        </span>
      </div>
      {byDay(events, dayText(moments.day)).map(({ day, events: ofDay }) => (
        <div key={day} role="rowgroup">
          <div class="day" role="row">
            <span role="gridcell" aria-colspan={6}>
              {day}
            </span>
          </div>
          {ofDay.map((event) => (
            <Row
              key={event.id}
              app={app}
              event={event}
              clock={moments.time}
              isTabStop={event.id === tabStop}
              isCurrent={event.id === current.value}
              isOpen={opened.value.has(event.id)}
              onToggle={() => toggle(event.id)}
              onFocus={() => (current.value = event.id)}
              takeOut={takeOut}
            >
              {() => (
                <OpenEvent
                  row={event}
                  state={states.of(event)}
                  actions={actionsOf(event)}
                  formats={formatsFor(app, event, moments.whole, bookmarks(event.log).version)}
                />
              )}
            </Row>
          ))}
        </div>
      ))}
    </div>
  );
}

/** Formats days, with today and yesterday by name. */
function dayText(dayOf: (ms: number) => string): (ms: number) => string {
  const today = dayOf(Date.now());
  const yesterday = dayOf(Date.now() - 86_400_000);
  return (ms) => {
    const day = dayOf(ms);
    return day === today ? "Today" : day === yesterday ? "Yesterday" : day;
  };
}

function formatsFor(
  app: App,
  { log }: MarkedEvent,
  moment: EventFormats["moment"],
  changes: EventFormats["changes"],
): EventFormats {
  return { moment, className: (key) => app.classes.nameOf(log, key), needles: new Map(), changes };
}

type RowProperties = {
  readonly app: App;
  readonly event: MarkedEvent;
  readonly clock: (ms: number) => string;
  readonly isTabStop: boolean;
  readonly isCurrent: boolean;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly onFocus: () => void;
  readonly takeOut: RemovalAction;
  readonly children: () => JSX.Element;
};

function Row(properties: RowProperties): JSX.Element {
  const { app, event, clock, isTabStop, isCurrent, isOpen, onToggle, onFocus, takeOut, children } = properties;
  const press = useRef({ x: 0, y: 0 });
  const onClick = (click: MouseEvent) => {
    // A press that moved has selected text.
    if (Math.hypot(click.clientX - press.current.x, click.clientY - press.current.y) > MOVED_PX) return;
    onToggle();
  };
  return (
    <>
      <div
        class={isCurrent ? "row at" : event.class === null ? "row bare" : "row"}
        role="row"
        aria-level={1}
        aria-expanded={isOpen}
        aria-selected={isCurrent}
        tabIndex={isTabStop ? 0 : -1}
        data-id={event.id}
        data-log={event.log}
        data-class={event.class ?? undefined}
        data-level={shownLevel(event)}
        onPointerDown={({ clientX: x, clientY: y }) => (press.current = { x, y })}
        onClick={onClick}
        onFocus={onFocus}
      >
        <span role="gridcell" class="t">
          <span class="more" aria-hidden="true">
            <Icon name="right" />
          </span>
          <time dateTime={new Date(event.created).toISOString()}>{clock(event.created)}</time>
        </span>
        <span role="gridcell" class="k">
          {event.class === null ? "" : app.classes.nameOf(event.log, event.class)}
        </span>
        <span role="gridcell" class="l">
          {event.log}
        </span>
        <span role="gridcell" class="s" data-log={event.log}>
          <TextPieces text={event.source} />
        </span>
        <span role="gridcell" class="x">
          <TextPieces text={cutText(event.text)} />
        </span>
        <span role="gridcell" class="ack">
          <button
            type="button"
            tabIndex={-1}
            title={takeOut.label}
            onClick={(click) => {
              click.stopPropagation();
              takeOut.act(event);
            }}
          >
            <Icon name={takeOut.icon} />
            <span class="w">{takeOut.label}</span>
            {isCurrent && <kbd>{takeOut.key}</kbd>}
          </button>
        </span>
      </div>
      {isOpen && (
        <div class="open" role="row" aria-level={2} data-log={event.log} data-class={event.class ?? undefined}>
          <div role="gridcell">{children()}</div>
        </div>
      )}
    </>
  );
}

const MOVED_PX = 3;
