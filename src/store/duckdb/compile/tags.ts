import type { Aggregate, GroupPlan } from "../../../query/plan.ts";
import type { Binder } from "./binder.ts";
import { eventsTableSql, filter } from "./compile.ts";
import { MERGED_SUMS, summedAggregate, sumsOfColumn } from "./number-sums.ts";
import { foldedText, hasFolds, splitTagsSql } from "./condition.ts";

/** Returns whether {@link groupsByTags} can answer a plan. */
export function isByTags({ by, aggregates }: GroupPlan): boolean {
  const [first, second] = by;
  if (first?.kind !== "field" || first.field !== "tags" || second !== undefined) return false;
  return aggregates.every((aggregate) => summedAggregate(aggregate) !== null);
}

const SUMS = Object.entries(sumsOfColumn("value"));
const SUMS_OF_EVENTS = SUMS.map(([name, sql]) => `${sql} as "${name}"`).join(", ");
const SUMS_OF_GROUPS = SUMS.map(([name]) => `"${name}"`).join(", ");

/** Returns the SQL of an aggregate of the parts of a group. */
function mergedValue(aggregate: Aggregate): string {
  const summed = summedAggregate(aggregate)!;
  return summed === "count" ? `sum("count")::bigint` : summed.sql(MERGED_SUMS);
}

/**
 * Groups by tags: events are first grouped by their combination of tags, of which there are few,
 * and these groups are then split by tag.
 */
export function groupsByTags(plan: GroupPlan, bind: Binder): string {
  const lines = hasFolds("tags", bind) ? "tags, folded.tags" : "tags";
  const folded = hasFolds("tags", bind) ? `any_value(${foldedText("tags", bind)})` : "lower(tags)";
  const values = plan.aggregates.map((aggregate, i) => `${mergedValue(aggregate)} as a${i}`);
  return `select k0, ${["any_value(f0) as f0", ...values].join(", ")}
    from (select unnest(${splitTagsSql("tags")}) as k0, unnest(${splitTagsSql("folded_tags")}) as f0,
        "count", ${SUMS_OF_GROUPS}
      from (select tags, ${folded} as folded_tags, count(*) as "count", ${SUMS_OF_EVENTS}
        from ${eventsTableSql(plan, bind)} where ${filter(plan, bind)} group by ${lines}))
    group by k0`;
}
