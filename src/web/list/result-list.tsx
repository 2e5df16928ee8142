import { useComputed } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";

import type { App } from "../app.ts";
import { searchActs } from "../event/acts.ts";
import type { EventActs, EventWords } from "../event/event-acts.ts";
import { OpenEvent } from "../event/open-event.tsx";
import { EndOfTail } from "../live/end-of-tail.tsx";
import { GapNote } from "../live/gap-note.tsx";
import { LiveBar } from "../live/live-bar.tsx";
import type { Live } from "../live/live.ts";
import type { Run, Search } from "../state/search.ts";
import type { Hold, ListControl } from "./control.ts";
import { EndOfList } from "./end-of-list.tsx";
import { List } from "./list.tsx";
import { bindListKeys } from "./list-keys.ts";
import { ListFault, Outline } from "./list-states.tsx";
import { useLook, useWords } from "./look.ts";
import { momentsIn } from "./moments.ts";
import { useOpenInAddress } from "./open-in-address.ts";
import type { Results } from "./results.ts";
import type { RowSource } from "./row-source.ts";
import type { EventRow } from "./row.ts";

type ResultListProperties = { readonly app: App; readonly search: Search; readonly results: Results };

/** The events that the last run found, or those of a tail. While another run is asked, and where it fails, they stay. */
export function ResultList({ app, search, results }: ResultListProperties): JSX.Element {
  const run = search.run.value;
  const isLive = app.location.place.value.parameters.get("live") === "1";
  useEffect(() => (isLive ? results.followLive(run) : void results.begin(run)), [run, isLive]);
  const shown = results.shown.value;
  const live = results.live.value;
  const fault = results.fault.value;
  const common = { app, search, results };
  if (live !== null) return <LiveList key={live.run.number} {...common} live={live} />;
  return (
    <>
      {fault !== null && <ListFault fault={fault} onRetry={() => void results.begin(search.run.peek())} />}
      {shown === null && fault === null && <Outline />}
      {shown !== null && (
        <EventList
          {...common}
          run={shown.run}
          source={shown.rows}
          end={<EndOfList source={shown.rows} order={shown.run.order} />}
        />
      )}
    </>
  );
}

/** The events of a tail, under the bar that says whether the list follows. */
function LiveList({ app, search, results, live }: ResultListProperties & { readonly live: Live }): JSX.Element {
  const { tail, rows, run } = live;
  const moments = useMemo(() => momentsIn(run.zone), [run.zone]);
  const gaps = useComputed(() => {
    const isDescending = run.order === "desc";
    return new Map(
      rows.skipped.value.map((gap) => [
        isDescending ? gap.before : gap.after,
        () => <GapNote live={live} gap={gap} clock={moments.clock} />,
      ]),
    );
  });
  const toggle = (): void => (tail.pause.peek() === null ? tail.hold("asked") : tail.resume());
  useEffect(() => {
    const label = "Pause or resume the tail";
    return app.shortcuts.bind([{ scope: "With the result", keys: ["p"], label, act: toggle }]);
  }, []);
  return (
    <>
      <LiveBar live={live} onStop={() => stopLive(app, search)} />
      <EventList
        app={app}
        search={search}
        results={results}
        run={run}
        source={rows}
        live={{ follow: live.follow, hold: (reason) => tail.hold(reason), gaps }}
        end={<EndOfTail live={live} />}
      />
    </>
  );
}

/** What a tail adds to a list. */
type Following = {
  readonly follow: Live["follow"];
  readonly hold: (reason: Hold) => void;
  readonly gaps: ReadonlySignal<ReadonlyMap<string, () => JSX.Element>>;
};

type EventListProperties = ResultListProperties & {
  readonly run: Run;
  readonly source: RowSource;
  readonly end: JSX.Element;
  readonly live?: Following;
};

function EventList({ app, search, results, run, source, end, live }: EventListProperties): JSX.Element {
  const control = useRef<ListControl | null>(null);
  const acts = useMemo(() => searchActs({ app, search, results, bookmarks: results.bookmarks }), []);
  const look = useLook(results, run);
  const words = useWords(results, run);
  useOpenInAddress({ app, results, source, control });
  useEffect(
    () => bindListKeys(app.shortcuts, () => control.current, { acts, rowOf: (id) => rowIn(source, id) }),
    [source],
  );
  const total = useComputed(() => (source.isComplete.value ? source.length.value : null));
  const growsAtTop = run.order === "desc";
  return (
    <List
      source={source}
      look={look}
      order={run.order}
      onOrder={() => {
        search.order.value = growsAtTop ? "asc" : "desc";
        search.start();
      }}
      onColumns={(next) => results.setColumns(next)}
      attributes={results.attributes.value}
      day={words.day}
      label={`Events, ${growsAtTop ? "newest first" : "oldest first"}`}
      total={total.value}
      opened={results.opened}
      openEvent={(id) => <Opened id={id} results={results} source={source} acts={acts} words={words} />}
      start={results.memory}
      onControl={(made) => {
        if (made === null) results.leave(control.current);
        control.current = results.control = made;
      }}
      {...(live !== undefined && {
        follow: live.follow,
        gaps: live.gaps,
        onHold: (reason: Hold) => {
          const view = control.current?.view;
          const isAtEnd = (growsAtTop ? view?.isAtTop : view?.isAtBottom) === true;
          if (reason !== "scrolled" || !isAtEnd) live.hold(reason);
        },
      })}
      end={end}
    />
  );
}

type OpenedProperties = {
  readonly id: string;
  readonly results: Results;
  readonly source: RowSource;
  readonly acts: EventActs;
  readonly words: EventWords;
};

/** An open event of a list. */
export function Opened({ id, results, source, acts, words }: OpenedProperties): JSX.Element | null {
  void source.version.value;
  const row = rowIn(source, id);
  return row === undefined ? null : <OpenEvent row={row} state={results.states.of(row)} acts={acts} words={words} />;
}

function rowIn(source: RowSource, id: string): EventRow | undefined {
  return source.at(source.indexOf(id));
}

/** Ends the tail. The list is that of a run again, up to now. */
function stopLive(app: App, search: Search): void {
  const parameters = new Map(app.location.place.peek().parameters);
  parameters.delete("live");
  app.location.go({ parameters });
  search.start();
}
