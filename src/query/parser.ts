import { shorten } from "../events/quote.ts";
import { didYouMean, oneOf, queryFault } from "./fault.ts";
import { tokenize } from "./lexer.ts";
import { readCondition } from "./parse-conditions.ts";
import { readColumns, readCompare, readFill, readGroupBy, readHaving, readSort } from "./parse-groups.ts";
import { CLAUSES, isField, readCount, readName, readWhen } from "./parse-values.ts";
import { acceptSymbol, expectSymbol, expectWord, isNext, isSymbol, isWord, noteWords, peek } from "./token-cursor.ts";
import { unexpected, unexpectedPhrase, unexpectedWord } from "./token-cursor.ts";
import type { Expected, TokenCursor } from "./token-cursor.ts";
import type { Clauses, Count, Expression, Name, Occurs, Query } from "./syntax.ts";

const TAKE_LIMIT = 500;
const SKIP_LIMIT = 1_000_000_000;

const TABLES = ["events", "users"] as const;
const CLASS_KEY = /^[a-z0-9][a-z0-9-]{0,62}$/i;

/**
 * Parses a query into its syntax tree. The comment of each function is its grammar rule.
 *
 * @throws LoggiaError `bad_query`
 */
export function parseQuery(text: string, { takeLimit = TAKE_LIMIT, expected }: ParserOptions = {}): Query {
  return readQuery({ text, tokens: tokenize(text), at: 0, depth: 0, takeLimit, expected: expected ?? null });
}

/**
 * `takeLimit`: largest value of TAKE; 500 by default. `expected` is filled with what could follow
 * the text.
 */
export type ParserOptions = { readonly takeLimit?: number; readonly expected?: Expected };

/** `query = "GET" table clause*` */
function readQuery(cursor: TokenCursor): Query {
  expectWord(cursor, "GET");
  const { table, key } = readTable(cursor);
  const clauses = { ...NO_CLAUSES };
  while (peek(cursor).kind !== "end") readClause(cursor, clauses);
  if (cursor.expected !== null) noteWords(cursor, openClauses(clauses));
  return { table, class: key, clauses };
}

/** `table = ( "events" | "users" ) [ "." class ]`, without blanks around the dot */
function readTable(cursor: TokenCursor): { table: Query["table"]; key: Name | null } {
  const token = peek(cursor);
  const name = TABLES.find((table) => isWord(token, table));
  if (name === undefined) throw unexpectedWord(cursor, "events or users", TABLES);
  cursor.at += 1;
  const table = { name, span: token.span };
  const next = peek(cursor);
  if (isSymbol(next, "."))
    throw unexpectedPhrase(cursor, "the key of a class right after the dot", null, cursor.at + 1);
  if (next.kind !== "class") return { table, key: null };
  if (!CLASS_KEY.test(next.value)) {
    const what = `"${shorten(next.value)}" is not a valid class key`;
    throw queryFault(cursor.text, next.span, what, "Keys consist of at most 63 letters a to z, digits and hyphens.");
  }
  cursor.at += 1;
  return { table, key: { text: next.value, span: next.span } };
}

type MutableClauses = { -readonly [Name in keyof Clauses]: Clauses[Name] };

const NO_CLAUSES: Clauses = {
  where: null,
  take: null,
  skip: null,
  sort: null,
  groupBy: null,
  occurs: null,
  columns: null,
  having: null,
  compare: null,
  fill: null,
};

/**
 * `clause = where | take | skip | sort | groupBy | occurs | columns | having | compare | fill`,
 * each at most once
 */
function readClause(cursor: TokenCursor, clauses: MutableClauses): void {
  const start = peek(cursor);
  if (isWord(start, "WHERE")) once(cursor, clauses, "where", readWhere);
  else if (isWord(start, "TAKE")) once(cursor, clauses, "take", readTake);
  else if (isWord(start, "SKIP")) once(cursor, clauses, "skip", readSkip);
  else if (isWord(start, "SORT")) once(cursor, clauses, "sort", readSort);
  else if (isWord(start, "GROUPBY") || isWord(start, "GROUP")) once(cursor, clauses, "groupBy", readGroupBy);
  else if (isWord(start, "COLUMNS")) once(cursor, clauses, "columns", readColumns);
  else if (isWord(start, "HAVING")) once(cursor, clauses, "having", readHaving);
  else if (isWord(start, "COMPARE")) once(cursor, clauses, "compare", readCompare);
  else if (isWord(start, "FILL")) once(cursor, clauses, "fill", readFill);
  else if (
    isWord(start, "OCCURS") ||
    ((start.kind === "word" || start.kind === "attribute") && isNext(cursor, "OCCURS", 1))
  ) {
    once(cursor, clauses, "occurs", readOccurs);
  } else throw unexpectedClause(cursor, clauses);
}

function once<Key extends keyof Clauses>(
  cursor: TokenCursor,
  clauses: MutableClauses,
  key: Key,
  read: (cursor: TokenCursor) => Clauses[Key],
): void {
  if (clauses[key] !== null) {
    const what = `${key.toUpperCase()} occurs a second time`;
    throw queryFault(cursor.text, peek(cursor).span, what, "Each clause may occur only once.");
  }
  clauses[key] = read(cursor);
}

function unexpectedClause(cursor: TokenCursor, clauses: Clauses): Error {
  const start = peek(cursor);
  const slip = isField(start) ? didYouMean(peek(cursor, 1).text, ["OCCURS"]) : null;
  if (slip !== null) throw unexpected(cursor, "OCCURS", slip, cursor.at + 1);
  const previous = cursor.tokens[cursor.at - 1]!;
  const joins = clauses.where !== null && previous.kind !== "class" ? ["AND", "OR"] : [];
  const directions = lacksDirection(cursor) ? ["ASC", "DESC"] : [];
  const hint = didYouMean(start.text, [...directions, ...CLAUSES, "AND", "OR"]);
  const expected = [...directions, ...joins, ...openClauses(clauses)];
  return unexpected(cursor, expected.length === 0 ? "the end of the query" : oneOf(expected), hint);
}

function openClauses(clauses: Clauses): string[] {
  return CLAUSES.filter((name) => clauses[clauseKey(name)] === null);
}

/** Returns whether the last tokens are a SORT without a direction. */
function lacksDirection(cursor: TokenCursor): boolean {
  return cursor.at >= 2 && isWord(cursor.tokens[cursor.at - 2]!, "SORT");
}

function clauseKey(name: (typeof CLAUSES)[number]): keyof Clauses {
  return name === "GROUPBY" ? "groupBy" : (name.toLowerCase() as keyof Clauses);
}

/** `where = "WHERE" condition` */
function readWhere(cursor: TokenCursor): Expression {
  expectWord(cursor, "WHERE");
  return readCondition(cursor);
}

/** `take = "TAKE" n`, from 1 to 500; unlimited in exports */
function readTake(cursor: TokenCursor): Count {
  expectWord(cursor, "TAKE");
  return readCount(cursor, 1, cursor.takeLimit);
}

/** `skip = "SKIP" n` */
function readSkip(cursor: TokenCursor): Count {
  expectWord(cursor, "SKIP");
  return readCount(cursor, 0, SKIP_LIMIT);
}

/** `occurs = [ field ] "OCCURS" "(" when [ "," when ] ")"` */
function readOccurs(cursor: TokenCursor): Occurs {
  const field = isWord(peek(cursor), "OCCURS") ? null : readName(cursor, "a field");
  expectWord(cursor, "OCCURS");
  expectSymbol(cursor, "(");
  const from = readWhen(cursor);
  const to = acceptSymbol(cursor, ",") ? readWhen(cursor) : null;
  if (!acceptSymbol(cursor, ")")) throw unexpected(cursor, to === null ? '",", "+", "-" or ")"' : '"+", "-" or ")"');
  return { field, from, to };
}
