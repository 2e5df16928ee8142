import { LoggiaError } from "../../../errors.ts";
import { tokenize } from "../../../query/lexer.ts";
import type { Token } from "../../../query/lexer.ts";
import { parseQuery } from "../../../query/parser.ts";
import { CLAUSES } from "../../../query/parse-values.ts";
import type { Clauses, Expression, Query, TextSpan } from "../../../query/syntax.ts";

/** A query's text split into pieces, so that one can be changed and the rest stays verbatim. */
export type QueryPieces = {
  readonly text: string;
  readonly query: Query;
  /** End of the part that every query has: `GET`, the table and its class. */
  readonly headEnd: number;
  /** End of the last token; comments may follow. */
  readonly end: number;
  /** Span of each clause present, from its first to its last token. */
  readonly clauses: ReadonlyMap<keyof Clauses, TextSpan>;
  /** Operands of the top-level AND of WHERE, in order. */
  readonly conditions: readonly Conjunct[];
};

export type Conjunct = { readonly span: TextSpan; readonly tree: Expression };

/** Returns the pieces of a query; null if the parser rejects it. */
export function queryPieces(text: string): QueryPieces | null {
  let query: Query;
  try {
    query = parseQuery(text);
  } catch (error) {
    if (error instanceof LoggiaError) return null;
    throw error;
  }
  const tokens = tokenize(text);
  const clauses = clausesIn(tokens, query);
  const headTokens = query.class === null ? 2 : 3;
  return {
    text,
    query,
    headEnd: tokens[headTokens - 1]!.span.end,
    end: tokens.at(-2)!.span.end,
    clauses,
    conditions: conjunctsIn(tokens, query.clauses.where, clauses.get("where")),
  };
}

/** Finds the clauses. Keywords are no field names, so outside parentheses each begins a clause. */
function clausesIn(tokens: readonly Token[], { clauses: trees }: Query): Map<keyof Clauses, TextSpan> {
  const clauses = new Map<keyof Clauses, TextSpan>();
  const field = trees.occurs?.field ?? null;
  let current: { name: keyof Clauses; start: number } | null = null;
  let end = 0;
  for (const [token, depth] of withDepth(tokens)) {
    let name = depth === 0 ? clauseOf(token) : null;
    // The field of OCCURS precedes its keyword.
    if (field !== null && name === "occurs") name = null;
    if (field !== null && token.span.start === field.span.start) name = "occurs";
    if (name !== null || token.kind === "end") {
      if (current !== null) clauses.set(current.name, { start: current.start, end });
      if (name !== null) current = { name, start: token.span.start };
    }
    end = token.span.end;
  }
  return clauses;
}

function clauseOf({ kind, text }: Token): keyof Clauses | null {
  const word = text.toUpperCase();
  if (kind !== "word") return null;
  if (word === "GROUP" || word === "GROUPBY") return "groupBy";
  return CLAUSES.some((clause) => clause === word) ? (word.toLowerCase() as keyof Clauses) : null;
}

/** Splits WHERE at its top-level ANDs; an OR at the top makes it one conjunct. */
function conjunctsIn(tokens: readonly Token[], where: Expression | null, span: TextSpan | undefined): Conjunct[] {
  if (where === null || span === undefined) return [];
  // Tokens after the word WHERE.
  const inside = tokens.filter(({ span: { start, end } }) => start > span.start && end <= span.end);
  const spans: { start: number; end: number }[] = [];
  let next = true;
  for (const [token, depth] of withDepth(inside)) {
    const word = depth === 0 && token.kind === "word" ? token.text.toUpperCase() : "";
    if (word === "OR") return [{ span: { start: inside[0]!.span.start, end: span.end }, tree: where }];
    if (word === "AND") next = true;
    else if (next) {
      spans.push({ ...token.span });
      next = false;
    } else spans.at(-1)!.end = token.span.end;
  }
  const trees = spans.length > 1 && where.kind === "and" ? where.parts : [where];
  return spans.map((each, i) => ({ span: each, tree: trees[i]! }));
}

/** Yields tokens with the number of parentheses open around them. */
function* withDepth(tokens: readonly Token[]): Generator<[Token, number]> {
  let depth = 0;
  for (const token of tokens) {
    const symbol = token.kind === "symbol" ? token.text : "";
    if (symbol === ")") depth -= 1;
    yield [token, depth];
    if (symbol === "(") depth += 1;
  }
}

/** Removes spans from a text. Line breaks that end a comment stay. */
export function textWithout(text: string, ...spans: readonly TextSpan[]): string {
  const last = [...spans].sort((a, b) => b.start - a.start);
  return last.reduce((rest, { start, end }) => {
    const before = rest.slice(0, start).replace(/(?<![^\S\r\n])[^\S\r\n]+$/, "");
    const after = rest.slice(end).replace(/^[^\S\r\n]+/, "");
    const isEmptyLine = /(?:^|[\r\n])$/.test(before) && /^(?:[\r\n]|$)/.test(after);
    if (isEmptyLine) return before.replace(/(?:\r\n|\r|\n)$/, "") + after;
    const isApart = before === "" || after === "" || /[\r\n]$/.test(before) || /^[\r\n]/.test(after);
    return before + (isApart ? "" : " ") + after;
  }, text);
}

/** Replaces a span, separating the new text from adjacent words by blanks. */
export function textWithReplaced(text: string, { start, end }: TextSpan, by: string): string {
  const [before, after] = [text.slice(0, start), text.slice(end)];
  return before + (/[\s(]$|^$/.test(before) ? "" : " ") + by + (/^[\s),]|^$/.test(after) ? "" : " ") + after;
}

/** Inserts words at a position, separated by blanks. */
export function textWithInserted(text: string, at: number, words: string): string {
  const after = text.slice(at);
  const gap = after === "" || /^\s/.test(after) ? "" : " ";
  return `${text.slice(0, at)} ${words}${gap}${after}`;
}
