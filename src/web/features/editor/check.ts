import { LoggiaError } from "../../../errors.ts";
import type { LogKey } from "../../../events/event.ts";
import { QueryFault } from "../../../query/fault.ts";
import { tokenize } from "../../../query/lexer.ts";
import { planQuery } from "../../../query/planner.ts";
import { UTC } from "../../../query/zone.ts";
import type { TextSpan } from "../../../query/syntax.ts";
import { isWords, mayBeWords, searchFor } from "../../parts/query/simple.ts";

/** An error in a query, as found by the code that the service parses queries with. */
export type DescribedFault = {
  readonly span: TextSpan;
  /** Place and reason: `Column 18: events have no field "sorce".` */
  readonly words: string;
  /** Suggested replacement of the span. */
  readonly fix: string | null;
  /** Whether something is missing at the end, as while typing. */
  readonly isUnfinished: boolean;
  /** The query that searches the text for what was typed; null for the beginning of a query. */
  readonly search: string | null;
  /** Whether what was typed is words rather than a faulty query, so that Enter searches for it. */
  readonly isWords: boolean;
};

const TOO_MANY_WORDS = "These are more words than one query can hold. Search for fewer.";

/** Most tokens at the end that may be unfinished. */
const UNFINISHED_TOKENS = 12;

/**
 * Returns the error of a query; null if the service would accept it. If the end is unfinished, the
 * text before it is checked as well.
 */
export function checkQuery(text: string): DescribedFault | null {
  const last = faultOf(text);
  if (last === null) return null;
  const fault = (last.isUnfinished ? earlierFault(text) : null) ?? last;
  const search = mayBeWords(text) ? searchFor(text) : null;
  if (search === null) return fault;
  if (faultOf(search) !== null) return isWords(text) ? { ...fault, words: TOO_MANY_WORDS } : fault;
  const fix = wholeQuery(text.trim());
  if (fix !== null) return { ...fault, span: { start: 0, end: text.length }, fix, search };
  // A fix of a later word means that the first is a query's.
  return { ...fault, search, isWords: isWords(text) && (fault.fix === null || fault.span.start === 0) };
}

/** Returns the query of which a text is the end, such as a condition; null if it is of none. */
function wholeQuery(end: string): string | null {
  return [`GET events WHERE ${end}`, `GET events ${end}`].find((query) => faultOf(query) === null) ?? null;
}

function faultOf(text: string): DescribedFault | null {
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
        isWords: false,
      };
    }
    throw error;
  }
}

/** Finds an error before an unfinished end, which the parser reports before it checks fields. */
function earlierFault(text: string): DescribedFault | null {
  const ends = tokenize(text).map(({ span }) => span.start);
  for (const end of ends.slice(-UNFINISHED_TOKENS).toReversed()) {
    const fault = faultOf(text.slice(0, end));
    if (fault === null) return null;
    if (!fault.isUnfinished && fault.span.end < end) return fault;
  }
  return null;
}

function describe(text: string, { span, reason, fix, message }: QueryFault): DescribedFault {
  const [, line = "1", column = "1"] = /^Line (\d+), column (\d+):/.exec(message) ?? [];
  const isOneLine = !/[\r\n]/.test(text.trim());
  const place = isOneLine && line === "1" ? `Column ${column}` : `Line ${line}, column ${column}`;
  // The fix is a separate action.
  const words = fix === null ? reason : reason.replace(/ Did you mean .*\?$/, "");
  return {
    span,
    words: `${place}: ${words}`,
    fix,
    isUnfinished: span.start === span.end,
    search: null,
    isWords: false,
  };
}
