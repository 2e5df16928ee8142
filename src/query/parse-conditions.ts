import { didYouMean, oneOf, queryFault } from "./fault.ts";
import { canonical } from "./fields.ts";
import type { Token } from "./lexer.ts";
import { isField, readList, readLiteral, readName, readNumber, readString } from "./parse-values.ts";
import { acceptSymbol, acceptWord, expectSymbol, isNext, isSymbol, isWord, peek, unexpected } from "./token-cursor.ts";
import { unexpectedWord } from "./token-cursor.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { CompareOp, Expression, FieldTest, Logic, Name, NumberLiteral } from "./syntax.ts";

/** Deepest nesting of parentheses and NOT. */
export const NESTING_LIMIT = 64;

/** `condition = conjunction ( "OR" conjunction )*` */
export function readCondition(cursor: TokenCursor): Expression {
  return readLogic(cursor, readComparison);
}

/** Reads tests combined by AND, OR, NOT and parentheses. */
export function readLogic<Test>(cursor: TokenCursor, readTest: (cursor: TokenCursor) => Logic<Test>): Logic<Test> {
  const parts = [readConjunction(cursor, readTest)];
  while (acceptWord(cursor, "OR")) parts.push(readConjunction(cursor, readTest));
  return parts.length === 1 ? parts[0]! : { kind: "or", parts };
}

/** `conjunction = negation ( "AND" negation )*` */
function readConjunction<Test>(cursor: TokenCursor, readTest: (cursor: TokenCursor) => Logic<Test>): Logic<Test> {
  const parts = [readNegation(cursor, readTest)];
  while (acceptWord(cursor, "AND")) parts.push(readNegation(cursor, readTest));
  return parts.length === 1 ? parts[0]! : { kind: "and", parts };
}

/** `negation = "NOT" negation | "(" condition ")" | comparison` */
function readNegation<Test>(cursor: TokenCursor, readTest: (cursor: TokenCursor) => Logic<Test>): Logic<Test> {
  const token = peek(cursor);
  const nests = isNext(cursor, "NOT") || isSymbol(token, "(");
  if (!nests) return readTest(cursor);
  if (cursor.depth === NESTING_LIMIT) {
    throw queryFault(cursor.text, token.span, `conditions nest more than ${NESTING_LIMIT} deep`);
  }
  cursor.at += 1;
  cursor.depth += 1;
  const inner: Logic<Test> = isWord(token, "NOT")
    ? { kind: "not", part: readNegation(cursor, readTest) }
    : readLogic(cursor, readTest);
  if (isSymbol(token, "(") && !acceptSymbol(cursor, ")")) throw unexpectedWord(cursor, 'AND, OR or ")"', ["AND", "OR"]);
  cursor.depth -= 1;
  return inner;
}

/**
 * `comparison = field ( relation | nullity | test )`,
 * `test = [ "NOT" ] ( containing | matching | membership | within | near )`
 */
function readComparison(cursor: TokenCursor): Expression {
  const expected = 'a field, NOT or "("';
  const slip = isField(peek(cursor)) ? null : didYouMean(peek(cursor).text, ["NOT"]);
  if (slip !== null && (isField(peek(cursor, 1)) || isSymbol(peek(cursor, 1), "("))) {
    throw unexpected(cursor, expected, slip);
  }
  const field = readName(cursor, expected);
  if (cursor.expected !== null) cursor.expected.field = field;
  const op = compareOp(peek(cursor));
  if (op !== null) {
    cursor.at += 1;
    return { kind: "compare", field, op, value: readLiteral(cursor, field) };
  }
  if (acceptWord(cursor, "IS")) return readNullity(cursor, { kind: "null", field });
  const negated = acceptWord(cursor, "NOT");
  const test = readTest(cursor, field, negated);
  return negated ? { kind: "not", part: test } : test;
}

/**
 * `containing = "CONTAINS" string`, `matching = "MATCHES" string`,
 * `membership = "IN" "(" literal ( "," literal )* ")"`
 */
function readTest(cursor: TokenCursor, field: Name, negated: boolean): FieldTest {
  if (acceptWord(cursor, "CONTAINS")) return { kind: "contains", field, value: readString(cursor) };
  if (acceptWord(cursor, "MATCHES")) return { kind: "matches", field, value: readString(cursor) };
  if (acceptWord(cursor, "IN"))
    return { kind: "in", field, values: readList(cursor, (inner) => readLiteral(inner, field)) };
  if (acceptWord(cursor, "WITHIN")) return readWithin(cursor, field);
  if (acceptWord(cursor, "NEAR")) return readNear(cursor, field);
  const words = canonical(field.text) === "geo" ? ["WITHIN", "NEAR"] : ["CONTAINS", "MATCHES", "IN"];
  const relations = canonical(field.text) === "geo" ? [] : ["=", "!=", "<>", "<", "<=", ">", ">="];
  const expected = negated ? oneOf(words) : oneOf([...relations, "NOT", ...words, "IS"]);
  throw unexpected(cursor, expected, didYouMean(peek(cursor).text, [...words, "IS"]));
}

/** `within = "WITHIN" "(" number "," number "," number "," number ")"`: south, west, north, east */
function readWithin(cursor: TokenCursor, field: Name): FieldTest {
  const [south, west, north, east] = readNumbers(cursor, 4);
  return { kind: "within", field, edges: [south!, west!, north!, east!] };
}

/** `near = "NEAR" "(" number "," number "," number ")"`: latitude, longitude, kilometres */
function readNear(cursor: TokenCursor, field: Name): FieldTest {
  const [lat, lon, km] = readNumbers(cursor, 3);
  return { kind: "near", field, circle: [lat!, lon!, km!] };
}

function readNumbers(cursor: TokenCursor, count: number): NumberLiteral[] {
  const numbers: NumberLiteral[] = [];
  for (let i = 0; i < count; i++) {
    expectSymbol(cursor, i === 0 ? "(" : ",");
    numbers.push(readNumber(cursor));
  }
  expectSymbol(cursor, ")");
  return numbers;
}

/** `nullity = "IS" [ "NOT" ] "NULL"` */
export function readNullity<Test extends { readonly kind: "null" }>(cursor: TokenCursor, test: Test): Logic<Test> {
  const negated = acceptWord(cursor, "NOT");
  if (!acceptWord(cursor, "NULL")) {
    throw unexpectedWord(cursor, negated ? "NULL" : "NULL or NOT NULL", negated ? ["NULL"] : ["NULL", "NOT"]);
  }
  return negated ? { kind: "not", part: test } : test;
}

/** `relation = ( "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) literal` */
export function compareOp(token: Token): CompareOp | null {
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
