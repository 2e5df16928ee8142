import { REPEATED, lengthOf, stretchesOfPeriod } from "../../query/calendar.ts";
import type { Aggregate, GroupField, GroupPlan, Period } from "../../query/plan.ts";
import { spanOf } from "../../query/span.ts";
import type { Stretch } from "../../query/zone.ts";
import { AS_GIVEN, Binder, columnOf, directed, filter, hasFolds, tagsOf, unsupported } from "./compile.ts";
import type { Statement } from "./compile.ts";
import type { Known } from "./facts.ts";

/** Rows of the key and the aggregates. */
export function compileGroup(plan: GroupPlan, known: Known): Statement {
  const bind = new Binder(known);
  const { groups, start, order } = grouped(plan, bind);
  const aggregates = plan.aggregates.map(nameOf);
  const by = plan.sort.by === "key" ? "" : `"${aggregates[plan.sort.by]!}" ${directed(plan.sort.direction)}, `;
  if (plan.having !== null) throw unsupported("HAVING cannot be asked yet");
  const ties = directed(plan.sort.by === "key" ? plan.sort.direction : "asc");
  const take = plan.take === null ? "" : `limit ${bind.integer(plan.take)}`;
  return bind.statement(
    `select ${[`${start} as key`, ...aggregates.map((name) => `"${name}"`)].join(", ")}
     from (select *, "sum" / "values" as "avg" from (${groups}))
     order by ${by}${order.map((each) => `${each} ${ties}`).join(", ")} ${take} offset ${bind.integer(plan.skip)}`,
  );
}

/**
 * The groups of a plan, as rows of `key`, maybe `folded_key` (see `Facts`), and what they hold. Of
 * a group, `start` is what is shown, and `order` how groups sort. Texts are folded once for a
 * group, and not for each event.
 */
type Grouped = { readonly groups: string; readonly start: string; readonly order: readonly string[] };

// fsum carries the rounding error of each step along; plain sums drift with the order of the rows.
const OF_EVENTS = `count(*) as "count", count(value) as "values", fsum(value) as "sum", min(value) as "min", max(value) as "max"`;
const OF_GROUPS = `sum("count")::bigint as "count", sum("values")::bigint as "values", fsum("sum") as "sum", min("min") as "min", max("max") as "max"`;

function nameOf(aggregate: Aggregate): string {
  const { kind } = aggregate;
  if (kind === "count" && aggregate.where === null) return kind;
  if ((kind === "avg" || kind === "sum" || kind === "min" || kind === "max") && aggregate.of === "value") return kind;
  throw unsupported(`${kind} cannot be asked for yet`);
}

function grouped(plan: GroupPlan, bind: Binder): Grouped {
  const [by] = plan.by;
  if (by === undefined || plan.by.length > 1) throw unsupported("Groups have one key");
  if (by.kind === "period") return groupedByPeriod(plan, by, bind);
  if (by.kind === "bands") throw unsupported("BANDS cannot be asked for yet");
  const field = columnOf(by.field);
  return field === "tags" ? groupedByTag(plan, bind) : groupedByField(plan, field, bind);
}

function groupedByField(plan: GroupPlan, field: Exclude<GroupField, "tags" | "pattern">, bind: Binder): Grouped {
  if (field === "value") return { groups: groupsOf("value", plan, bind), start: "key", order: ["key"] };
  if (!hasFolds(field, bind)) {
    return { groups: groupsOf(AS_GIVEN[field], plan, bind), start: "key", order: ["lower(key)", "key"] };
  }
  const groups = `select key, any_value(folded_key) as folded_key, ${OF_EVENTS}
    from (select ${AS_GIVEN[field]} as key, folded."${field}" as folded_key, value from events where ${filter(plan, bind)}) group by key`;
  return { groups, start: "key", order: ["coalesce(folded_key, lower(key))", "key"] };
}

/**
 * An event is in the group of each of its tags, and in that of "" where it has none. Events are
 * grouped by all of their tags first, of which there are few, and those groups taken apart.
 */
function groupedByTag(plan: GroupPlan, bind: Binder): Grouped {
  const [line, each, any] = hasFolds("tags", bind)
    ? [
        ", any_value(folded.tags) as folded_tags",
        `, unnest(${tagsOf("coalesce(folded_tags, lower(tags))")}) as folded_key`,
        ", any_value(folded_key) as folded_key",
      ]
    : ["", "", ""];
  const groups = `select key${any}, ${OF_GROUPS}
    from (select unnest(${tagsOf("tags")}) as key${each}, "count", "values", "sum", "min", "max"
      from (select tags${line}, ${OF_EVENTS} from events where ${filter(plan, bind)} group by tags)) group by key`;
  return { groups, start: "key", order: [any === "" ? "lower(key)" : "folded_key", "key"] };
}

/**
 * Before all moments that there are, and the start of a day and an hour: counted from there,
 * division never meets a negative number, which it would round up.
 */
const BEFORE_ALL_MS = 100_000_001 * 86_400_000;

/**
 * Days or hours of the clock, by number; where it repeats hours, twice that and 1 for the second
 * time.
 */
function groupedByPeriod(plan: GroupPlan, by: Period, bind: Binder): Grouped {
  const early_ms = bind.known.facts.has("early") ? BEFORE_ALL_MS : 0;
  const length_ms = lengthOf(by);
  if (length_ms === null || by.unit === "weeks" || by.count !== 1)
    throw unsupported("Such groups of time have to wait");
  const length = bind.integer(length_ms);
  const [from_ms, to_ms] = spanOf(plan.where);
  const stretches = stretchesOfPeriod(by, from_ms, to_ms);
  const number = ({ offset_ms }: Stretch): string => {
    const shift_ms = offset_ms + early_ms;
    return shift_ms === 0 ? `created // ${length}` : `(created + ${bind.integer(shift_ms)}) // ${length}`;
  };
  const start = (key: string): string =>
    early_ms === 0 ? `${key} * ${length}` : `${key} * ${length} - ${bind.integer(early_ms)}`;
  if (!stretches.some(({ repeated }) => repeated)) {
    return { groups: groupsOf(byStretch(stretches, number, bind), plan, bind), start: start("key"), order: ["key"] };
  }
  const twice = byStretch(stretches, (stretch) => `2 * (${number(stretch)}) + ${stretch.repeated ? 1 : 0}`, bind);
  const key = `${start("(key // 2)")} + (key % 2) * ${bind.integer(REPEATED)}`;
  return { groups: groupsOf(twice, plan, bind), start: key, order: ["key"] };
}

/**
 * What `of` says of the stretch of each event: halved and halved again, so that an event meets few
 * comparisons.
 */
function byStretch(stretches: readonly Stretch[], of: (stretch: Stretch) => string, bind: Binder): string {
  if (stretches.length === 1) return of(stretches[0]!);
  const middle = stretches.length >> 1;
  const [before, after] = [stretches.slice(0, middle), stretches.slice(middle)];
  return `case when created < ${bind.integer(after[0]!.from_ms)} then ${byStretch(before, of, bind)} else ${byStretch(after, of, bind)} end`;
}

function groupsOf(key: string, plan: GroupPlan, bind: Binder): string {
  return `select key, ${OF_EVENTS} from (select ${key} as key, value from events where ${filter(plan, bind)}) group by key`;
}
