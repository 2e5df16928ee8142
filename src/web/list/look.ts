import { useMemo } from "preact/hooks";

import { parseQuery } from "../../query/parser.ts";
import type { EventWords } from "../event/event-acts.ts";
import type { Run } from "../state/search.ts";
import { NO_NEEDLES, needlesOf } from "./highlight.ts";
import type { Needles } from "./highlight.ts";
import { formatsOf } from "../time/moments.ts";
import type { Results } from "./results.ts";
import type { RowLook } from "./row-view.ts";
import type { EventRow } from "./row.ts";

const NO_MARKS = (): readonly string[] => [];

/** How the rows of a run look. Rows are drawn anew where it is another one. */
export function useLook(
  { columns, bookmarks }: Pick<Results, "columns" | "bookmarks">,
  { query, zone }: Pick<Run, "query" | "zone">,
  marksOf: (row: EventRow) => readonly string[] = NO_MARKS,
): RowLook {
  const chosen = columns.value;
  const marks = bookmarks.version.value;
  return useMemo(
    () => ({
      columns: chosen,
      needles: readNeedles(query),
      clock: formatsOf(zone).time,
      className: nameOfClass,
      isBookmarked: bookmarks.has,
      marksOf,
    }),
    [chosen, marks, query, zone, marksOf],
  );
}

/** How the events of a run are worded. */
export function useWords({ bookmarks }: Pick<Results, "bookmarks">, { query, zone }: Pick<Run, "query" | "zone">) {
  return useMemo((): EventWords & { readonly day: (ms: number) => string } => {
    const { whole, day } = formatsOf(zone);
    return { moment: whole, day, className: nameOfClass, needles: readNeedles(query), changes: bookmarks.version };
  }, [query, zone]);
}

function readNeedles(query: string): Needles {
  try {
    return needlesOf(parseQuery(query));
  } catch {
    return NO_NEEDLES;
  }
}

/** A class by its key, until the log's own names are known: `payment-failed` is Payment failed. */
function nameOfClass(key: string): string {
  const words = key.replaceAll("-", " ");
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}
