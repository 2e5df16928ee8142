import { effect, useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { faultMessage } from "../../parts/api/client.ts";
import type { EventRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { searchActions } from "../../state/actions/search-actions.ts";
import { shortcut } from "../../parts/keys/table.ts";
import type { ListControl } from "../../parts/list/control.ts";
import { List } from "../../parts/list/list.tsx";
import { bindListKeys } from "../../parts/event/list-keys.ts";
import { GoneEvent, isGone } from "../../state/faults/gone-event.tsx";
import { ListFault } from "../../state/faults/list-fault.tsx";
import { ListOutline } from "../../parts/list/list-states.tsx";
import { useRowAppearance, useEventFormats } from "../../state/row-appearance.ts";
import { useCellMenu } from "../../parts/event/use-cell-menu.tsx";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { pageReaderOfRun } from "../../state/read-page.ts";
import { OpenedEvent } from "../../parts/event/opened-event.tsx";
import { rowById } from "../../parts/rows/row-source.ts";
import type { Results } from "../../state/results.ts";
import { rowOfRecord } from "../../parts/rows/row.ts";
import type { ListedEvent } from "../../parts/rows/row.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { formatNumber } from "../../parts/text/numbers.ts";
import type { Search } from "../../state/search.ts";
import { Matching } from "./matching.ts";
import { Neighbours } from "./neighbours.ts";
import "../../css/event.css";
import { visibleText } from "../../parts/text/visible-text.ts";

type ContextProperties = { readonly app: App; readonly search: Search; readonly results: Results };

/** Shows an event among its neighbours, regardless of the query, which is kept for going back. */
export function ContextView({ app, search, results }: ContextProperties): JSX.Element {
  const { part: id, parameters } = app.location.place.value;
  const source = parameters.get("source") ?? null;
  const run = search.run.value;
  const rows = useMemo(() => neighboursOf(app, search, id, source), [id, source, run.order]);
  const start = useRef<number | null>(null);
  useEffect(() => {
    void rows.begin().catch(() => undefined);
    return () => rows.close();
  }, [rows]);
  useEffect(() => void (results.contextOf = id), []);
  const event = useComputed(() => (rows.version.value, rowById(rows, id)));
  const isHere = useComputed(() => rows.length.value > 0);
  const back = (): void => goBack(app, results);
  useLayoutEffect(() => {
    return app.shortcuts.bind([shortcut("context", "back", back)]);
  }, []);
  start.current ??= results.contextTop;
  const common = { app, search, results, rows, id };
  return (
    <>
      <ContextLine {...common} event={event.value} source={source} onBack={back} />
      {!isHere.value && rows.fault.value !== null && <ContextFault {...common} onBack={back} />}
      {!isHere.value && rows.fault.value === null && <ListOutline />}
      {isHere.value && <ContextList key={source} {...common} screenTop={start.current} />}
    </>
  );
}

type FaultProperties = ContextProperties & {
  readonly rows: Neighbours;
  readonly id: string;
  readonly onBack: () => void;
};

/** Explains why no neighbours are shown. */
function ContextFault({ app, search, rows, id, onBack }: FaultProperties): JSX.Element {
  const fault = rows.fault.value;
  if (isGone(fault)) return <GoneEvent app={app} search={search} id={id} />;
  return (
    <ListFault
      app={app}
      search={search}
      fault={fault}
      isAsking={rows.isBeginning.value}
      loaded_ms={null}
      onRetry={() => rows.retry()}
      onCancel={onBack}
    />
  );
}

type LineProperties = ContextProperties & {
  readonly event: ListedEvent | undefined;
  readonly source: string | null;
  readonly onBack: () => void;
};

function ContextLine({ app, search, results, event, source, onBack }: LineProperties): JSX.Element {
  const { zone } = search.run.value;
  const { location } = app;
  const clock = useMemo(() => formatsOfZone(zone).time, [zone]);
  const actions = useMemo(() => searchActions({ app, search, results, bookmarks: results.bookmarks }), []);
  const rows = results.shown.value?.rows;
  const count = rows?.isComplete.value === true ? `${formatNumber(rows.length.value)} events` : "the list";
  const setSource = (next: string | null): void => location.note({ source: next });
  return (
    <div class="found wraps">
      <h1 id="found">{event === undefined ? "Around an event" : `Around ${clock(event.created)}`}</h1>
      <span class="note">
        {source === null ? `all events of ${search.log}` : `events of ${search.log} from ${visibleText(source)}`}; those
        that match the query are in full ink
      </span>
      <span class="space" />
      {event !== undefined && event.source !== "" && (
        <button
          class="btn small"
          type="button"
          aria-pressed={source !== null}
          onClick={() => setSource(source === null ? event.source : null)}
        >
          Only {event.source}
        </button>
      )}
      {event !== undefined && (
        <button class="quiet hide-small" type="button" onClick={() => actions.copyLink(event)}>
          <Icon name="link" />
          Copy link
        </button>
      )}
      <button class="btn small" type="button" onClick={onBack}>
        Back to {count} <kbd>Esc</kbd>
      </button>
    </div>
  );
}

/** Offset from the upper edge of an event opened by a link, in pixels: eight rows. */
const FROM_LINK = 208;

type ListOfContext = ContextProperties & {
  readonly rows: Neighbours;
  readonly id: string;
  readonly screenTop: number | null;
};

function ContextList({ app, search, results, rows, id, screenTop }: ListOfContext): JSX.Element {
  const run = search.run.value;
  const control = useRef<ListControl | null>(null);
  const opened = useSignal<ReadonlySet<string>>(new Set(results.contextOpen === id ? [id] : []));
  const matching = useMatching(app, search, rows);
  const cssClasses = useMemo(
    () => (row: ListedEvent) => [
      ...(row.id === id ? ["at"] : []),
      ...(matching.finds(row.id, row.created) ? [] : ["dim"]),
    ],
    [id, matching],
  );
  const appearance = useRowAppearance(app, results, run, cssClasses);
  const formats = useEventFormats(app, results, run);
  const actions = useMemo(
    () => ({ ...searchActions({ app, search, results, bookmarks: results.bookmarks }), context: null }),
    [],
  );
  const openEvent = (row: string) => (
    <OpenedEvent id={row} states={results.states} source={rows} actions={actions} formats={formats} />
  );
  useLayoutEffect(() => {
    return bindListKeys(app.shortcuts, () => control.current, { actions, rowOf: (name) => rowById(rows, name) });
  }, [rows]);
  const menu = useCellMenu({ app, source: rows, control, columns: appearance.columns, actions, formats });
  return (
    <>
      <List
        source={rows}
        appearance={appearance}
        order={run.order}
        onOrder={null}
        onColumns={(next) => results.setColumns(next)}
        readFields={() => results.readFields()}
        day={formats.day}
        label={`Events around ${formats.moment(rowById(rows, id)?.created ?? 0)}`}
        total={null}
        opened={opened}
        openEvent={openEvent}
        onControl={(made) => {
          control.current = made;
          if (made === null) return;
          const offset = screenTop === null ? FROM_LINK : made.view.offsetAt(screenTop);
          made.view.restore({ place: { id, offset }, extras: new Map() });
          made.takeFocus(id);
        }}
        onMenu={menu.show}
        end={<EndOfContext rows={rows} order={run.order} />}
      />
      {menu.element}
    </>
  );
}

function EndOfContext({ rows, order }: { readonly rows: Neighbours; readonly order: "asc" | "desc" }): JSX.Element {
  const fault = rows.fault.value;
  const further = order === "desc" ? "earlier" : "later";
  if (fault !== null) {
    return (
      <span role="alert">
        {`More events could not be loaded: ${faultMessage(fault)}. `}
        <button class="link" type="button" onClick={() => rows.retry()}>
          Try again
        </button>
      </span>
    );
  }
  return <span>{rows.isComplete.value ? `There are no ${further} events.` : `Loading ${further} events…`}</span>;
}

/** Determines which rows the query matches; the value changes as more is known. */
function useMatching(app: App, search: Search, rows: Neighbours): Pick<Matching, "finds"> {
  const state = useSignal<Pick<Matching, "finds">>({ finds: () => true });
  const { query } = search.run.value;
  useEffect(() => {
    const abort = new AbortController();
    const matching = readableMatching(app, search, abort.signal);
    if (matching === null) return undefined;
    const stop = effect(() => {
      const count = rows.length.value;
      const ends = [rows.at(0), rows.at(count - 1)].flatMap((row) => row?.created ?? []);
      if (ends.length === 0) return;
      const reached = matching.reach({ from: Math.min(...ends), to: Math.max(...ends) + 1 });
      // If the check fails, no row is dimmed.
      reached.then(
        (isNew) => isNew && (state.value = { finds: (id, created) => matching.finds(id, created) }),
        () => undefined,
      );
    });
    return () => {
      stop();
      abort.abort();
    };
  }, [query, rows]);
  return state.value;
}

function readableMatching({ client }: App, search: Search, signal: AbortSignal): Matching | null {
  const run = search.run.peek();
  try {
    return new Matching(run.query, pageReaderOfRun(client, { ...run, signal }), signal);
  } catch {
    return null;
  }
}

function neighboursOf({ client }: App, search: Search, id: string, source: string | null): Neighbours {
  return new Neighbours({
    id,
    order: search.run.peek().order,
    read: async (event, { before, after }, signal) => {
      const path = `/1/logs/${search.log}/events/${event}/context`;
      const query = { before, after, attributes: true, ...(source !== null && { source }) };
      const { body } = await client.request<readonly EventRecord[]>(path, { query, signal });
      return body.map(rowOfRecord);
    },
  });
}

/** Goes back to the list that the reader came from, else to that of the address's query. */
function goBack({ location }: App, results: Results): void {
  if (results.contextTop !== null) {
    results.contextTop = null;
    window.history.back();
    return;
  }
  const parameters = new Map(location.place.peek().parameters);
  parameters.delete("source");
  location.go({ screen: "search", part: "", parameters });
}
