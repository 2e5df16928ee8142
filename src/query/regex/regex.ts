import { RE2JS, RE2JSException, RE2JSSyntaxException } from "re2js";

import type { Condition, SearchedField } from "../plan.ts";
import { regexPieces } from "./pieces.ts";
import { compileAsIs, parseTree, TreeTooLargeError } from "./tree.ts";

/** Longest expression, in characters. */
const EXPRESSION_LIMIT = 1000;
/**
 * Most instructions that an expression may compile to, with counted repeats expanded, and that all
 * expressions of a query may have together.
 */
const PROGRAM_LIMIT = 2000;
const PROGRAM_LIMIT_OF_ALL = 4000;
/**
 * Most ranges of characters in all instructions, of one expression and of all together; `\pL` alone
 * has about 600.
 */
const RANGE_LIMIT = 20_000;
/**
 * Most properties of characters, such as `\pL`, in all expressions of a query. re2js takes up to a
 * millisecond to read one.
 */
const PROPERTY_LIMIT = 10;

const TOO_LARGE = "it is too large when its counted repeats are expanded; reduce or remove them";
const TOO_LARGE_TOGETHER =
  "with the expressions before it, it is too large when counted repeats are expanded; " +
  "reduce them, or use fewer expressions";

const TOO_MANY_PROPERTIES = `a query has at most ${PROPERTY_LIMIT} properties such as \\pL; write ranges such as [a-z]`;

/** Properties of characters that re2js accepts and RE2 does not. */
const PROPERTIES_OF_OTHERS: ReadonlySet<string> = new Set(
  (
    "Cn LC ASCII_Hex_Digit Alphabetic Dash Emoji Emoji_Component Emoji_Modifier Emoji_Modifier_Base Emoji_Presentation " +
    "Extended_Pictographic Hex_Digit Lowercase Math Quotation_Mark Terminal_Punctuation Unknown Uppercase White_Space"
  ).split(" "),
);

export type Expression =
  | { readonly kind: "ok" }
  /** `at` is the UTF-16 offset within the expression. */
  | { readonly kind: "fault"; readonly reason: string; readonly at: number };

/** Sum of the sizes of a query's expressions. */
export type ExpressionSizes = { size: number; ranges: number; properties: number };

export function noExpressions(): ExpressionSizes {
  return { size: 0, ranges: 0, properties: 0 };
}

/**
 * Checks that an RE2 expression is valid and within its limits.
 *
 * @param all total of the query's earlier expressions; this one is added to it
 */
export function checkExpression(source: string, all: ExpressionSizes = noExpressions()): Expression {
  if (source.length > EXPRESSION_LIMIT && Array.from(source).length > EXPRESSION_LIMIT) {
    return fault(`it is longer than ${EXPRESSION_LIMIT} characters`, 0);
  }
  if (isPlain(source)) return { kind: "ok" };
  const { openGroups, strayClosing, oddProperty, properties } = scan(source);
  if (oddProperty !== null) return fault("RE2 does not support this character property", oddProperty);
  const further = properties[PROPERTY_LIMIT - all.properties];
  if (further !== undefined) return fault(TOO_MANY_PROPERTIES, further);
  all.properties += properties.length;
  try {
    const { size, ranges } = measure(compileAsIs(source));
    if (size > PROGRAM_LIMIT || ranges > RANGE_LIMIT) return fault(TOO_LARGE, 0);
    all.size += size;
    all.ranges += ranges;
    if (all.size > PROGRAM_LIMIT_OF_ALL || all.ranges > RANGE_LIMIT) return fault(TOO_LARGE_TOGETHER, 0);
    parseTree(source);
    return { kind: "ok" };
  } catch (error) {
    if (error instanceof TreeTooLargeError) return fault(TOO_LARGE, 0);
    if (!(error instanceof RE2JSException)) throw error;
    const [reason, fragment] =
      error instanceof RE2JSSyntaxException ? [error.getDescription(), error.getPattern()] : [error.message, null];
    if (reason === "missing closing )") return fault(reason, openGroups.at(-1) ?? 0);
    if (reason === "unexpected )") return fault(reason, strayClosing ?? 0);
    if (fragment === null) return fault(reason, Math.max(source.length - 1, 0));
    return fault(`${reason}: ${fragment}`, locate(source, error, fragment));
  }
}

/**
 * Returns the offset of a fragment that RE2 rejected. If the fragment occurs several times, it is
 * the first occurrence up to which the expression fails with the same error.
 */
function locate(source: string, error: Error, fragment: string): number {
  const first = Math.max(source.indexOf(fragment), 0);
  let at = first;
  for (let tried = 0; at !== -1 && tried < 16; tried++) {
    if (failsAlike(source.slice(0, at + fragment.length), error)) return at;
    at = source.indexOf(fragment, at + 1);
  }
  return first;
}

function failsAlike(source: string, error: Error): boolean {
  try {
    RE2JS.compile(source);
    return false;
  } catch (other) {
    return other instanceof RE2JSException && other.message === error.message;
  }
}

/** Returns the cheapest condition that means finding an expression. @param pattern checked */
export function matchCondition<Field extends string>(field: SearchedField<Field>, pattern: string): Condition<Field> {
  return isPlain(pattern) ? { kind: "contains", field, value: pattern } : { kind: "matches", field, pattern };
}

/** Returns the expression that finds a text. */
export function quoteExpression(text: string): string {
  return RE2JS.quote(text);
}

/** Returns whether an expression is literal text. */
function isPlain(pattern: string): boolean {
  return pattern !== "" && !/[\\.+*?()|[\]{}^$]/.test(pattern);
}

function fault(reason: string, at: number): Expression {
  return { kind: "fault", reason, at };
}

/** Counts the instructions of a compiled expression and the ranges of characters in them. */
function measure(expression: RE2JS): { size: number; ranges: number } {
  const { inst } = expression.re2().prog as { inst: readonly { runes?: readonly number[] }[] };
  let ranges = 0;
  for (const { runes } of inst) ranges += Math.ceil((runes?.length ?? 0) / 2);
  return { size: inst.length, ranges };
}

type Scan = {
  /** Offsets of unclosed groups. */
  readonly openGroups: readonly number[];
  readonly strayClosing: number | null;
  readonly oddProperty: number | null;
  /** Offsets of all properties. */
  readonly properties: readonly number[];
};

/** Finds unbalanced groups and properties that RE2 does not know. */
function scan(source: string): Scan {
  const openGroups: number[] = [];
  let strayClosing: number | null = null;
  let oddProperty: number | null = null;
  const properties: number[] = [];
  for (const { text, at, inClass, property } of regexPieces(source)) {
    if (property !== null) properties.push(at);
    if (property !== null && PROPERTIES_OF_OTHERS.has(property.name)) oddProperty ??= at;
    if (inClass) continue;
    if (text === "(") openGroups.push(at);
    else if (text === ")" && openGroups.pop() === undefined) strayClosing ??= at;
  }
  return { openGroups, strayClosing, oddProperty, properties };
}
