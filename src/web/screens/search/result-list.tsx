import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { ListStateProperties } from "../../features/list/list-state.tsx";
import { useWait } from "../../parts/controls/use-wait.ts";
import type { LiveViewProperties } from "../../features/live/live-view.tsx";
import { isLive } from "../../state/live/switch.ts";
import { lazy, usePreload } from "../../parts/controls/lazy.tsx";
import { EndOfList } from "../../parts/list/end-of-list.tsx";
import { EventList } from "../../features/list/event-list.tsx";
import { ListOutline } from "../../parts/list/list-states.tsx";
import type { ResultListProperties } from "../../state/results.ts";

const LiveView = lazy<LiveViewProperties>(async () => (await import("../../features/live/live-view.tsx")).LiveView);
const loadListState = async () => (await import("../../features/list/list-state.tsx")).ListState;
const ListState = lazy<ListStateProperties>(loadListState);

/**
 * Shows the events of the last run, or of a tail. They stay while another run is loading, and if it
 * fails.
 */
export function ResultList({ app, search, results }: ResultListProperties): JSX.Element {
  const run = search.run.value;
  const isTail = isLive(app);
  useEffect(() => {
    const isAhead = results.takeAhead(run);
    // After returning from a context, the previous rows are still there.
    const isShown = results.shown.peek()?.run === run;
    if (!isTail) results.endTail();
    if (!isTail && !isAhead && !isShown) void results.begin(run);
  }, [run, isTail]);
  // It can't be loaded any more once the service is unreachable.
  usePreload(loadListState);
  const shown = results.shown.value;
  const fault = results.fault.value;
  const isAsking = results.isAsking.value && !search.isCancelled.value;
  const stage = useWait(isAsking, run);
  const common = { app, search, results };
  if (isTail) {
    return (
      <LiveView
        key={run.number}
        {...common}
        renderList={(live, following, end) => (
          <EventList {...common} run={live.run} source={live.rows} live={following} end={end} />
        )}
      />
    );
  }
  const isEmpty = shown !== null && shown.rows.isComplete.value && shown.rows.length.value === 0;
  const isSlow = stage > 1;
  const hasRows = shown !== null && !isEmpty;
  const state = (fault !== null || isSlow || isEmpty || results.missing.value !== null) && (
    <ListState {...common} isAsking={isAsking} isSlow={isSlow} isEmpty={isEmpty} />
  );
  return (
    <>
      {stage > 0 && <div class="progress line" role="progressbar" aria-label="Searching" />}
      {!hasRows && state}
      {shown === null && fault === null && stage > 0 && <ListOutline />}
      {hasRows && (
        <EventList
          {...common}
          run={shown.run}
          source={shown.rows}
          end={<EndOfList source={shown.rows} order={shown.run.order} isPart={shown.rows.isPart} />}
        />
      )}
      {/* Above the rows, it would push them away from the reader. */}
      {hasRows && state !== false && <div class="foot">{state}</div>}
    </>
  );
}
