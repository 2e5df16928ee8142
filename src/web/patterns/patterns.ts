import { readAsk, withCondition } from "../ask/compose.ts";
import { eventsOf, within } from "../ask/groups.ts";
import { writeString } from "../ask/print.ts";
import type { Moments } from "../ask/range.ts";
import type { Step } from "../ask/steps.ts";

/** The most frequent ones; the count above the list says how many there are. */
export const MOST_PATTERNS = 200;
/** Of 4,096 characters that a query may have, what is left beside the patterns. */
const MOST_CHARACTERS = 3_000;

/** The queries behind the list of patterns; null where the query has a fault. */
export function patternQueries(text: string, moments: Moments, zone: string) {
  const events = eventsOf(text);
  if (events === null) return null;
  return {
    patterns: within(
      events,
      [
        ["groupBy", "GROUPBY pattern"],
        ["columns", "COLUMNS(KEY, COUNT, LAST(class) AS class)"],
        ["sort", "SORT COUNT DESC"],
        ["take", `TAKE ${MOST_PATTERNS}`],
      ],
      moments,
      zone,
    ),
    total: within(events, [["columns", "COLUMNS(DISTINCT(pattern) AS patterns)"]], moments, zone),
  };
}

/** The query for the courses of the first of these patterns, as many as one query has room for. */
export function courseQuery(
  text: string,
  patterns: readonly string[],
  step: Step,
  moments: Moments,
  zone: string,
): string | null {
  const events = eventsOf(text);
  let room = MOST_CHARACTERS - text.length;
  const named: string[] = [];
  for (const pattern of patterns) {
    const written = writeString(pattern);
    room -= written.length + 2;
    if (room < 0) break;
    named.push(written);
  }
  const some =
    events === null || named.length === 0 ? null : readAsk(withCondition(events, `pattern IN (${named.join(", ")})`));
  if (some === null) return null;
  return within(
    some,
    [
      ["groupBy", `GROUPBY pattern, ${step.key}`],
      ["columns", "COLUMNS(KEY, COUNT)"],
    ],
    moments,
    zone,
  );
}

/** A pattern in pieces: what varies stands between `<` and `>`. */
export function piecesOfPattern(pattern: string): readonly { readonly text: string; readonly varies: boolean }[] {
  return pattern
    .split(/(<(?:n|hex|uuid|ip|time|str)>)/)
    .filter((text) => text !== "")
    .map((text) => ({ text, varies: /^<\w+>$/.test(text) }));
}
