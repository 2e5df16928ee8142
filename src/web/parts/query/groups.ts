import type { Band } from "./choices.ts";
import { readQuery, ungroupedQuery, withClauses } from "./compose.ts";
import type { EditableQuery } from "./compose.ts";
import { withRange } from "./range.ts";
import type { Moments } from "./range.ts";

/** A record of a grouped response. */
export type GroupRecord = Readonly<Record<string, unknown>> & {
  readonly key: string;
  /** All keys in order, if there are several. */
  readonly keys?: readonly string[];
};

/**
 * Returns the query for the underlying events, without grouping, columns, order and limits; null if
 * it has a fault or asks for users.
 */
export function eventsQuery(text: string): EditableQuery | null {
  const found = readQuery(text);
  const events = found === null ? null : readQuery(ungroupedQuery(found));
  if (events === null || events.query.table.name !== "events") return null;
  return readQuery(
    withClauses(events, [
      ["columns", null],
      ["sort", null],
      ["take", null],
      ["skip", null],
    ]),
  );
}

/** Adds KEY to the columns of a grouped query; without it, rows of different groups look alike. */
export function withKey(parsed: EditableQuery): EditableQuery {
  const { groupBy, columns } = parsed.query.clauses;
  const span = parsed.clauses.get("columns");
  const isNamed = columns?.some(({ of, as }) => as === null && of.kind === "name" && /^key$/i.test(of.name.text));
  if (groupBy === null || span === undefined || isNamed === true) return parsed;
  const closing = span.end - 1;
  return readQuery(`${parsed.text.slice(0, closing)}, KEY${parsed.text.slice(closing)}`) ?? parsed;
}

/** Adds clauses to a query, and a range unless it has its own. */
export function queryWithin(
  parsed: EditableQuery,
  clauses: Parameters<typeof withClauses>[1],
  moments: Moments,
  zone: string,
): string {
  const text = withClauses(parsed, clauses);
  const asked = readQuery(text);
  return asked === null ? text : withRange(asked, moments, zone);
}

/** Parses the key of a band, such as `10..100`; null for "" (absent). */
export function bandOfKey(key: string): Band | null {
  if (key === "") return null;
  const [from = "", to = ""] = key.split("..");
  return { from: from === "" ? null : Number(from), to: to === "" ? null : Number(to) };
}
