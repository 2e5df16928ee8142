import { useMemo } from "preact/hooks";

import { parseQuery } from "../../query/parser.ts";
import type { App } from "./app.ts";
import type { EventFormats } from "../parts/event/event-actions.ts";
import type { Run } from "./search.ts";
import { NO_NEEDLES, needlesOfQuery } from "../parts/text/highlight.ts";
import type { Needles } from "../parts/text/highlight.ts";
import { formatsOfZone } from "../parts/time/moments.ts";
import type { Results } from "./results.ts";
import type { RowAppearance } from "../parts/list/row-view.ts";
import type { ListedEvent } from "../parts/rows/row.ts";

const NO_CLASSES = (): readonly string[] => [];

/** Returns the appearance of a run's rows. A new one redraws the rows. */
export function useRowAppearance(
  { classes }: Pick<App, "classes">,
  { columns, bookmarks }: Pick<Results, "columns" | "bookmarks">,
  { query, zone, log }: Pick<Run, "query" | "zone" | "log">,
  cssClasses: (row: ListedEvent) => readonly string[] = NO_CLASSES,
): RowAppearance {
  const chosen = columns.value;
  const changes = bookmarks.version.value;
  const byLog = classes.byLog.value;
  return useMemo(
    () => ({
      columns: chosen,
      needles: readNeedles(query),
      clock: formatsOfZone(zone).time,
      className: (key) => classes.nameOf(log, key),
      isBookmarked: bookmarks.has,
      cssClasses,
    }),
    [chosen, changes, byLog, query, zone, cssClasses],
  );
}

/** Returns the formats for a run's events. */
export function useEventFormats(
  { classes }: Pick<App, "classes">,
  { bookmarks }: Pick<Results, "bookmarks">,
  { query, zone, log }: Pick<Run, "query" | "zone" | "log">,
) {
  const byLog = classes.byLog.value;
  return useMemo((): EventFormats & { readonly day: (ms: number) => string } => {
    const { whole, day } = formatsOfZone(zone);
    const className = (key: string): string => classes.nameOf(log, key);
    return { moment: whole, day, className, needles: readNeedles(query), changes: bookmarks.version };
  }, [byLog, query, zone]);
}

function readNeedles(query: string): Needles {
  try {
    return needlesOfQuery(parseQuery(query));
  } catch {
    return NO_NEEDLES;
  }
}
