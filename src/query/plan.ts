import type { LogKey, UserId } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import type { Zone } from "./zone.ts";

/**
 * What a question means, whether it was asked by list parameters or in LQL: a tree of tagged, frozen, JSON-serialisable values.
 * Front ends make plans; the compiler of each store reads them. A plan holds no clock and no time zone but as numbers.
 */
export type Plan = ListPlan | GroupPlan | UsersPlan;

/** Which records: all events, or one person's marked ones. */
export type Source =
  | { readonly kind: "events" }
  | { readonly kind: "bookmarks"; readonly user: UserId }
  | { readonly kind: "alerts"; readonly user: UserId };

export type ListPlan = {
  readonly kind: "list";
  readonly from: Source;
  /** Only events of these logs. An empty list finds nothing. */
  readonly logs: readonly LogKey[];
  readonly where: Condition;
  /**
   * Texts compare folded; absent values are smaller than all others. Ties are broken by (`created`, `id`) in the direction
   * of the last key; empty means (`created`, `id`) ascending.
   */
  readonly sort: readonly SortKey[];
  readonly skip: number;
  readonly take: number;
  /** The fields that the view shows, in the event's own order; null: all. */
  readonly columns: readonly EventField[] | null;
};

export type GroupPlan = {
  readonly kind: "group";
  readonly from: Source;
  readonly logs: readonly LogKey[];
  readonly where: Condition;
  readonly by: Grouping;
  /**
   * Ties are broken by key, ascending. Text keys compare folded, then as they are; absent keys and aggregates are smaller
   * than all others.
   */
  readonly sort: { readonly by: AggregateField; readonly direction: Direction };
  readonly skip: number;
  /** null: every group. */
  readonly take: number | null;
  readonly columns: readonly AggregateField[] | null;
};

/**
 * Users of the producer's application, tracked by posting: one record for each log and user. Conditions and sort name the fields of
 * {@link UserField} and look at the record, not at single visits.
 */
export type UsersPlan = {
  readonly kind: "users";
  readonly logs: readonly LogKey[];
  readonly where: UserCondition;
  /** Texts compare folded; absent values are smaller than all others. Ties are broken by (`user`, log) in the direction of the last key; empty means ascending. */
  readonly sort: readonly { readonly field: UserField; readonly direction: Direction }[];
  readonly skip: number;
  readonly take: number;
  readonly columns: readonly UserField[] | null;
};

export type Direction = "asc" | "desc";
export type SortKey = { readonly field: SortField; readonly direction: Direction };

/** Days and hours are those of the clock in `zone`. */
export type Grouping =
  | { readonly kind: "day"; readonly zone: Zone }
  | { readonly kind: "hour"; readonly zone: Zone }
  | { readonly kind: "field"; readonly field: GroupField };

/** The fields of an event, in the order in which every format shows them. */
export const EVENT_FIELDS = [
  "id",
  "created",
  "text",
  "link",
  "hash",
  "tags",
  "source",
  "log",
  "class",
  "data",
  "geo",
  "value",
  "user",
  "filter",
  "bookmarks",
  "alerts",
] as const;
export type EventField = (typeof EVENT_FIELDS)[number];

export const AGGREGATE_FIELDS = ["key", "count", "avg", "sum", "min", "max"] as const;
export type AggregateField = (typeof AGGREGATE_FIELDS)[number];

export const USER_FIELDS = ["user", "email", "page", "created", "seen", "count"] as const;
export type UserField = (typeof USER_FIELDS)[number];

/** Fields that hold text. Absent is "" for `link`, `source`, `user` and null for `class`; `tags` holds any number of texts. `filter` is `class`. */
export type TextField = "id" | "text" | "link" | "hash" | "tags" | "source" | "log" | "class" | "user";
export type NumberField = "created" | "value";
export type SortField = "id" | "created" | "text" | "link" | "source" | "log" | "class" | "user" | "value";
export type GroupField = "text" | "link" | "hash" | "tags" | "source" | "log" | "class" | "user" | "value";

/**
 * A condition on one event. Logic is two-valued: a comparison with an absent field ("" or null, no tag) is false, except equality
 * with "" itself, and `not` is the plain complement. On `tags` a comparison holds where it holds for any tag.
 */
export type Condition<Field extends string = TextField | NumberField> =
  /** `and` of nothing is everything, `or` of nothing is nothing. */
  | { readonly kind: "and"; readonly conditions: readonly Condition<Field>[] }
  | { readonly kind: "or"; readonly conditions: readonly Condition<Field>[] }
  | { readonly kind: "not"; readonly condition: Condition<Field> }
  | Comparison<Field>;

/** What a condition is made of. */
export type Comparison<Field extends string = TextField | NumberField> =
  /** `value` is folded (see {@link fold}) and compares, by code point, with the folded field. Equality with "" finds absence. */
  | { readonly kind: "text"; readonly field: Field; readonly op: ComparisonOp; readonly value: string }
  /** One of these folded values. */
  | { readonly kind: "in"; readonly field: Field; readonly values: readonly string[] }
  /** `created` in milliseconds since the Unix epoch; `value` in its own unit. */
  | { readonly kind: "number"; readonly field: Field; readonly op: ComparisonOp; readonly value: number }
  /** The field contains this text, ignoring case. Means the same as `matches` with the text quoted. Never empty. */
  | { readonly kind: "contains"; readonly field: Field; readonly value: string }
  /** An RE2 expression found anywhere in the field, ignoring case. Checked by the front end. */
  | { readonly kind: "matches"; readonly field: Field; readonly pattern: string }
  /** The field is absent: "", null, no tag, no place, no data. */
  | { readonly kind: "absent"; readonly field: Field | "geo" | "data" }
  /** Accepted after the event with this id (which need not exist): the record's id is larger. */
  | { readonly kind: "accepted-after"; readonly id: EventId };

/** Whether one of the comparisons of a condition, negated or not, passes a test. */
export function someComparison<Field extends string>(
  condition: Condition<Field>,
  test: (comparison: Comparison<Field>) => boolean,
): boolean {
  if (condition.kind === "not") return someComparison(condition.condition, test);
  if (condition.kind !== "and" && condition.kind !== "or") return test(condition);
  return condition.conditions.some((part) => someComparison(part, test));
}

/** A condition on a tracked user: every field of one is there but `email` and `page`, which may be "". */
export type UserCondition = Condition<UserField>;

/** Inequality is `not` of `=`. */
export type ComparisonOp = "=" | "<" | "<=" | ">" | ">=";

/** The condition that every event meets. */
export const EVERYTHING: Condition<never> = Object.freeze({ kind: "and", conditions: Object.freeze([]) });

/** `plan` with all that hangs from it frozen. */
export function freezePlan<P extends Plan>(plan: P): P {
  return deepFreeze(plan);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
