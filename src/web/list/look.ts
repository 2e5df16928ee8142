import { useMemo } from "preact/hooks";

import { parseQuery } from "../../query/parser.ts";
import type { App } from "../app.ts";
import type { EventWords } from "../event/event-actions.ts";
import type { Run } from "../state/search.ts";
import { NO_NEEDLES, needlesOf } from "./highlight.ts";
import type { Needles } from "./highlight.ts";
import { formatsOf } from "../time/moments.ts";
import type { Results } from "./results.ts";
import type { RowLook } from "./row-view.ts";
import type { EventRow } from "./row.ts";

const NO_MARKS = (): readonly string[] => [];

/** Returns the look of a run's rows. A new look redraws the rows. */
export function useLook(
  { classes }: Pick<App, "classes">,
  { columns, bookmarks }: Pick<Results, "columns" | "bookmarks">,
  { query, zone, log }: Pick<Run, "query" | "zone" | "log">,
  marksOf: (row: EventRow) => readonly string[] = NO_MARKS,
): RowLook {
  const chosen = columns.value;
  const marks = bookmarks.version.value;
  const book = classes.byLog.value;
  return useMemo(
    () => ({
      columns: chosen,
      needles: readNeedles(query),
      clock: formatsOf(zone).time,
      className: (key) => classes.nameOf(log, key),
      isBookmarked: bookmarks.has,
      marksOf,
    }),
    [chosen, marks, book, query, zone, marksOf],
  );
}

/** Returns the formats for a run's events. */
export function useWords(
  { classes }: Pick<App, "classes">,
  { bookmarks }: Pick<Results, "bookmarks">,
  { query, zone, log }: Pick<Run, "query" | "zone" | "log">,
) {
  const book = classes.byLog.value;
  return useMemo((): EventWords & { readonly day: (ms: number) => string } => {
    const { whole, day } = formatsOf(zone);
    const className = (key: string): string => classes.nameOf(log, key);
    return { moment: whole, day, className, needles: readNeedles(query), changes: bookmarks.version };
  }, [book, query, zone]);
}

function readNeedles(query: string): Needles {
  try {
    return needlesOf(parseQuery(query));
  } catch {
    return NO_NEEDLES;
  }
}
