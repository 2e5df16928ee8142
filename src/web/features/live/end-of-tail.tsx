import type { JSX } from "preact";

import { EndOfList } from "../../parts/list/end-of-list.tsx";
import type { LiveTail } from "../../state/live/live.ts";

/** The last line of a tail's list. Older events are read when the reader scrolls there. */
export function EndOfTail({ live: { rows, run, tail } }: { readonly live: LiveTail }): JSX.Element {
  if (rows.length.value === 0) return <span>Waiting for events that match.</span>;
  if (run.order === "asc") return <span>{tail.pause.value === null ? "New events appear here." : "Paused."}</span>;
  const isReading = tail.pause.value !== null;
  return isReading ? <EndOfList source={rows} order="desc" /> : <span>Scroll on for older events.</span>;
}
