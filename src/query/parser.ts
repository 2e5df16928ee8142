import { shorten } from "../events/quote.ts";
import { didYouMean, oneOf, queryFault } from "./fault.ts";
import { tokenize } from "./lexer.ts";
import { readCondition } from "./parse-conditions.ts";
import { readColumns, readCompare, readFill, readGroupBy, readHaving, readSort } from "./parse-groups.ts";
import { CLAUSES, isField, readCount, readName, readWhen } from "./parse-values.ts";
import { acceptSymbol, expectSymbol, expectWord, isSymbol, isWord, peek, unexpected } from "./reader.ts";
import type { Reader } from "./reader.ts";
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
export function parseQuery(text: string, { takeLimit = TAKE_LIMIT }: ParserOptions = {}): Query {
  return readQuery({ text, tokens: tokenize(text), at: 0, depth: 0, takeLimit });
}

/** `takeLimit`: largest value of TAKE; 500 by default. */
export type ParserOptions = { readonly takeLimit?: number };

/** `query = "GET" table clause*` */
function readQuery(reader: Reader): Query {
  expectWord(reader, "GET");
  const { table, key } = readTable(reader);
  const clauses = { ...NO_CLAUSES };
  while (peek(reader).kind !== "end") readClause(reader, clauses);
  return { table, class: key, clauses };
}

/** `table = ( "events" | "users" ) [ "." class ]`, without blanks around the dot */
function readTable(reader: Reader): { table: Query["table"]; key: Name | null } {
  const token = peek(reader);
  const name = TABLES.find((table) => isWord(token, table));
  if (name === undefined) throw unexpected(reader, "events or users", didYouMean(token.text, TABLES));
  reader.at += 1;
  const table = { name, span: token.span };
  const next = peek(reader);
  if (isSymbol(next, ".")) throw unexpected(reader, "the key of a class right after the dot", null, reader.at + 1);
  if (next.kind !== "class") return { table, key: null };
  if (!CLASS_KEY.test(next.value)) {
    const what = `"${shorten(next.value)}" is not a valid class key`;
    throw queryFault(reader.text, next.span, what, "Keys consist of at most 63 letters a to z, digits and hyphens.");
  }
  reader.at += 1;
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
function readClause(reader: Reader, clauses: MutableClauses): void {
  const start = peek(reader);
  if (isWord(start, "WHERE")) once(reader, clauses, "where", readWhere);
  else if (isWord(start, "TAKE")) once(reader, clauses, "take", readTake);
  else if (isWord(start, "SKIP")) once(reader, clauses, "skip", readSkip);
  else if (isWord(start, "SORT")) once(reader, clauses, "sort", readSort);
  else if (isWord(start, "GROUPBY") || isWord(start, "GROUP")) once(reader, clauses, "groupBy", readGroupBy);
  else if (isWord(start, "COLUMNS")) once(reader, clauses, "columns", readColumns);
  else if (isWord(start, "HAVING")) once(reader, clauses, "having", readHaving);
  else if (isWord(start, "COMPARE")) once(reader, clauses, "compare", readCompare);
  else if (isWord(start, "FILL")) once(reader, clauses, "fill", readFill);
  else if (
    isWord(start, "OCCURS") ||
    ((start.kind === "word" || start.kind === "attribute") && isWord(peek(reader, 1), "OCCURS"))
  ) {
    once(reader, clauses, "occurs", readOccurs);
  } else throw unexpectedClause(reader, clauses);
}

function once<Key extends keyof Clauses>(
  reader: Reader,
  clauses: MutableClauses,
  key: Key,
  read: (reader: Reader) => Clauses[Key],
): void {
  if (clauses[key] !== null) {
    const what = `${key.toUpperCase()} occurs a second time`;
    throw queryFault(reader.text, peek(reader).span, what, "Each clause may occur only once.");
  }
  clauses[key] = read(reader);
}

function unexpectedClause(reader: Reader, clauses: Clauses): Error {
  const start = peek(reader);
  const slip = isField(start) ? didYouMean(peek(reader, 1).text, ["OCCURS"]) : null;
  if (slip !== null) throw unexpected(reader, "OCCURS", slip, reader.at + 1);
  const open = CLAUSES.filter((name) => clauses[clauseKey(name)] === null);
  const previous = reader.tokens[reader.at - 1]!;
  const joins = clauses.where !== null && previous.kind !== "class" ? ["AND", "OR"] : [];
  const directions = lacksDirection(reader) ? ["ASC", "DESC"] : [];
  const hint = didYouMean(start.text, [...directions, ...CLAUSES, "AND", "OR"]);
  const expected = [...directions, ...joins, ...open];
  return unexpected(reader, expected.length === 0 ? "the end of the query" : oneOf(expected), hint);
}

/** Returns whether the last tokens are a SORT without a direction. */
function lacksDirection(reader: Reader): boolean {
  return reader.at >= 2 && isWord(reader.tokens[reader.at - 2]!, "SORT");
}

function clauseKey(name: (typeof CLAUSES)[number]): keyof Clauses {
  return name === "GROUPBY" ? "groupBy" : (name.toLowerCase() as keyof Clauses);
}

/** `where = "WHERE" condition` */
function readWhere(reader: Reader): Expression {
  expectWord(reader, "WHERE");
  return readCondition(reader);
}

/** `take = "TAKE" n`, from 1 to 500; unlimited in exports */
function readTake(reader: Reader): Count {
  expectWord(reader, "TAKE");
  return readCount(reader, 1, reader.takeLimit);
}

/** `skip = "SKIP" n` */
function readSkip(reader: Reader): Count {
  expectWord(reader, "SKIP");
  return readCount(reader, 0, SKIP_LIMIT);
}

/** `occurs = [ field ] "OCCURS" "(" when [ "," when ] ")"` */
function readOccurs(reader: Reader): Occurs {
  const field = isWord(peek(reader), "OCCURS") ? null : readName(reader, "a field");
  expectWord(reader, "OCCURS");
  expectSymbol(reader, "(");
  const from = readWhen(reader);
  const to = acceptSymbol(reader, ",") ? readWhen(reader) : null;
  if (!acceptSymbol(reader, ")")) throw unexpected(reader, to === null ? '",", "+", "-" or ")"' : '"+", "-" or ")"');
  return { field, from, to };
}
