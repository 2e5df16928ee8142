import { LoggiaError } from "../../../errors.ts";
import { EVENTS, USERS, canonical } from "../../../query/fields.ts";
import { QueryFault } from "../../../query/fault.ts";
import { tokenize } from "../../../query/lexer.ts";
import type { Token } from "../../../query/lexer.ts";
import { FUNCTIONS } from "../../../query/parse-groups.ts";
import { parseQuery } from "../../../query/parser.ts";
import { isWord } from "../../../query/token-cursor.ts";
import type { Expected } from "../../../query/token-cursor.ts";
import { PERIOD_UNITS, UNITS } from "../../../query/syntax.ts";
import type { Name, TextSpan } from "../../../query/syntax.ts";
import { fieldName } from "../../parts/query/print.ts";

/** What can be typed at the caret. */
export type CompletionContext = {
  /** The span that a completion replaces: the typed part of the word, up to the caret. */
  readonly span: TextSpan;
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

type Offered = Partial<Pick<CompletionContext, "words" | "fields" | "valuesOf">>;

/** Returns what the caret expects; null within words, comments and strings without a field. */
export function completionContextAt(text: string, caret: number): CompletionContext | null {
  const before = text.slice(0, caret);
  const tokens = tokensOf(before);
  if (tokens === null || /^[\p{L}\p{N}_]/u.test(text.slice(caret))) return null;
  const current = currentWord(tokens, before);
  const done = current === null ? tokens : tokens.slice(0, -1);
  const start = current?.start ?? caret;
  const gap = before.slice(done.at(-1)?.span.end ?? 0, start);
  if (gap.includes("//") || (gap === "" && done.at(-1)?.kind === "string")) return null;
  const table = tokens.length > 1 && isWord(tokens[1]!, "users") ? "users" : "events";
  const expected = expectedAfter(before.slice(0, start));
  const isClass = gap === "." && expected.phrase === "the key of a class right after the dot";
  const offered = gap === "." ? {} : offeredFor(expected, done);
  const quote = /^['"]/.exec(current?.text ?? "")?.[0] ?? null;
  if (quote !== null && (offered.valuesOf ?? null) === null) return null;
  return {
    // A closing quote typed ahead is replaced together with the string.
    span: { start, end: quote !== null && text[caret] === quote ? caret + 1 : caret },
    typed: current?.text.replace(/^['"]|(?<=^@)['"]/, "") ?? "",
    words: offered.words ?? [],
    fields: offered.fields ?? null,
    valuesOf: offered.valuesOf ?? null,
    classes: isClass && table === "events",
    table,
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

/** Texts that replace an unexpected one, in turn, so that what follows it can be parsed. */
const REPAIRS = ["=", "''", "1", ""];
const MOST_REPAIRS = 40;

/** Returns what the parser expects after a text. Faults within the text are repaired. */
function expectedAfter(text: string): Expected {
  let repaired = text;
  for (let repairs = 0; ; repairs++) {
    const expected: Expected = { words: new Set(), phrase: null, field: null };
    const span = faultOf(repaired, expected);
    const isNoted = expected.words.size > 0 || expected.phrase !== null;
    if (span === null || isNoted || span.start === repaired.length || repairs === MOST_REPAIRS) return expected;
    const repair = REPAIRS[REPAIRS.indexOf(repaired.slice(span.start, span.end)) + 1]!;
    repaired = `${repaired.slice(0, span.start)}${repair} ${repaired.slice(span.end)}`;
  }
}

/** Returns the place of the first fault; null if there is none. */
function faultOf(text: string, expected: Expected): TextSpan | null {
  try {
    parseQuery(text, { takeLimit: Infinity, expected });
    return null;
  } catch (error) {
    if (!(error instanceof LoggiaError)) throw error;
    // A repaired text can be too long.
    return error instanceof QueryFault ? error.span : null;
  }
}

/** Words that are offered with their parenthesis. */
const CALLED: ReadonlySet<string> = new Set(["OCCURS", "COLUMNS", "COMPARE", ...UNITS]);
const PERIODS = ["DAY", "HOUR", "WEEK", "MONTH", ...PERIOD_UNITS.map((unit) => `${unit}(`), "BANDS("];
const AGGREGATES = ["COUNT", ...FUNCTIONS.filter((name) => name !== "COUNT").map((name) => `${name}(`), "P95("];
const OF_ANY_FIELD = ["DISTINCT", "FIRST", "LAST"];
const EQUALITIES: ReadonlySet<string> = new Set(["=", "!=", "<>", "(", ","]);
const OF_KEYS = ["KEY", ...AGGREGATES];

/** Returns the useful part of what is expected. */
function offeredFor({ words, phrase, field }: Expected, tokens: readonly Token[]): Offered {
  const isGrouped = tokens.some((token) => isWord(token, "GROUPBY") || isWord(token, "GROUP"));
  switch (phrase) {
    case 'a field, NOT or "("':
      return { words: ["NOT"], fields: "compared" };
    case 'an aggregate, NOT or "("':
      return { words: ["NOT", ...OF_KEYS] };
    case "the name of a column":
      return isGrouped ? { words: OF_KEYS } : { words: AGGREGATES, fields: "shown" };
    case "the field to sort by":
      return isGrouped ? { words: OF_KEYS } : { fields: "sorted" };
    case "DAY, HOUR or the field to group by":
      return { words: PERIODS, fields: "grouped" };
    case "value or an attribute such as @duration":
      return { fields: "numbers" };
    case "a field":
      return { fields: OF_ANY_FIELD.some((name) => isWord(tokens.at(-2)!, name)) ? "grouped" : "numbers" };
    case "a string, a number or a date":
      if (words.size > 0) return { words: [...words] };
      return EQUALITIES.has(tokens.at(-1)!.text) ? { valuesOf: fieldName(field!.text) } : {};
    case "a name after AS":
    case "the key of a class right after the dot":
      return {};
    case null:
      return { words: offeredWords(words, field, hiddenWords(tokens, isGrouped)) };
  }
  throw phrase satisfies never;
}

/** Returns the words that are valid syntax, but a fault without groups or in a rate. */
function hiddenWords(tokens: readonly Token[], isGrouped: boolean): readonly string[] {
  if (tokens.at(-2)?.text.toUpperCase() === "RATE") return ["MONTHS"];
  return isGrouped ? [] : ["HAVING", "COMPARE", "FILL"];
}

function offeredWords(expected: ReadonlySet<string>, field: Name | null, hidden: readonly string[]): string[] {
  if (expected.has("CONTAINS")) return testsOf(field!, !expected.has("IS"));
  if (expected.has("IS")) return [">", ">=", "<", "<=", "=", "!=", "IS NULL"];
  if (expected.has("NULL")) return expected.has("NOT") ? ["NULL", "NOT NULL"] : ["NULL"];
  const words = [...expected].filter((word) => !hidden.includes(word));
  return words.map((word) => (CALLED.has(word) ? `${word}(` : word));
}

/** Returns the tests that are useful for a field. */
function testsOf({ text }: Name, isNegated: boolean): string[] {
  const name = canonical(text);
  const type = EVENTS.fields.get(name)?.type ?? USERS.fields.get(name)?.type;
  const nullity = isNegated ? [] : ["IS NULL", "IS NOT NULL"];
  if (type === "place") return ["NEAR (", "WITHIN (", ...nullity];
  if (type === "searched") return ["CONTAINS", "MATCHES", ...nullity];
  if (isNegated) return ["IN (", "CONTAINS", "MATCHES"];
  const isOrdered = type === "number" || type === "date" || type === "level";
  return [...(isOrdered ? [">=", "<", "=", "!="] : ["=", "!=", "CONTAINS", "IN (", "MATCHES"]), ...nullity];
}
