import type { ExecutionContext } from "ava";

import type { LogKey } from "../../src/events/event.ts";
import { planQuery } from "../../src/query/planner.ts";
import { fixedZone } from "../../src/query/zone.ts";

/**
 * A query and its expected fault. The caret stands below the first character of the part in
 * brackets.
 */
export type MarkedFault = readonly [marked: string, expected: string];

/** Returns the fault message of a query, "" if it is valid. */
export function faultOf(text: string): string {
  try {
    planQuery(text, { logs: ["shop" as LogKey], now_ms: Date.UTC(2011, 8, 19), zone: fixedZone(0) });
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

export function assertFaults(t: ExecutionContext, faults: readonly MarkedFault[]): void {
  for (const [marked, expected] of faults) {
    const text = marked.replace(/\[(.*)\]/, "$1");
    // A single blank in brackets stands before the position of the fault.
    const column = Array.from(marked.slice(0, marked.indexOf("["))).length + (marked.includes("[ ]") ? 1 : 0);
    t.is(faultOf(text), `Line 1, column ${column + 1}: ${expected}\n${text}\n${" ".repeat(column)}^`, marked);
  }
}
