import { didYouMean, oneOf, queryFault } from "./fault.ts";
import { canonical } from "./fields.ts";
import type { Token } from "./lexer.ts";
import { isField, readList, readLiteral, readName, readNumber, readString } from "./parse-values.ts";
import { acceptSymbol, acceptWord, expectSymbol, isSymbol, isWord, peek, unexpected } from "./reader.ts";
import type { Reader } from "./reader.ts";
import type { CompareOp, Expression, FieldTest, Logic, Name, NumberLiteral } from "./syntax.ts";

/** Deepest nesting of parentheses and NOT. */
export const NESTING_LIMIT = 64;

/** `condition = conjunction ( "OR" conjunction )*` */
export function readCondition(reader: Reader): Expression {
  return readLogic(reader, readComparison);
}

/** Reads tests combined by AND, OR, NOT and parentheses. */
export function readLogic<Test>(reader: Reader, readTest: (reader: Reader) => Logic<Test>): Logic<Test> {
  const parts = [readConjunction(reader, readTest)];
  while (acceptWord(reader, "OR")) parts.push(readConjunction(reader, readTest));
  return parts.length === 1 ? parts[0]! : { kind: "or", parts };
}

/** `conjunction = negation ( "AND" negation )*` */
function readConjunction<Test>(reader: Reader, readTest: (reader: Reader) => Logic<Test>): Logic<Test> {
  const parts = [readNegation(reader, readTest)];
  while (acceptWord(reader, "AND")) parts.push(readNegation(reader, readTest));
  return parts.length === 1 ? parts[0]! : { kind: "and", parts };
}

/** `negation = "NOT" negation | "(" condition ")" | comparison` */
function readNegation<Test>(reader: Reader, readTest: (reader: Reader) => Logic<Test>): Logic<Test> {
  const token = peek(reader);
  const nests = isWord(token, "NOT") || isSymbol(token, "(");
  if (!nests) return readTest(reader);
  if (reader.depth === NESTING_LIMIT) {
    throw queryFault(reader.text, token.span, `conditions nest more than ${NESTING_LIMIT} deep`);
  }
  reader.at += 1;
  reader.depth += 1;
  const inner: Logic<Test> = isWord(token, "NOT")
    ? { kind: "not", part: readNegation(reader, readTest) }
    : readLogic(reader, readTest);
  if (isSymbol(token, "(") && !acceptSymbol(reader, ")"))
    throw unexpected(reader, 'AND, OR or ")"', didYouMean(peek(reader).text, ["AND", "OR"]));
  reader.depth -= 1;
  return inner;
}

/**
 * `comparison = field ( relation | nullity | test )`,
 * `test = [ "NOT" ] ( containing | matching | membership | within | near )`
 */
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
  if (acceptWord(reader, "IS")) return readNullity(reader, { kind: "null", field });
  const negated = acceptWord(reader, "NOT");
  const test = readTest(reader, field, negated);
  return negated ? { kind: "not", part: test } : test;
}

/**
 * `containing = "CONTAINS" string`, `matching = "MATCHES" string`,
 * `membership = "IN" "(" literal ( "," literal )* ")"`
 */
function readTest(reader: Reader, field: Name, negated: boolean): FieldTest {
  if (acceptWord(reader, "CONTAINS")) return { kind: "contains", field, value: readString(reader) };
  if (acceptWord(reader, "MATCHES")) return { kind: "matches", field, value: readString(reader) };
  if (acceptWord(reader, "IN"))
    return { kind: "in", field, values: readList(reader, (inner) => readLiteral(inner, field)) };
  if (acceptWord(reader, "WITHIN")) return readWithin(reader, field);
  if (acceptWord(reader, "NEAR")) return readNear(reader, field);
  const words = canonical(field.text) === "geo" ? ["WITHIN", "NEAR"] : ["CONTAINS", "MATCHES", "IN"];
  const relations = canonical(field.text) === "geo" ? [] : ["=", "!=", "<>", "<", "<=", ">", ">="];
  const expected = negated ? oneOf(words) : oneOf([...relations, "NOT", ...words, "IS"]);
  throw unexpected(reader, expected, didYouMean(peek(reader).text, [...words, "IS"]));
}

/** `within = "WITHIN" "(" number "," number "," number "," number ")"`: south, west, north, east */
function readWithin(reader: Reader, field: Name): FieldTest {
  const [south, west, north, east] = readNumbers(reader, 4);
  return { kind: "within", field, edges: [south!, west!, north!, east!] };
}

/** `near = "NEAR" "(" number "," number "," number ")"`: latitude, longitude, kilometres */
function readNear(reader: Reader, field: Name): FieldTest {
  const [lat, lon, km] = readNumbers(reader, 3);
  return { kind: "near", field, circle: [lat!, lon!, km!] };
}

function readNumbers(reader: Reader, count: number): NumberLiteral[] {
  const numbers: NumberLiteral[] = [];
  for (let i = 0; i < count; i++) {
    expectSymbol(reader, i === 0 ? "(" : ",");
    numbers.push(readNumber(reader));
  }
  expectSymbol(reader, ")");
  return numbers;
}

/** `nullity = "IS" [ "NOT" ] "NULL"` */
export function readNullity<Test extends { readonly kind: "null" }>(reader: Reader, test: Test): Logic<Test> {
  const negated = acceptWord(reader, "NOT");
  if (!acceptWord(reader, "NULL")) {
    const hint = didYouMean(peek(reader).text, negated ? ["NULL"] : ["NULL", "NOT"]);
    throw unexpected(reader, negated ? "NULL" : "NULL or NOT NULL", hint);
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
