import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { isLive } from "../live/switch.ts";
import { lazy } from "../shell/lazy.tsx";
import { EndOfList } from "./end-of-list.tsx";
import { EventList } from "./event-list.tsx";
import { ListFault, Outline } from "./list-states.tsx";
import type { ResultListProperties } from "./results.ts";

const LiveView = lazy<ResultListProperties>(async () => (await import("../live/live-view.tsx")).LiveView);

/** The events that the last run found, or those of a tail. While another run is asked, and where it fails, they stay. */
export function ResultList({ app, search, results }: ResultListProperties): JSX.Element {
  const run = search.run.value;
  const isTail = isLive(app);
  useEffect(() => {
    if (!isTail && !results.takeAhead(run)) void results.begin(run);
  }, [run, isTail]);
  const shown = results.shown.value;
  const fault = results.fault.value;
  const common = { app, search, results };
  if (isTail) return <LiveView key={run.number} {...common} />;
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
