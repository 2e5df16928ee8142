import type { Condition } from "./plan.ts";

/**
 * Returns the span of `created` outside of which a condition matches no event, both ends inclusive,
 * in milliseconds since the Unix epoch. The span may be too wide, never too narrow.
 */
export function conditionTimeBounds(condition: Condition): readonly [from_ms: number, to_ms: number] {
  if (condition.kind === "and") {
    const spans = condition.conditions.map(conditionTimeBounds);
    return [Math.max(-Infinity, ...spans.map(([from]) => from)), Math.min(Infinity, ...spans.map(([, to]) => to))];
  }
  if (condition.kind !== "number" || condition.field !== "created") return [-Infinity, Infinity];
  const { op, value } = condition;
  return [op === "<" || op === "<=" ? -Infinity : value, op === ">" || op === ">=" ? Infinity : value];
}

/**
 * Returns the range of `created` that the conjuncts of a condition define: from (inclusive) to
 * (exclusive), in whole milliseconds since the Unix epoch.
 */
export function conditionTimeRange(condition: Condition): { readonly from_ms: number; readonly to_ms: number } {
  const range = { from_ms: -Infinity, to_ms: Infinity };
  const narrow = (part: Condition): void => {
    if (part.kind === "and") part.conditions.forEach(narrow);
    if (part.kind !== "number" || part.field !== "created") return;
    const { op, value } = part;
    if (op !== "<" && op !== "<=") {
      range.from_ms = Math.max(range.from_ms, op === ">" ? Math.floor(value) + 1 : Math.ceil(value));
    }
    if (op !== ">" && op !== ">=") {
      range.to_ms = Math.min(range.to_ms, op === "<" ? Math.ceil(value) : Math.floor(value) + 1);
    }
  };
  narrow(condition);
  return range;
}
