import type { LogKey, UserId } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import type { FieldName, FieldsWith } from "../events/schema.ts";
import type { Zone } from "./zone.ts";

/**
 * The meaning of a query, from list parameters or LQL: a tree of tagged, frozen, JSON-serialisable
 * values. Front ends build plans; each store compiles them. A plan contains no clock, and time
 * zones only as numbers.
 */
export type Plan = ListPlan | GroupPlan | UsersPlan;

/** Where records come from: all events, or one user's bookmarks or alerts. */
export type RecordSource =
  | { readonly kind: "events" }
  | { readonly kind: "bookmarks"; readonly user: UserId }
  | {
      readonly kind: "alerts";
      readonly user: UserId;
      /** Restricts the alerts to those that the user has seen, or has not. */
      readonly state?: "seen" | "unseen";
    };

export type ListPlan = {
  readonly kind: "list";
  readonly from: RecordSource;
  /** Only events of these logs. An empty list finds nothing. */
  readonly logs: readonly LogKey[];
  readonly where: Condition;
  /**
   * Texts compare folded; absent values sort before all others. Ties are broken by (`created`,
   * `id`) in the direction of the last key. Empty means (`created`, `id`) ascending.
   */
  readonly sort: readonly SortKey[];
  readonly skip: number;
  readonly take: number;
  /** The fields that the view shows, in order; null: all of {@link EVENT_FIELDS}. */
  readonly columns: readonly EventColumn[] | null;
};

/**
 * Groups of events, by up to three keys. An event with several values of a key belongs to the group
 * of each. Without keys there is exactly one group, even if no event is found.
 */
export type GroupPlan = {
  readonly kind: "group";
  readonly from: RecordSource;
  readonly logs: readonly LogKey[];
  readonly where: Condition;
  readonly by: readonly Grouping[];
  /** What the store computes for each group, without duplicates. */
  readonly aggregates: readonly Aggregate[];
  /** Filters groups before sort, skip and take. */
  readonly having: HavingCondition | null;
  /**
   * Order by all keys, or by the aggregate with this index. Ties are broken by the keys in order,
   * ascending. Absent keys and aggregates sort first; numbers sort by value, texts folded and then
   * exact. Attribute values that spell a number sort by it, before texts. See `orderOfGroups` of
   * groups.ts.
   */
  readonly sort: { readonly by: "key" | number; readonly direction: Direction };
  readonly skip: number;
  /** null returns every group. */
  readonly take: number | null;
};

/**
 * Users of the producer's application, tracked by visits: one record for each log and user.
 * Conditions and sort use the fields of {@link UserField} and see the record, not single visits.
 */
export type UsersPlan = {
  readonly kind: "users";
  readonly logs: readonly LogKey[];
  readonly where: UserCondition;
  /**
   * Texts compare folded; absent values sort before all others. Ties are broken by (`user`, log) in
   * the direction of the last key. Empty means ascending.
   */
  readonly sort: readonly { readonly field: UserField; readonly direction: Direction }[];
  readonly skip: number;
  readonly take: number;
  readonly columns: readonly UserField[] | null;
};

export type Direction = "asc" | "desc";
export type SortKey = { readonly field: SortField; readonly direction: Direction };

/** An attribute: `@` and its exact, case-sensitive name. */
export type AttributeField = `@${string}`;

/** Where numbers come from. For an attribute, each value that spells a number counts. */
export type NumberSource = "value" | AttributeField;

export type Grouping = FieldGrouping | Period | Bands | Places | Levels;

/** By the exact values of a field; "" or null if absent, see {@link Group} of the store. */
export type FieldGrouping = { readonly kind: "field"; readonly field: GroupField | AttributeField };

/**
 * By time, on the clock of `zone`. A count of seconds divides a minute, of minutes an hour, of
 * hours a day. Days count from 1970-01-01; weeks begin on Monday; the count of weeks and months is
 * 1. An hour that the clock shows twice forms separate groups if periods are at most an hour.
 */
export type Period = {
  readonly kind: "period";
  readonly unit: PeriodUnit;
  readonly count: number;
  readonly zone: Zone;
};
export type PeriodUnit = "seconds" | "minutes" | "hours" | "days" | "weeks" | "months";

/**
 * By bands of a number: below the first bound, from each bound (inclusive) to the next (exclusive),
 * from the last one on. Bounds ascend. The key is the index of the band, from 0.
 */
export type Bands = { readonly kind: "bands"; readonly of: NumberSource; readonly bounds: readonly number[] };

/**
 * By place. The key is {@link keyOfPlace} of the event's coordinates, or "" if it has no place or
 * one that is known only by an IP address. Keys ascend from south to north, then from west to east,
 * after "".
 */
export type Places = { readonly kind: "place" };

/** By the level that tags name. The key is its rank, see `LEVELS` of `src/events/level.ts`. */
export type Levels = { readonly kind: "level" };

/** What a store computes of the events of a group. Absent values are ignored, except by `count`. */
export type Aggregate =
  /** Number of events; with `where`, number of those that meet it. */
  | { readonly kind: "count"; readonly where: Condition | null }
  /** null if there is no number. */
  | { readonly kind: "avg" | "sum" | "min" | "max"; readonly of: NumberSource }
  /** A number that `percent` percent of all do not exceed, within 1 % of rank or one rank. */
  | { readonly kind: "percentile"; readonly of: NumberSource; readonly percent: number }
  /** Number of distinct exact values: exact up to 10,000, within 2 % beyond. */
  | { readonly kind: "distinct"; readonly field: GroupField | AttributeField }
  /**
   * The value of the first or last event, by (`created`, `id`), that has one; if it has several,
   * the first. A number for `created` and `value`, otherwise a text; null if no event has one.
   */
  | { readonly kind: "first" | "last"; readonly field: GroupField | AttributeField | "id" | "created" };

/** A condition on the aggregates of a group, given by index. A comparison with null is false. */
export type HavingCondition =
  | { readonly kind: "and"; readonly conditions: readonly HavingCondition[] }
  | { readonly kind: "or"; readonly conditions: readonly HavingCondition[] }
  | { readonly kind: "not"; readonly condition: HavingCondition }
  | { readonly kind: "compare"; readonly aggregate: number; readonly op: ComparisonOp; readonly value: number }
  | { readonly kind: "absent"; readonly aggregate: number };

/** A column of a list. `attributes` stands for all attributes. */
export type EventColumn = FieldName | "attributes" | AttributeField;

/** The columns of groups that have a fixed name, in order. Numbers are those of `value`. */
export const AGGREGATE_FIELDS = ["key", "count", "avg", "sum", "min", "max"] as const;

/** Most aggregates of a query. Each is work for the engine. */
export const MOST_AGGREGATES = 50;

export const USER_FIELDS = ["user", "email", "page", "created", "seen", "count"] as const;
export type UserField = (typeof USER_FIELDS)[number];

/**
 * Fields that hold text. An absent `link`, `source` or `user` is "", an absent `class` is null;
 * `tags` holds any number of texts. `filter` is `class`.
 */
export type TextField = Exclude<FieldsWith<{ type: "text" }>, "filter">;
export type NumberField = FieldsWith<{ type: "number" | "date" }>;
/** Fields that a condition on events can use. */
export type ConditionField = TextField | NumberField | AttributeField;
export type SortField = FieldsWith<{ sorts: true }> | AttributeField;
export type GroupField = FieldsWith<{ groups: true }>;

/**
 * A condition on one event. Logic is two-valued: a comparison with an absent field ("" or null, no
 * tag) is false, except equality with "" itself, and `not` is the plain complement. On `tags` a
 * comparison holds if it holds for any tag.
 *
 * On an attribute a comparison holds if it holds for any value. Values of all kinds have a text,
 * and "" is a value. `number` holds if the text spells a number that compares. Front ends express
 * equality with a text that spells a number as `number`.
 */
export type Condition<Field extends string = ConditionField> =
  /** An empty `and` matches everything, an empty `or` nothing. */
  | { readonly kind: "and"; readonly conditions: readonly Condition<Field>[] }
  | { readonly kind: "or"; readonly conditions: readonly Condition<Field>[] }
  | { readonly kind: "not"; readonly condition: Condition<Field> }
  | Comparison<Field>;

/** A single comparison, the leaf of a condition. */
export type Comparison<Field extends string = ConditionField> =
  /**
   * `value` is folded (see {@link fold}) and compares by code point with the folded field. Equality
   * with "" matches an absent field.
   */
  | { readonly kind: "text"; readonly field: Field; readonly op: ComparisonOp; readonly value: string }
  /** The field equals one of these folded values. */
  | { readonly kind: "in"; readonly field: Field; readonly values: readonly string[] }
  /** `created` in milliseconds since the Unix epoch; `value` in its own unit. */
  | { readonly kind: "number"; readonly field: Field; readonly op: ComparisonOp; readonly value: number }
  /** The field contains this non-empty text, ignoring case: `matches` with the text quoted. */
  | { readonly kind: "contains"; readonly field: SearchedField<Field>; readonly value: string }
  /**
   * An RE2 expression matches anywhere in the field, ignoring case. The front end has validated it.
   */
  | { readonly kind: "matches"; readonly field: SearchedField<Field>; readonly pattern: string }
  /** The field is absent: "", null, no tag, no place, no data. */
  | { readonly kind: "absent"; readonly field: Field | "geo" | "data" }
  /** The place lies inside, edges included. The box crosses 180° if `west` > `east`. Degrees. */
  | {
      readonly kind: "geo-within";
      readonly south: number;
      readonly west: number;
      readonly north: number;
      readonly east: number;
    }
  /** The place is at most `km` away, on a sphere of {@link EARTH_RADIUS_KM}. */
  | { readonly kind: "geo-near"; readonly lat: number; readonly lon: number; readonly km: number }
  /** The record's id is larger than this id, which need not exist. */
  | { readonly kind: "accepted-after"; readonly id: EventId };

/** A field whose text can be searched. `data` can be searched, but neither compared nor sorted. */
export type SearchedField<Field extends string = ConditionField> = Field | "data";

/** A condition that searches the data of an event. */
export type DataSearch = Extract<Comparison, { kind: "contains" | "matches" }> & { readonly field: "data" };

/** Returns whether a comparison searches the data of an event. */
export function isDataSearch(comparison: Comparison): comparison is DataSearch {
  return (comparison.kind === "contains" || comparison.kind === "matches") && comparison.field === "data";
}

/** Returns the searches of data in the condition of a plan and in those of its counts. */
export function dataSearchesInPlan(plan: ListPlan | GroupPlan): DataSearch[] {
  const counted =
    plan.kind === "list"
      ? []
      : plan.aggregates.flatMap((each) => (each.kind === "count" && each.where !== null ? [each.where] : []));
  const found: DataSearch[] = [];
  for (const condition of [plan.where, ...counted]) {
    someComparison(condition, (each) => {
      if (isDataSearch(each)) found.push(each);
      return false;
    });
  }
  return found;
}

export const EARTH_RADIUS_KM = 6_371.0088;

/** Returns whether any comparison of a condition, negated or not, passes a test. */
export function someComparison<Field extends string>(
  condition: Condition<Field>,
  test: (comparison: Comparison<Field>) => boolean,
): boolean {
  if (condition.kind === "not") return someComparison(condition.condition, test);
  if (condition.kind !== "and" && condition.kind !== "or") return test(condition);
  return condition.conditions.some((part) => someComparison(part, test));
}

/** A condition on a tracked user. Only `email` and `page` can be absent (""). */
export type UserCondition = Condition<UserField>;

/** Inequality is expressed as `not` of `=`. */
export type ComparisonOp = "=" | "<" | "<=" | ">" | ">=";

export function isAttribute(field: string): field is AttributeField {
  return field.startsWith("@");
}

/** The condition that every event meets. */
export const EVERYTHING: Condition<never> = Object.freeze({ kind: "and", conditions: Object.freeze([]) });

/** Freezes `plan` and everything that it contains. */
export function freezePlan<P extends Plan>(plan: P): P {
  return deepFreeze(plan);
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
