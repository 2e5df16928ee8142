import { readQuery, withCondition } from "../../parts/query/compose.ts";
import { eventsQuery, queryWithin } from "../../parts/query/groups.ts";
import type { GroupRecord } from "../../parts/query/groups.ts";
import { writeString } from "../../parts/query/print.ts";
import type { Moments } from "../../parts/query/range.ts";
import type { QueryStep } from "../../parts/query/steps.ts";
import { countWithNoun } from "../../parts/text/numbers.ts";

/** Most patterns listed; the count above the list gives their total. */
export const MOST_PATTERNS = 200;
/** Most characters of query text and patterns together; a query may have 4,096. */
export const MOST_CHARACTERS = 3_000;

/** Returns the queries of the list of patterns; null if the query has a fault. */
export function patternQueries(text: string, moments: Moments, zone: string) {
  const events = eventsQuery(text);
  if (events === null) return null;
  return {
    patterns: queryWithin(
      events,
      [
        ["groupBy", "GROUPBY pattern"],
        [
          "columns",
          "COLUMNS(KEY, COUNT, LAST(class) AS class, COUNT(class IS NOT NULL) AS classed, DISTINCT(class) AS classes)",
        ],
        ["sort", "SORT COUNT DESC"],
        ["take", `TAKE ${MOST_PATTERNS}`],
      ],
      moments,
      zone,
    ),
    total: queryWithin(events, [["columns", "COLUMNS(DISTINCT(pattern) AS patterns)"]], moments, zone),
  };
}

/** A pattern with the number of its events, and of those with a class. */
export type PatternRow = {
  readonly pattern: string;
  readonly count: number;
  /** One of its classes, the only one if `classes` is 1; "" if no event has a class. */
  readonly class: string;
  readonly classed: number;
  readonly classes: number;
};

/** Converts a record to a row of the list. */
export function patternRow(record: GroupRecord): PatternRow {
  const { key, count, class: name, classed, classes } = record;
  return {
    pattern: key,
    count: Number(count),
    class: typeof name === "string" ? name : "",
    classed: Number(classed),
    classes: Number(classes),
  };
}

/** Describes the classes of a pattern, with the share of classified events; "" without any. */
export function classText(row: PatternRow, nameOf: (key: string) => string): string {
  if (row.classed === 0) return "";
  const name = row.classes > 1 ? countWithNoun(row.classes, "class", "classes") : nameOf(row.class);
  if (row.classed >= row.count) return name;
  const percent = Math.floor((100 * row.classed) / row.count);
  return `${name}, ${percent === 0 ? "under 1" : percent} %`;
}

/** Returns the query for the series of the first patterns, as many as one query can hold. */
export function courseQuery(
  text: string,
  patterns: readonly string[],
  step: QueryStep,
  moments: Moments,
  zone: string,
): string | null {
  const events = eventsQuery(text);
  let room = MOST_CHARACTERS - text.length;
  const named: string[] = [];
  for (const pattern of patterns) {
    const written = writeString(pattern);
    // A longer one leaves its room to those behind it.
    if (written.length + 2 > room) continue;
    room -= written.length + 2;
    named.push(written);
  }
  const some =
    events === null || named.length === 0 ? null : readQuery(withCondition(events, `pattern IN (${named.join(", ")})`));
  if (some === null) return null;
  return queryWithin(
    some,
    [
      ["groupBy", `GROUPBY pattern, ${step.key}`],
      ["columns", "COLUMNS(KEY, COUNT)"],
    ],
    moments,
    zone,
  );
}

/** Splits a pattern into pieces; placeholders stand between `<` and `>`. */
export function piecesOfPattern(pattern: string): readonly { readonly text: string; readonly varies: boolean }[] {
  return pattern
    .split(/(<(?:n|hex|uuid|ip|time|str)>)/)
    .filter((text) => text !== "")
    .map((text) => ({ text, varies: /^<\w+>$/.test(text) }));
}
