import { didYouMean, oneOf, queryFault, shorten } from "./fault.ts";
import { tokenize } from "./lexer.ts";
import type { Token } from "./lexer.ts";
import {
  acceptSymbol,
  acceptWord,
  expectSymbol,
  expectWord,
  isSymbol,
  isWord,
  lastEnd,
  peek,
  take,
  unexpected,
} from "./reader.ts";
import type { Reader } from "./reader.ts";
import { EVENTS, USERS, canonical } from "./fields.ts";
import { UNITS } from "./syntax.ts";
import type {
  Clauses,
  CompareOp,
  Count,
  Expression,
  Literal,
  Name,
  NumberLiteral,
  Occurs,
  Query,
  Sort,
  Step,
  StringLiteral,
  Unit,
  When,
} from "./syntax.ts";

/** How deep parentheses and NOT may nest. */
export const NESTING_LIMIT = 64;
const TAKE_LIMIT = 500;
const SKIP_LIMIT = 1_000_000_000;
/** Of MINUTES(n) and its like. */
const STEP_LIMIT = 1_000_000_000;

const TABLES = ["events", "users"] as const;
const CLAUSES = ["WHERE", "TAKE", "SKIP", "SORT", "GROUPBY", "OCCURS", "COLUMNS"] as const;
const CLASS_KEY = /^[a-z0-9][a-z0-9-]{0,62}$/i;

/** Words that name no field, wherever they stand. */
const KEYWORDS: ReadonlySet<string> = new Set([
  "GET",
  ...CLAUSES,
  "GROUP",
  "AND",
  "OR",
  "NOT",
  "CONTAINS",
  "MATCHES",
  "IN",
  "IS",
  "NULL",
]);

/**
 * The tree of a query. Each function reads one rule of the grammar, which stands above it.
 *
 * @throws LoggiaError `bad_query`
 */
export function parseQuery(text: string): Query {
  return readQuery({ text, tokens: tokenize(text), at: 0, depth: 0 });
}

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
  if (isSymbol(next, ".")) throw unexpected(reader, "the key of a class right behind the dot", null, reader.at + 1);
  if (next.kind !== "class") return { table, key: null };
  if (!CLASS_KEY.test(next.value)) {
    const what = `"${shorten(next.value)}" is no key of a class`;
    throw queryFault(reader.text, next.span, what, "Keys are letters a to z, digits and hyphens, at most 63 of them.");
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
};

/** `clause = where | take | skip | sort | groupBy | occurs | columns`, in any order, each at most once */
function readClause(reader: Reader, clauses: MutableClauses): void {
  const start = peek(reader);
  if (isWord(start, "WHERE")) once(reader, clauses, "where", readWhere);
  else if (isWord(start, "TAKE")) once(reader, clauses, "take", readTake);
  else if (isWord(start, "SKIP")) once(reader, clauses, "skip", readSkip);
  else if (isWord(start, "SORT")) once(reader, clauses, "sort", readSort);
  else if (isWord(start, "GROUPBY") || isWord(start, "GROUP")) once(reader, clauses, "groupBy", readGroupBy);
  else if (isWord(start, "COLUMNS")) once(reader, clauses, "columns", readColumns);
  else if (isWord(start, "OCCURS") || (start.kind === "word" && isWord(peek(reader, 1), "OCCURS"))) {
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
    const what = `${key.toUpperCase()} stands here for the second time`;
    throw queryFault(reader.text, peek(reader).span, what, "Each clause may stand once.");
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

/** Whether what was read last is a SORT that names no direction yet. */
function lacksDirection(reader: Reader): boolean {
  return reader.at >= 2 && isWord(reader.tokens[reader.at - 2]!, "SORT");
}

function isField(token: Token): boolean {
  if (token.kind !== "word") return false;
  const name = canonical(token.text);
  return EVENTS.fields.has(name) || USERS.fields.has(name);
}

function clauseKey(name: (typeof CLAUSES)[number]): keyof Clauses {
  return name === "GROUPBY" ? "groupBy" : (name.toLowerCase() as keyof Clauses);
}

/** `where = "WHERE" condition` */
function readWhere(reader: Reader): Expression {
  expectWord(reader, "WHERE");
  return readCondition(reader);
}

/** `take = "TAKE" n`, from 1 to 500 */
function readTake(reader: Reader): Count {
  expectWord(reader, "TAKE");
  return readCount(reader, 1, TAKE_LIMIT);
}

/** `skip = "SKIP" n` */
function readSkip(reader: Reader): Count {
  expectWord(reader, "SKIP");
  return readCount(reader, 0, SKIP_LIMIT);
}

/** `sort = "SORT" ( field | aggregate ) [ "ASC" | "DESC" ]` */
function readSort(reader: Reader): Sort {
  expectWord(reader, "SORT");
  const key = readName(reader, "the field to sort by");
  if (acceptWord(reader, "DESC")) return { key, direction: "desc" };
  acceptWord(reader, "ASC");
  return { key, direction: "asc" };
}

/** `groupBy = ( "GROUPBY" | "GROUP" "BY" ) ( field | "DAY" | "HOUR" )` */
function readGroupBy(reader: Reader): Name {
  if (!acceptWord(reader, "GROUPBY")) {
    expectWord(reader, "GROUP");
    expectWord(reader, "BY");
  }
  return readName(reader, "DAY, HOUR or the field to group by");
}

/** `columns = "COLUMNS" "(" column ( "," column )* ")"` */
function readColumns(reader: Reader): Name[] {
  expectWord(reader, "COLUMNS");
  return readList(reader, (inner) => readName(inner, "the name of a column"));
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

/** `when = ( "TODAY" | "NOW" | date ) step*` */
function readWhen(reader: Reader): When {
  const token = peek(reader);
  const base = whenBase(token);
  if (base === null) throw unexpected(reader, "TODAY, NOW or a date", didYouMean(token.text, ["TODAY", "NOW"]));
  reader.at += 1;
  const steps: Step[] = [];
  while (isSymbol(peek(reader), "+") || isSymbol(peek(reader), "-")) steps.push(readStep(reader));
  return { kind: "when", base, steps, span: { start: token.span.start, end: lastEnd(reader) } };
}

function whenBase(token: Token): When["base"] | null {
  if (isWord(token, "TODAY")) return { kind: "today" };
  if (isWord(token, "NOW")) return { kind: "now" };
  return token.kind === "date" || token.kind === "string" ? { kind: "date", text: token.value } : null;
}

/** `step = ( "+" | "-" ) ( "MINUTES" | "HOURS" | "DAYS" | "WEEKS" | "MONTHS" ) "(" n ")"` */
function readStep(reader: Reader): Step {
  const back = take(reader).text === "-";
  const token = peek(reader);
  const unit: Unit | undefined = UNITS.find((name) => isWord(token, name));
  if (unit === undefined) throw unexpected(reader, oneOf(UNITS), didYouMean(token.text, UNITS));
  reader.at += 1;
  expectSymbol(reader, "(");
  const { value } = readCount(reader, 0, STEP_LIMIT);
  expectSymbol(reader, ")");
  return { unit, count: back && value !== 0 ? -value : value };
}

/** `condition = conjunction ( "OR" conjunction )*` */
function readCondition(reader: Reader): Expression {
  const parts = [readConjunction(reader)];
  while (acceptWord(reader, "OR")) parts.push(readConjunction(reader));
  return parts.length === 1 ? parts[0]! : { kind: "or", parts };
}

/** `conjunction = negation ( "AND" negation )*` */
function readConjunction(reader: Reader): Expression {
  const parts = [readNegation(reader)];
  while (acceptWord(reader, "AND")) parts.push(readNegation(reader));
  return parts.length === 1 ? parts[0]! : { kind: "and", parts };
}

/** `negation = "NOT" negation | "(" condition ")" | comparison` */
function readNegation(reader: Reader): Expression {
  const token = peek(reader);
  const nests = isWord(token, "NOT") || isSymbol(token, "(");
  if (!nests) return readComparison(reader);
  if (reader.depth === NESTING_LIMIT) {
    throw queryFault(reader.text, token.span, `conditions nest more than ${NESTING_LIMIT} deep`);
  }
  reader.at += 1;
  reader.depth += 1;
  const inner = isWord(token, "NOT") ? { kind: "not" as const, part: readNegation(reader) } : readCondition(reader);
  if (isSymbol(token, "(") && !acceptSymbol(reader, ")"))
    throw unexpected(reader, 'AND, OR or ")"', didYouMean(peek(reader).text, ["AND", "OR"]));
  reader.depth -= 1;
  return inner;
}

/** `comparison = field ( relation | [ "NOT" ] ( containing | matching | membership ) | nullity )` */
function readComparison(reader: Reader): Expression {
  const expected = 'a field, NOT or "("';
  const slip = isField(peek(reader)) ? null : didYouMean(peek(reader).text, ["NOT"]);
  if (slip !== null && (isField(peek(reader, 1)) || isSymbol(peek(reader, 1), "("))) {
    throw unexpected(reader, expected, slip);
  }
  const field = readName(reader, expected);
  const op = compareOp(peek(reader));
  if (op !== null) {
    reader.at += 1;
    return { kind: "compare", field, op, value: readLiteral(reader, field) };
  }
  if (acceptWord(reader, "IS")) return readNullity(reader, field);
  const negated = acceptWord(reader, "NOT");
  const test = readTest(reader, field, negated);
  return negated ? { kind: "not", part: test } : test;
}

/** `containing = "CONTAINS" string`, `matching = "MATCHES" string`, `membership = "IN" "(" literal ( "," literal )* ")"` */
function readTest(reader: Reader, field: Name, negated: boolean): Expression {
  if (acceptWord(reader, "CONTAINS")) return { kind: "contains", field, value: readString(reader) };
  if (acceptWord(reader, "MATCHES")) return { kind: "matches", field, value: readString(reader) };
  if (acceptWord(reader, "IN"))
    return { kind: "in", field, values: readList(reader, (inner) => readLiteral(inner, field)) };
  const words = ["CONTAINS", "MATCHES", "IN"];
  const expected = negated ? oneOf(words) : oneOf(["=", "!=", "<>", "<", "<=", ">", ">=", "NOT", ...words, "IS"]);
  throw unexpected(reader, expected, didYouMean(peek(reader).text, [...words, "IS"]));
}

/** `nullity = "IS" [ "NOT" ] "NULL"` */
function readNullity(reader: Reader, field: Name): Expression {
  const negated = acceptWord(reader, "NOT");
  if (!acceptWord(reader, "NULL")) {
    const hint = didYouMean(peek(reader).text, negated ? ["NULL"] : ["NULL", "NOT"]);
    throw unexpected(reader, negated ? "NULL" : "NULL or NOT NULL", hint);
  }
  return negated ? { kind: "not", part: { kind: "null", field } } : { kind: "null", field };
}

/** `relation = ( "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) literal` */
function compareOp(token: Token): CompareOp | null {
  if (token.kind !== "symbol") return null;
  switch (token.text) {
    case "<>":
      return "!=";
    case "=":
    case "!=":
    case "<":
    case "<=":
    case ">":
    case ">=":
      return token.text;
    default:
      return null;
  }
}

/** `literal = string | [ "+" | "-" ] number | when`; a string with steps behind it is a date */
function readLiteral(reader: Reader, field: Name): Literal {
  const token = peek(reader);
  if (token.kind === "number" || isSymbol(token, "-") || isSymbol(token, "+")) return readNumber(reader);
  const next = peek(reader, 1);
  const hasSteps = isSymbol(next, "+") || isSymbol(next, "-");
  if (token.kind === "string" && !hasSteps) return readString(reader);
  if (whenBase(token) !== null) return readWhen(reader);
  const quoted = token.kind === "word" ? `Strings stand in quotes: '${shorten(token.text)}'.` : null;
  const moment = holdsDate(field) ? didYouMean(token.text, ["TODAY", "NOW"]) : null;
  throw unexpected(reader, "a string, a number or a date", moment ?? quoted);
}

function holdsDate(field: Name): boolean {
  return [EVENTS, USERS].some(({ fields }) => fields.get(canonical(field.text))?.type === "date");
}

function readNumber(reader: Reader): NumberLiteral {
  const { start } = peek(reader).span;
  const negative = isSymbol(peek(reader), "-");
  if (peek(reader).kind === "symbol") reader.at += 1;
  if (peek(reader).kind !== "number") throw unexpected(reader, "a number");
  const magnitude = Number(take(reader).text);
  const span = { start, end: lastEnd(reader) };
  if (!Number.isFinite(magnitude)) throw queryFault(reader.text, span, "the number is too large");
  return { kind: "number", value: negative && magnitude !== 0 ? -magnitude : magnitude, span };
}

function readString(reader: Reader): StringLiteral {
  const token = peek(reader);
  if (token.kind !== "string") {
    const hint =
      token.kind === "end" || token.kind === "symbol" ? null : `Strings stand in quotes: '${shorten(token.text)}'.`;
    throw unexpected(reader, "a string", hint);
  }
  reader.at += 1;
  return { kind: "string", value: token.value, span: token.span };
}

function readCount(reader: Reader, min: number, max: number): Count {
  const token = peek(reader);
  const value = token.kind === "number" && /^\d+$/.test(token.text) ? Number(token.text) : NaN;
  if (!(value >= min && value <= max)) {
    throw unexpected(reader, `a whole number from ${min} to ${max.toLocaleString("en-US")}`);
  }
  reader.at += 1;
  return { value, span: token.span };
}

function readName(reader: Reader, expected: string): Name {
  const token = peek(reader);
  if (token.kind !== "word" || KEYWORDS.has(token.text.toUpperCase())) throw unexpected(reader, expected);
  reader.at += 1;
  return { text: token.text, span: token.span };
}

/** `"(" item ( "," item )* ")"` */
function readList<Item>(reader: Reader, readItem: (reader: Reader) => Item): Item[] {
  expectSymbol(reader, "(");
  const items = [readItem(reader)];
  while (acceptSymbol(reader, ",")) items.push(readItem(reader));
  if (!acceptSymbol(reader, ")")) throw unexpected(reader, '"," or ")"');
  return items;
}
