import type { Band } from "./choices.ts";
import { readQuery, ungrouped, withClauses } from "./compose.ts";
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
  const events = found === null ? null : readQuery(ungrouped(found));
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
export function withKey(ask: EditableQuery): EditableQuery {
  const { groupBy, columns } = ask.query.clauses;
  const span = ask.clauses.get("columns");
  const isNamed = columns?.some(({ of, as }) => as === null && of.kind === "name" && /^key$/i.test(of.name.text));
  if (groupBy === null || span === undefined || isNamed === true) return ask;
  const closing = span.end - 1;
  return readQuery(`${ask.text.slice(0, closing)}, KEY${ask.text.slice(closing)}`) ?? ask;
}

/** Adds clauses to a query, and a range unless it has its own. */
export function within(
  ask: EditableQuery,
  clauses: Parameters<typeof withClauses>[1],
  moments: Moments,
  zone: string,
): string {
  const text = withClauses(ask, clauses);
  const asked = readQuery(text);
  return asked === null ? text : withRange(asked, moments, zone);
}

/** Parses the key of a band, such as `10..100`; null for "" (absent). */
export function bandOfKey(key: string): Band | null {
  if (key === "") return null;
  const [from = "", to = ""] = key.split("..");
  return { from: from === "" ? null : Number(from), to: to === "" ? null : Number(to) };
}
