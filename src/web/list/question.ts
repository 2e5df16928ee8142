import { CLAUSES } from "../../query/parse-values.ts";
import { tokenize } from "../../query/lexer.ts";
import { parseQuery } from "../../query/parser.ts";
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

type Clause = (typeof CLAUSES)[number];

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
    base: withoutClauses(text, ["SORT", "TAKE", "SKIP"]),
    range: clauses.occurs === null ? range : null,
    ownSort: isByTime ? null : clauseOf(text, "SORT"),
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

/** A query without some of its clauses. */
export function withoutClauses(text: string, names: readonly Clause[]): string {
  let rest = "";
  let at = 0;
  for (const { name, start, end } of clauseSpans(text)) {
    if (!names.includes(name)) continue;
    rest += text.slice(at, start);
    at = end;
  }
  return `${rest}${text.slice(at)}`.trim();
}

/** A clause as it is written; null where there is none. */
export function clauseOf(text: string, name: Clause): string | null {
  const span = clauseSpans(text).find((clause) => clause.name === name);
  return span === undefined ? null : text.slice(span.start, span.end).trim();
}

type ClauseSpan = { readonly name: Clause; readonly start: number; readonly end: number };

/** Where the clauses of a query that can be read stand, each up to the last character of its own. */
function clauseSpans(text: string): readonly ClauseSpan[] {
  const tokens = tokenize(text);
  const begins: { name: Clause; at: number }[] = [];
  let depth = 0;
  tokens.forEach((token, at) => {
    if (token.kind === "symbol") depth += token.text === "(" ? 1 : token.text === ")" ? -1 : 0;
    if (depth !== 0 || token.kind !== "word") return;
    const word = token.text.toUpperCase();
    const name = word === "GROUP" ? "GROUPBY" : CLAUSES.find((clause) => clause === word);
    if (name === undefined) return;
    begins.push({ name, at: name === "OCCURS" && namesField(tokens, begins.at(-1)?.at ?? -1, at) ? at - 1 : at });
  });
  return begins.map(({ name, at }, i) => {
    const next = begins[i + 1]?.at ?? tokens.findIndex(({ kind }) => kind === "end");
    const last = tokens[(next === -1 ? tokens.length : next) - 1]!;
    return { name, start: tokens[at]!.span.start, end: last.span.end };
  });
}

/** Whether the token before OCCURS is its field: it is none of the table's and ends no other clause. */
function namesField(tokens: ReturnType<typeof tokenize>, clause: number, at: number): boolean {
  const before = tokens[at - 1];
  if (before?.kind !== "word" || before.text.toLowerCase() !== "created") return false;
  // `SORT created OCCURS(…)`: the field is that of SORT.
  return !(clause === at - 2 && tokens[clause]?.text.toUpperCase() === "SORT");
}

/** A query with one more condition, which has to hold as well. */
export function withCondition(text: string, condition: string): string {
  const where = clauseOf(text, "WHERE");
  if (where === null) return `${text}\nWHERE ${condition}`;
  const rest = withoutClauses(text, ["WHERE"]);
  return `${rest}\nWHERE (${where.slice("WHERE".length).trim()}\n) AND ${condition}`;
}
