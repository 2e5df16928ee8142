import { LoggiaError } from "../../../errors.ts";
import { tokenize } from "../../../query/lexer.ts";
import type { Token } from "../../../query/lexer.ts";
import { KEYWORDS } from "../../../query/parse-values.ts";
import { UNITS } from "../../../query/syntax.ts";
import type { TextSpan } from "../../../query/syntax.ts";

/** A part of a query that is drawn in one style. */
export type Shade = {
  readonly text: string;
  readonly kind: "keyword" | "literal" | "plain";
  readonly isFault: boolean;
};

const WORDS: ReadonlySet<string> = new Set([
  ...KEYWORDS,
  ...UNITS,
  ..."EVENTS USERS BY AS ASC DESC TODAY NOW WITHIN NEAR DAY HOUR WEEK MONTH BANDS".split(" "),
]);

/** Splits a query into shades; joined, they are its text. */
export function shadesOfQuery(text: string, fault: TextSpan | null = null): Shade[] {
  const shades: Shade[] = [];
  let at = 0;
  const add = (end: number, kind: Shade["kind"]) => {
    // A fault may begin and end within a token.
    const cuts = fault === null ? [] : [fault.start, fault.end].filter((cut) => cut > at && cut < end);
    for (const to of [...cuts, end]) {
      if (to <= at) continue;
      const isFault = fault !== null && at >= fault.start && to <= fault.end;
      shades.push({ text: text.slice(at, to), kind, isFault });
      at = to;
    }
  };
  for (const token of tokensOf(text)) {
    add(token.span.start, text.slice(at, token.span.start).includes("//") ? "keyword" : "plain");
    add(token.kind === "fault" ? text.length : token.span.end, kindOf(token));
  }
  add(text.length, "plain");
  return shades;
}

/** Returns no tokens for a query that is too long. */
function tokensOf(text: string): Token[] {
  try {
    return tokenize(text);
  } catch (error) {
    if (error instanceof LoggiaError) return [];
    throw error;
  }
}

function kindOf({ kind, text }: Token): Shade["kind"] {
  if (kind === "word") return WORDS.has(text.toUpperCase()) ? "keyword" : "plain";
  return kind === "string" || kind === "number" || kind === "date" ? "literal" : "plain";
}
