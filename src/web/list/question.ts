import { parseQuery } from "../../query/parser.ts";
import type { Clauses } from "../../query/syntax.ts";
import { readAsk, withCondition as extended } from "../ask/compose.ts";
import { cut, piecesOf } from "../ask/pieces.ts";
import type { EventRow } from "./row.ts";

export type Order = "asc" | "desc";
/** From inclusive, to exclusive, in milliseconds since the Unix epoch. */
export type Moments = { readonly from: number; readonly to: number };

/** A query for events, taken apart so that its pages can be asked for. */
export type ListQuestion = {
  /** The query without the clauses that make a page of it. */
  readonly base: string;
  /** null: the query has a range of its own. */
  readonly range: Moments | null;
  /** SORT as it is written in the query; null: by time. */
  readonly ownSort: string | null;
  readonly order: Order;
  /** Records that the query asks for; null: all. */
  readonly take: number | null;
  /** Records that the query leaves out before them. */
  readonly skip: number;
};

/**
 * Takes a query apart. A range in the query wins over the one that is chosen, and so does its SORT.
 *
 * @throws the parser's fault
 */
export function listQuestion(text: string, range: Moments, order: Order): ListQuestion {
  const { clauses } = parseQuery(text);
  const { sort } = clauses;
  const isByTime = sort === null || (sort.key.kind === "name" && sort.key.name.text.toLowerCase() === "created");
  return {
    base: withoutClauses(text, ["sort", "take", "skip"]),
    range: clauses.occurs === null ? range : null,
    ownSort: isByTime ? null : clauseOf(text, "sort"),
    order: isByTime && sort !== null ? sort.direction : order,
    take: clauses.take?.value ?? null,
    skip: clauses.skip?.value ?? 0,
  };
}

/** Where the next page begins. */
export type Cursor = {
  readonly range: Moments | null;
  readonly skip: number;
};

export function firstCursor({ range, skip }: ListQuestion): Cursor {
  return { range, skip };
}

/**
 * The cursor behind a row. Pages go by the moment of the last row, so that the last one is read as
 * fast as the first; those of that moment that were read already are skipped.
 *
 * @param tied how many of the rows read so far have the moment of the last one, that one included
 * @param read how many rows were read so far
 */
export function cursorBehind(question: ListQuestion, last: EventRow, tied: number, read: number): Cursor {
  if (question.range === null || question.ownSort !== null)
    return { range: question.range, skip: question.skip + read };
  const { from, to } = question.range;
  const isDescending = question.order === "desc";
  return {
    range: isDescending ? { from, to: last.created + 1 } : { from: last.created, to },
    skip: tied === read ? question.skip + tied : tied,
  };
}

/** The query for one page. */
export function pageQuery(question: ListQuestion, { range, skip }: Cursor, take: number): string {
  const clauses = [
    ...(range === null ? [] : [`OCCURS(${momentInLql(range.from)}, ${momentInLql(range.to)})`]),
    question.ownSort ?? `SORT created ${question.order.toUpperCase()}`,
    ...(skip === 0 ? [] : [`SKIP ${skip}`]),
    `TAKE ${take}`,
  ];
  // A comment may end the query.
  return `${question.base}\n${clauses.join(" ")}`;
}

/** A moment as a query names it. */
export function momentInLql(ms: number): string {
  return `'${new Date(ms).toISOString()}'`;
}

/** A query without some of its clauses. One that can't be read stays as it is. */
export function withoutClauses(text: string, names: readonly (keyof Clauses)[]): string {
  const clauses = piecesOf(text)?.clauses;
  return cut(text, ...names.flatMap((name) => clauses?.get(name) ?? []));
}

/** A clause as it is written; null where there is none. */
export function clauseOf(text: string, name: keyof Clauses): string | null {
  const span = piecesOf(text)?.clauses.get(name);
  return span === undefined ? null : text.slice(span.start, span.end);
}

/** A query with one more condition, which has to hold as well. */
export function withCondition(text: string, condition: string): string {
  const ask = readAsk(text);
  return ask === null ? text : extended(ask, condition);
}
