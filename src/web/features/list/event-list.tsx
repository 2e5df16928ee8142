import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { readQuery } from "../../parts/query/compose.ts";
import { searchActions } from "../../state/actions/search-actions.ts";
import { OpenedEvent, loadOpenEvent } from "../../parts/event/opened-event.tsx";
import { shortcut } from "../../parts/keys/table.ts";
import { formatNumber } from "../../parts/text/numbers.ts";
import { usePreload } from "../../parts/controls/lazy.tsx";
import type { Run, Search } from "../../state/search.ts";
import type { HoldReason, ListControl } from "../../parts/list/control.ts";
import { List } from "../../parts/list/list.tsx";
import type { Following } from "../../parts/list/following.ts";
import { bindListKeys } from "../../parts/event/list-keys.ts";
import { useRowAppearance, useEventFormats } from "../../state/row-appearance.ts";
import { useCellMenu } from "../../parts/event/use-cell-menu.tsx";
import { useOpenInAddress } from "./open-in-address.ts";
import { useRowInAddress } from "./row-in-address.ts";
import type { Results } from "../../state/results.ts";
import { rowById } from "../../parts/rows/row-source.ts";
import type { RowSource } from "../../parts/rows/row-source.ts";
import { clockFrom, formatsOfZone } from "../../parts/time/moments.ts";

type EventListProperties = {
  readonly app: App;
  readonly search: Search;
  readonly results: Results;
  readonly run: Run;
  readonly source: RowSource;
  readonly end: JSX.Element;
  readonly live?: Following;
};

/** A list of events with the actions on them. */
export function EventList({ app, search, results, run, source, end, live }: EventListProperties): JSX.Element {
  const control = useRef<ListControl | null>(null);
  const actions = useMemo(() => searchActions({ app, search, results, bookmarks: results.bookmarks }), []);
  const found = useRowAppearance(app, results, run);
  // Rows of a tail are in order of acceptance, so the first row's day does not apply to others.
  const appearance = useMemo(
    () => (live === undefined ? found : { ...found, clock: clockFrom(run.moments.to, formatsOfZone(run.zone)) }),
    [found],
  );
  const formats = useEventFormats(app, results, run);
  // Loads the code before the first event is opened.
  usePreload(loadOpenEvent);
  useOpenInAddress({ app, results, run, source, control });
  const scrolled = useRowInAddress(app, control);
  useLayoutEffect(
    () => bindListKeys(app.shortcuts, () => control.current, { actions, rowOf: (id) => rowById(source, id) }),
    [source],
  );
  const total = useComputed(() => (source.isComplete.value ? source.length.value : null));
  const openEvent = (id: string) => (
    <OpenedEvent id={id} states={results.states} source={source} actions={actions} formats={formats} />
  );
  const growsAtTop = run.order === "desc";
  const turn = () => {
    search.order.value = growsAtTop ? "asc" : "desc";
    search.start();
  };
  // The query's own SORT takes precedence, so a button would have no effect.
  const isSorted = useMemo(() => readQuery(run.query)?.clauses.has("sort") === true, [run.query]);
  useLayoutEffect(() => {
    const press = () => document.querySelector<HTMLElement>("#list > .head .cols button")?.click();
    return app.shortcuts.bind([
      shortcut("search", "columns", press),
      ...(isSorted ? [] : [shortcut("search", "order", turn)]),
    ]);
  }, [growsAtTop, isSorted]);
  const menu = useCellMenu({ app, source, control, columns: appearance.columns, actions, formats });
  return (
    <>
      <List
        source={source}
        appearance={appearance}
        order={run.order}
        onOrder={isSorted ? null : turn}
        onColumns={(next) => results.setColumns(next)}
        readFields={() => results.readFields()}
        day={formats.day}
        label={`Events, ${growsAtTop ? "newest first" : "oldest first"}`}
        total={total.value}
        opened={results.opened}
        openEvent={openEvent}
        start={results.memory}
        onControl={(made) => {
          if (made === null) results.leave(control.current);
          control.current = results.control = made;
          if (made === null || results.contextOf === null) return;
          made.takeFocus(results.contextOf);
          results.contextOf = results.contextTop = null;
        }}
        onPartEnd={() => app.toaster.show(partEndText(source, isSorted ? null : run.order))}
        onMenu={menu.show}
        onHold={(reason) => {
          if (reason === "scrolled") scrolled();
        }}
        {...(live !== undefined && {
          onRelease: live.release,
          follow: live.follow,
          gaps: live.gaps,
          onHold: (reason: HoldReason) => {
            const view = control.current?.view;
            const isAtEnd = (growsAtTop ? view?.isAtTop : view?.isAtBottom) === true;
            if (reason !== "scrolled" || !isAtEnd) live.hold(reason);
          },
        })}
        end={end}
      />
      {menu.element}
    </>
  );
}

/** Returns the message at the last loaded row. @param order null if it can't be reversed */
function partEndText({ length }: RowSource, order: Run["order"] | null): string {
  const further = "more follow as you go on";
  const formats = `Event ${formatNumber(length.peek())} is the last one loaded; ${further}`;
  if (order === null) return formats;
  return `${formats}. Press o to begin at the ${order === "desc" ? "oldest" : "newest"}`;
}
