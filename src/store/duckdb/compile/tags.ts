import type { Aggregate, GroupPlan } from "../../../query/plan.ts";
import type { Binder } from "./binder.ts";
import { eventsTableSql, filter } from "./compile.ts";
import { foldedText, hasFolds, splitTagsSql } from "./condition.ts";

/** Returns whether {@link groupsByTags} can answer a plan. */
export function isByTags({ by, aggregates }: GroupPlan): boolean {
  const [first, second] = by;
  if (first?.kind !== "field" || first.field !== "tags" || second !== undefined) return false;
  return aggregates.every(isAdded);
}

/** Returns whether an aggregate can be combined from those of parts of a group. */
function isAdded(aggregate: Aggregate): boolean {
  if (aggregate.kind === "count") return aggregate.where === null;
  const { kind } = aggregate;
  return (kind === "avg" || kind === "sum" || kind === "min" || kind === "max") && aggregate.of === "value";
}

const OF_EVENTS = `count(*) as "count", count(value) as "values", fsum(value) as "sum", min(value) as "min",
  max(value) as "max"`;
const OF_GROUPS: Record<string, string> = {
  count: `sum("count")::bigint`,
  avg: `fsum("sum") / sum("values")`,
  sum: `fsum("sum")`,
  min: `min("min")`,
  max: `max("max")`,
};

/**
 * Groups by tags: events are first grouped by their combination of tags, of which there are few,
 * and these groups are then split by tag.
 */
export function groupsByTags(plan: GroupPlan, bind: Binder): string {
  const lines = hasFolds("tags", bind) ? "tags, folded.tags" : "tags";
  const folded = hasFolds("tags", bind) ? `any_value(${foldedText("tags", bind)})` : "lower(tags)";
  const values = plan.aggregates.map(({ kind }, i) => `${OF_GROUPS[kind]!} as a${i}`);
  return `select k0, ${["any_value(f0) as f0", ...values].join(", ")}
    from (select unnest(${splitTagsSql("tags")}) as k0, unnest(${splitTagsSql("folded_tags")}) as f0,
        "count", "values", "sum", "min", "max"
      from (select tags, ${folded} as folded_tags, ${OF_EVENTS}
        from ${eventsTableSql(plan, bind)} where ${filter(plan, bind)} group by ${lines}))
    group by k0`;
}
