import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo } from "preact/hooks";

import { shortcut } from "../../parts/keys/table.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import type { Following } from "../../parts/list/following.ts";
import type { LiveTail } from "../../state/live/live.ts";
import type { ResultListProperties } from "../../state/results.ts";
import { EndOfTail } from "./end-of-tail.tsx";
import { GapNote } from "./gap-note.tsx";
import { LiveBar } from "./live-bar.tsx";
import { createLive } from "../../state/live/live.ts";
import { switchLive } from "../../state/live/switch.ts";
import "../../css/live.css";

export type LiveViewProperties = ResultListProperties & {
  readonly renderList: (live: LiveTail, following: Following, end: JSX.Element) => JSX.Element;
};

/** The events of a tail, below a bar that shows whether the list follows. */
export function LiveView({ app, search, results, renderList }: LiveViewProperties): JSX.Element {
  const live = useMemo(() => {
    const asked = search.run.peek();
    return results.keptTail(asked) ?? createLive(app, asked);
  }, []);
  const { tail, rows, run } = live;
  useEffect(() => results.followed(live, () => app.location.place.peek().screen === "context"), []);
  const moments = useMemo(() => formatsOfZone(run.zone), [run.zone]);
  const gaps = useComputed(() => {
    const isDescending = run.order === "desc";
    return new Map(
      rows.skipped.value.map((gap) => [
        isDescending ? gap.before : gap.after,
        () => <GapNote live={live} gap={gap} clock={moments.time} />,
      ]),
    );
  });
  const toggle = (): void => (tail.pause.peek() === null ? tail.hold("asked") : tail.resume());
  useLayoutEffect(() => {
    return app.shortcuts.bind([shortcut("search", "pause", toggle)]);
  }, []);
  return (
    <>
      <LiveBar live={live} onStop={() => switchLive(app, search, false)} />
      {renderList(
        live,
        { follow: live.follow, hold: (reason) => tail.hold(reason), release: () => tail.release(), gaps },
        <EndOfTail live={live} />,
      )}
    </>
  );
}
