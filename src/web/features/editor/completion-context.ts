import { tokenize } from "../../../query/lexer.ts";
import type { Token } from "../../../query/lexer.ts";
import { CLAUSES } from "../../../query/parse-values.ts";
import { compareOp } from "../../../query/parse-conditions.ts";
import { FUNCTIONS, parsePercent } from "../../../query/parse-groups.ts";
import { isSymbol, isWord } from "../../../query/token-cursor.ts";
import { UNITS } from "../../../query/syntax.ts";
import type { Span } from "../../../query/syntax.ts";
import { fieldName } from "../../parts/query/print.ts";

/** What can be typed at the caret. */
export type CompletionContext = {
  /** The span that a completion replaces: the typed part of the word, up to the caret. */
  readonly span: Span;
  /** That word, without a string's opening quote. */
  readonly typed: string;
  /** Keywords; functions end with their parenthesis. */
  readonly words: readonly string[];
  /** Kind of fields, if any: `shown` can be columns, `numbers` hold numbers. */
  readonly fields: "compared" | "grouped" | "sorted" | "shown" | "numbers" | null;
  /** The field whose values are offered. */
  readonly valuesOf: string | null;
  readonly classes: boolean;
  readonly table: "events" | "users";
};

type Expected = Partial<Pick<CompletionContext, "words" | "fields" | "valuesOf" | "classes">>;

/** Returns what the caret expects; null within words, comments and strings without a field. */
export function completionContextAt(text: string, caret: number): CompletionContext | null {
  const before = text.slice(0, caret);
  const tokens = tokensOf(before);
  if (tokens === null || /^[\p{L}\p{N}_]/u.test(text.slice(caret))) return null;
  const current = currentWord(tokens, before);
  const done = current === null ? tokens : tokens.slice(0, -1);
  const gap = before.slice(done.at(-1)?.span.end ?? 0, current?.start ?? caret);
  if (gap.includes("//") || (gap === "" && done.at(-1)?.kind === "string")) return null;
  const expected = expectedAfter(done, gap === ".");
  const quote = /^['"]/.exec(current?.text ?? "")?.[0] ?? null;
  if (quote !== null && (expected.valuesOf ?? null) === null) return null;
  return {
    // A closing quote typed ahead is replaced together with the string.
    span: { start: current?.start ?? caret, end: quote !== null && text[caret] === quote ? caret + 1 : caret },
    typed: current?.text.replace(/^['"]|(?<=^@)['"]/, "") ?? "",
    words: expected.words ?? [],
    fields: expected.fields ?? null,
    valuesOf: expected.valuesOf ?? null,
    classes: expected.classes ?? false,
    table: tokens.length > 1 && isWord(tokens[1]!, "users") ? "users" : "events",
  };
}

/** Returns the tokens but the end; null for too long a text. A broken last word is a `fault`. */
function tokensOf(text: string): Token[] | null {
  try {
    return tokenize(text).filter(({ kind }) => kind !== "end");
  } catch {
    return null;
  }
}

/** Returns the word being typed: the last token, if nothing follows it. */
function currentWord(
  tokens: readonly Token[],
  before: string,
): { readonly text: string; readonly start: number } | null {
  const last = tokens.at(-1);
  if (last === undefined) return null;
  const { kind, text } = last;
  const { start, end } = last.span;
  // For an attribute with an open quote, the lexer yields the string alone.
  if (kind === "fault") return before[start - 1] === "@" ? { text: `@${text}`, start: start - 1 } : { text, start };
  if (end !== before.length || kind === "string") return null;
  // The dot before a class stays.
  if (kind === "class" || text === ".") return { text: text.slice(1), start: start + 1 };
  return kind === "symbol" ? null : { text, start };
}

const OF_GROUPS: ReadonlySet<string> = new Set(["HAVING", "COMPARE", "FILL"]);
const PERIODS = ["DAY", "HOUR", "WEEK", "MONTH", "SECONDS(", "MINUTES(", "HOURS(", "DAYS(", "BANDS("];
const AGGREGATES = ["COUNT", ...FUNCTIONS.filter((name) => name !== "COUNT").map((name) => `${name}(`), "P95("];
const STEPS = UNITS.map((unit) => `${unit}(`);

/** @param isClass whether a dot follows the tokens directly */
function expectedAfter(tokens: readonly Token[], isClass: boolean): Expected {
  const [first, table, key] = tokens;
  if (first === undefined) return { words: ["GET"] };
  if (table === undefined) return { words: ["events", "users"] };
  if (tokens.length === 2 && isClass && isWord(table, "events")) return { classes: true };
  const open = openParenthesis(tokens);
  if (open !== -1) return insideOf(tokens, open);
  const start = tokens.findLastIndex((token) => isClause(token));
  const rest = clausesLeft(tokens);
  if (start === -1) return { words: key === undefined || key.kind === "class" ? rest : ["OCCURS("] };
  return ofClause(tokens, start, rest);
}

function isClause(token: Token): boolean {
  return [...CLAUSES, "GROUP"].some((clause) => isWord(token, clause));
}

function clausesLeft(tokens: readonly Token[]): string[] {
  const isGrouped = tokens.some((token) => isWord(token, "GROUPBY") || isWord(token, "GROUP"));
  return CLAUSES.filter((clause) => !tokens.some((token) => isWord(token, clause)))
    .filter((clause) => (clause === "GROUPBY" ? !isGrouped : isGrouped || !OF_GROUPS.has(clause)))
    .map((clause) => (clause === "OCCURS" || clause === "COLUMNS" || clause === "COMPARE" ? `${clause}(` : clause));
}

/** Returns the index of the innermost open parenthesis, or -1. */
function openParenthesis(tokens: readonly Token[]): number {
  let depth = 0;
  for (let i = tokens.length - 1; i >= 0; i--) {
    if (isSymbol(tokens[i]!, ")")) depth += 1;
    else if (isSymbol(tokens[i]!, "(") && (depth -= 1) < 0) return i;
  }
  return -1;
}

function ofClause(tokens: readonly Token[], start: number, rest: readonly string[]): Expected {
  const clause = tokens[start]!.text.toUpperCase();
  const inner = tokens.slice(start + 1);
  const last = inner.at(-1);
  switch (clause) {
    case "WHERE":
      return ofCondition(inner, "compared", rest);
    case "HAVING":
      return ofCondition(inner, null, rest);
    case "GROUP":
    case "GROUPBY": {
      if (clause === "GROUP" && last === undefined) return { words: ["BY"] };
      const isKey = last === undefined || isSymbol(last, ",") || (isWord(last, "BY") && inner.length === 1);
      return isKey ? { words: PERIODS, fields: "grouped" } : { words: rest };
    }
    case "SORT": {
      const isGrouped = tokens.some((token) => isWord(token, "GROUPBY") || isWord(token, "GROUP"));
      if (last === undefined) return isGrouped ? { words: ["KEY", ...AGGREGATES] } : { fields: "sorted" };
      return { words: isWord(last, "ASC") || isWord(last, "DESC") ? rest : ["ASC", "DESC", ...rest] };
    }
    case "TAKE":
    case "SKIP":
    case "OCCURS":
    case "COLUMNS":
    case "COMPARE":
      return last === undefined ? {} : { words: rest };
    default:
      return { words: rest };
  }
}

/** Returns what continues a condition. `fields` is null for conditions on aggregates. */
function ofCondition(inner: readonly Token[], fields: "compared" | null, rest: readonly string[]): Expected {
  const last = inner.at(-1);
  const previous = inner.at(-2);
  const joins = (token: Token | undefined): boolean =>
    token === undefined || isSymbol(token, "(") || ["AND", "OR"].some((word) => isWord(token, word));
  const operand: Expected = fields === null ? { words: ["NOT", "KEY", ...AGGREGATES] } : { words: ["NOT"], fields };
  if (last === undefined || joins(last)) return operand;
  if (isWord(last, "NOT")) {
    if (previous !== undefined && isWord(previous, "IS")) return { words: ["NULL"] };
    return joins(previous) || isWord(previous!, "NOT") ? operand : { words: negatedTestsOf(previous!) };
  }
  if (isSymbol(last, "+") || isSymbol(last, "-"))
    return previous !== undefined && compareOp(previous) === null ? { words: STEPS } : {};
  if (isWord(last, "IS")) return { words: ["NULL", "NOT NULL"] };
  if (compareOp(last) !== null) {
    const isEquality = ["=", "!=", "<>"].some((sign) => isSymbol(last, sign));
    // In `LAST(created)`, the field determines the values.
    const field = fields === null && inner.at(-3)?.text.toLowerCase() === "created" ? inner.at(-3) : previous;
    return field === undefined ? {} : ofValues(field, isEquality);
  }
  if (["IN", "CONTAINS", "MATCHES", "WITHIN", "NEAR"].some((word) => isWord(last, word))) return {};
  const isName = last.kind === "word" || last.kind === "attribute";
  if (isName && (joins(previous) || isWord(previous!, "NOT")) && !isWord(last, "NULL"))
    return operatorsOf(last, fields);
  return { words: ["AND", "OR", ...rest] };
}

function isPlace(field: Token): boolean {
  return fieldName(field.value) === "geo";
}

function isData(field: Token): boolean {
  return fieldName(field.value) === "data";
}

/** Returns the tests that may follow a field and NOT. */
function negatedTestsOf(field: Token): string[] {
  if (isPlace(field)) return ["WITHIN (", "NEAR ("];
  return isData(field) ? ["CONTAINS", "MATCHES"] : ["IN (", "CONTAINS", "MATCHES"];
}

function operatorsOf(field: Token, fields: "compared" | null): Expected {
  if (fields === null) return { words: [">", ">=", "<", "<=", "=", "!=", "IS NULL"] };
  const name = fieldName(field.value);
  if (isPlace(field)) return { words: ["NEAR (", "WITHIN (", "IS NULL", "IS NOT NULL"] };
  if (isData(field)) return { words: ["CONTAINS", "MATCHES", "IS NULL", "IS NOT NULL"] };
  const isOrdered = name === "value" || name === "count" || name === "level" || DATES.has(name);
  const comparisons = isOrdered ? [">=", "<", "=", "!="] : ["=", "!=", "CONTAINS", "IN (", "MATCHES"];
  return { words: [...comparisons, "IS NULL", "IS NOT NULL"] };
}

function ofValues(field: Token, isEquality = true): Expected {
  const name = fieldName(field.value);
  if (DATES.has(name)) return { words: ["TODAY", "NOW"] };
  return isEquality ? { valuesOf: name } : {};
}

const DATES: ReadonlySet<string> = new Set(["created", "seen"]);

/** Returns what is expected inside the parenthesis at `open`. */
function insideOf(tokens: readonly Token[], open: number): Expected {
  const opener = tokens[open - 1];
  const inner = tokens.slice(open + 1);
  const last = inner.at(-1);
  const word = opener?.kind === "word" ? opener.text.toUpperCase() : "";
  const isNext = last === undefined || isSymbol(last, ",");
  if (word === "IN") {
    const field = tokens[isWord(tokens[open - 2]!, "NOT") ? open - 3 : open - 2];
    return isNext && field !== undefined ? ofValues(field) : {};
  }
  if (word === "COLUMNS") return ofColumns(tokens, isNext);
  if (word === "OCCURS") {
    if (last !== undefined && (isSymbol(last, "+") || isSymbol(last, "-"))) return { words: STEPS };
    return isNext ? { words: ["TODAY", "NOW"] } : {};
  }
  if (word === "RATE" || word === "COMPARE")
    return last === undefined ? { words: STEPS.filter((step) => step !== "MONTHS(" || word === "COMPARE") } : {};
  if (word === "BANDS" || ["AVG", "SUM", "MIN", "MAX"].includes(word) || parsePercent(word) !== null) {
    return last === undefined ? { fields: "numbers" } : {};
  }
  if (["DISTINCT", "FIRST", "LAST"].includes(word)) return last === undefined ? { fields: "grouped" } : {};
  if (["WITHIN", "NEAR", ...UNITS].includes(word)) return {};
  const clause = tokens.slice(0, open).findLast((token) => isClause(token));
  const isHaving = clause !== undefined && isWord(clause, "HAVING") && word !== "COUNT";
  return ofCondition(inner, isHaving ? null : "compared", []);
}

function ofColumns(tokens: readonly Token[], isNext: boolean): Expected {
  if (!isNext) return {};
  const isGrouped = tokens.some((token) => isWord(token, "GROUPBY") || isWord(token, "GROUP"));
  return isGrouped ? { words: ["KEY", ...AGGREGATES] } : { words: AGGREGATES, fields: "shown" };
}
