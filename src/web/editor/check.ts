import { LoggiaError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import { QueryFault } from "../../query/fault.ts";
import { tokenize } from "../../query/lexer.ts";
import { planQuery } from "../../query/planner.ts";
import { UTC } from "../../query/zone.ts";
import type { Span } from "../../query/syntax.ts";
import { isWords, searchFor } from "../ask/simple.ts";

/** An error in a query, as found by the code that the service parses queries with. */
export type Fault = {
  readonly span: Span;
  /** Place and reason: `Column 18: events have no field "sorce".` */
  readonly words: string;
  /** Suggested replacement of the span. */
  readonly fix: string | null;
  /** Whether something is missing at the end, as while typing. */
  readonly isUnfinished: boolean;
  /** The query that searches the text for what was typed, if that is words; else null. */
  readonly search: string | null;
};

/** Most tokens at the end that may be unfinished. */
const UNFINISHED_TOKENS = 12;

/**
 * Returns the error of a query; null if the service would accept it. If the end is unfinished, the
 * text before it is checked as well.
 */
export function checkQuery(text: string): Fault | null {
  const fault = faultOf(text);
  if (fault === null) return null;
  const search = isWords(text) ? searchFor(text) : null;
  return { ...((fault.isUnfinished ? earlierFault(text) : null) ?? fault), search };
}

function faultOf(text: string): Fault | null {
  try {
    // Whether a query is valid depends neither on the log nor on the clock.
    planQuery(text, { logs: ["log" as LogKey], now_ms: 0, zone: UTC });
    return null;
  } catch (error) {
    if (error instanceof QueryFault) return describe(text, error);
    if (error instanceof LoggiaError) {
      return {
        span: { start: 0, end: text.length },
        words: `${error.message}.`,
        fix: null,
        isUnfinished: false,
        search: null,
      };
    }
    throw error;
  }
}

/** Finds an error before an unfinished end, which the parser reports before it checks fields. */
function earlierFault(text: string): Fault | null {
  const ends = tokenize(text).map(({ span }) => span.start);
  for (const end of ends.slice(-UNFINISHED_TOKENS).toReversed()) {
    const fault = faultOf(text.slice(0, end));
    if (fault === null) return null;
    if (!fault.isUnfinished && fault.span.end < end) return fault;
  }
  return null;
}

function describe(text: string, { span, reason, fix, message }: QueryFault): Fault {
  const [, line = "1", column = "1"] = /^Line (\d+), column (\d+):/.exec(message) ?? [];
  const isOneLine = !/[\r\n]/.test(text.trim());
  const place = isOneLine && line === "1" ? `Column ${column}` : `Line ${line}, column ${column}`;
  // The fix is a separate action.
  const words = fix === null ? reason : reason.replace(/ Did you mean .*\?$/, "");
  return { span, words: `${place}: ${words}`, fix, isUnfinished: span.start === span.end, search: null };
}
