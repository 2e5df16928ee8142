import type { Condition } from "./plan.ts";

/**
 * Moments of `created` outside of which a condition holds for no event: from the first to the last
 * one that may match, in milliseconds since the Unix epoch. The span may be too wide, never too
 * narrow.
 */
export function spanOf(condition: Condition): readonly [from_ms: number, to_ms: number] {
  if (condition.kind === "and") {
    const spans = condition.conditions.map(spanOf);
    return [Math.max(-Infinity, ...spans.map(([from]) => from)), Math.min(Infinity, ...spans.map(([, to]) => to))];
  }
  if (condition.kind !== "number" || condition.field !== "created") return [-Infinity, Infinity];
  const { op, value } = condition;
  return [op === "<" || op === "<=" ? -Infinity : value, op === ">" || op === ">=" ? Infinity : value];
}
