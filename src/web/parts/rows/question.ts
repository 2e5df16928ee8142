import { parseQuery } from "../../../query/parser.ts";
import { clauseText, momentInLql, textWithoutClauses } from "../query/clauses.ts";
import { queryPieces } from "../query/pieces.ts";
import { fieldName } from "../query/print.ts";
import type { Moments } from "../query/range.ts";
import type { ListedEvent } from "./row.ts";

/** Order of a list by time: oldest or newest first. */
export type TimeOrder = "asc" | "desc";

/** A query for events, split so that its pages can be requested. */
export type ListQuestion = {
  /** The query without the clauses that define a page. */
  readonly base: string;
  /** null if the query has its own range. */
  readonly range: Moments | null;
  /** SORT as written in the query; null for the order of time. */
  readonly ownSort: string | null;
  readonly order: TimeOrder;
  /** Number of records that the query asks for; null for all. */
  readonly take: number | null;
  /** Number of records that the query skips before them. */
  readonly skip: number;
};

/**
 * Splits a query. Its own range and SORT take precedence over the chosen ones.
 *
 * @throws the parser's error
 */
export function listQuestion(text: string, range: Moments, order: TimeOrder): ListQuestion {
  const { clauses } = parseQuery(text);
  const { sort } = clauses;
  const isByTime = sort === null || (sort.key.kind === "name" && sort.key.name.text.toLowerCase() === "created");
  return {
    // A row holds all fields, and its id and time say where the next page begins.
    base: textWithoutClauses(text, ["sort", "take", "skip", "columns"]),
    range: clauses.occurs === null ? range : null,
    ownSort: isByTime ? null : clauseText(text, "sort"),
    order: isByTime && sort !== null ? sort.direction : order,
    take: clauses.take?.value ?? null,
    skip: clauses.skip?.value ?? 0,
  };
}

/** Returns the names in the COLUMNS of a query for events, in its order. */
export function namesOfColumns(text: string): readonly string[] {
  const columns = queryPieces(text)?.query.clauses.columns ?? [];
  return columns.flatMap(({ of }) => (of.kind === "name" ? fieldName(of.name.text) : []));
}

/** The position of the next page. */
export type ListCursor = {
  readonly range: Moments | null;
  readonly skip: number;
};

export function firstCursor({ range, skip }: ListQuestion): ListCursor {
  return { range, skip };
}

/**
 * Returns the cursor after a row. Pages continue at the time of the last row, so that every page is
 * equally fast to read; rows of that time that were already read are skipped.
 *
 * @param tied number of rows read so far with the time of the last row, including it
 * @param read number of rows read so far
 */
export function cursorBehind(question: ListQuestion, last: ListedEvent, tied: number, read: number): ListCursor {
  if (question.range === null || question.ownSort !== null)
    return { range: question.range, skip: question.skip + read };
  const { from, to } = question.range;
  const isDescending = question.order === "desc";
  return {
    range: isDescending ? { from, to: last.created + 1 } : { from: last.created, to },
    skip: tied === read ? question.skip + tied : tied,
  };
}

/** Returns the query for one page. */
export function pageQuery(question: ListQuestion, { range, skip }: ListCursor, take: number): string {
  const clauses = [
    ...(range === null ? [] : [`OCCURS(${momentInLql(range.from)}, ${momentInLql(range.to)})`]),
    question.ownSort ?? `SORT created ${question.order.toUpperCase()}`,
    ...(skip === 0 ? [] : [`SKIP ${skip}`]),
    `TAKE ${take}`,
  ];
  // The query may end with a comment, so the clauses start on a new line.
  return `${question.base}\n${clauses.join(" ")}`;
}
