import { LoggiaError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import { QueryFault } from "../../query/fault.ts";
import { tokenize } from "../../query/lexer.ts";
import { planQuery } from "../../query/planner.ts";
import { UTC } from "../../query/zone.ts";
import type { Span } from "../../query/syntax.ts";

/** What is wrong with a query, by the code that the service reads it with. */
export type Fault = {
  readonly span: Span;
  /** Place and reason: `Column 18: events have no field "sorce".` */
  readonly words: string;
  /** What was probably meant in place of the span. */
  readonly fix: string | null;
  /** Whether something is missing at the end, as while a query is being typed. */
  readonly isUnfinished: boolean;
};

/** How many words at the end may be about to be typed. */
const UNFINISHED_TOKENS = 12;

/**
 * null where the service would take the query. While its end is unfinished, a fault in what stands
 * before that is found as well.
 */
export function checkQuery(text: string): Fault | null {
  const fault = faultOf(text);
  if (fault?.isUnfinished !== true) return fault;
  return earlierFault(text) ?? fault;
}

function faultOf(text: string): Fault | null {
  try {
    // Neither the log nor the clock changes what is a fault.
    planQuery(text, { logs: ["log" as LogKey], now_ms: 0, zone: UTC });
    return null;
  } catch (error) {
    if (error instanceof QueryFault) return describe(text, error);
    if (error instanceof LoggiaError) {
      return { span: { start: 0, end: text.length }, words: `${error.message}.`, fix: null, isUnfinished: false };
    }
    throw error;
  }
}

/** The parser is done with the end before anything is known of fields: the start is looked at without the end. */
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
  // The fix is offered as an action.
  const words = fix === null ? reason : reason.replace(/ Did you mean .*\?$/, "");
  return { span, words: `${place}: ${words}`, fix, isUnfinished: span.start === span.end };
}
