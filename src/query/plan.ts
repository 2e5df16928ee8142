import type { LogKey, UserId } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import type { Zone } from "./zone.ts";

/**
 * What a question means, whether it was asked by list parameters or in LQL: a tree of tagged,
 * frozen, JSON-serialisable values. Front ends make plans; the compiler of each store reads them. A
 * plan holds no clock and no time zone but as numbers.
 */
export type Plan = ListPlan | GroupPlan | UsersPlan;

/** Which records: all events, or one person's marked ones. */
export type Source =
  | { readonly kind: "events" }
  | { readonly kind: "bookmarks"; readonly user: UserId }
  | {
      readonly kind: "alerts";
      readonly user: UserId;
      /** Only those that their person has seen, or has not. */
      readonly state?: "seen" | "unseen";
    };

export type ListPlan = {
  readonly kind: "list";
  readonly from: Source;
  /** Only events of these logs. An empty list finds nothing. */
  readonly logs: readonly LogKey[];
  readonly where: Condition;
  /**
   * Texts compare folded; absent values are smaller than all others. Ties are broken by (`created`,
   * `id`) in the direction of the last key; empty means (`created`, `id`) ascending.
   */
  readonly sort: readonly SortKey[];
  readonly skip: number;
  readonly take: number;
  /** The fields that the view shows, in order; null: all of {@link EVENT_FIELDS}. */
  readonly columns: readonly EventColumn[] | null;
};

/**
 * Groups of events, by none to three keys. An event with several values of a key is in the group of
 * each. By no key there is one group, also where no event is found.
 */
export type GroupPlan = {
  readonly kind: "group";
  readonly from: Source;
  readonly logs: readonly LogKey[];
  readonly where: Condition;
  readonly by: readonly Grouping[];
  /** What the store computes of each group; no two are equal. */
  readonly aggregates: readonly Aggregate[];
  /** Groups that it does not hold for are left out, before sort, skip and take. */
  readonly having: HavingCondition | null;
  /**
   * By all keys in order, or by an aggregate, given by its index. Ties are broken by the keys in
   * order, ascending. Absent keys and aggregates are smaller than all others; numbers go by value,
   * texts folded, then as they are. Of an attribute, values that spell a number go by it, before
   * the texts. See `orderOfGroups` of groups.ts.
   */
  readonly sort: { readonly by: "key" | number; readonly direction: Direction };
  readonly skip: number;
  /** null: every group. */
  readonly take: number | null;
};

/**
 * Users of the producer's application, tracked by posting: one record for each log and user.
 * Conditions and sort name the fields of {@link UserField} and look at the record, not at single
 * visits.
 */
export type UsersPlan = {
  readonly kind: "users";
  readonly logs: readonly LogKey[];
  readonly where: UserCondition;
  /**
   * Texts compare folded; absent values are smaller than all others. Ties are broken by (`user`,
   * log) in the direction of the last key; empty means ascending.
   */
  readonly sort: readonly { readonly field: UserField; readonly direction: Direction }[];
  readonly skip: number;
  readonly take: number;
  readonly columns: readonly UserField[] | null;
};

export type Direction = "asc" | "desc";
export type SortKey = { readonly field: SortField; readonly direction: Direction };

/** An attribute: `@` and its name, as it is. Names mind case. */
export type AttributeField = `@${string}`;

/** Where numbers come from. Of an attribute each value that spells a number counts. */
export type NumberSource = "value" | AttributeField;

export type Grouping = FieldGrouping | Period | Bands | Places;

/** By the values of a field, as they are; "" or null where absent, see {@link Group} of the store. */
export type FieldGrouping = { readonly kind: "field"; readonly field: GroupField | AttributeField };

/**
 * By time, on the clock of `zone`. Seconds divide a minute, minutes an hour, and hours a day; days
 * count from 1970-01-01, and weeks begin on Monday; weeks and months are single. An hour that the
 * clock shows twice is two groups where they are of an hour or less.
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
 * from the last one on. Bounds rise. The key is the index of the band, from 0.
 */
export type Bands = { readonly kind: "bands"; readonly of: NumberSource; readonly bounds: readonly number[] };

/**
 * By place. The key is {@link keyOfPlace} of the event's degrees, or "" where it has none: it has no
 * place, or one that is known only by an address. Keys rise from south to north and then from west to
 * east, "" goes first.
 */
export type Places = { readonly kind: "place" };

/** What a store computes of the events of a group. What is absent counts nowhere but in `count`. */
export type Aggregate =
  /** How many events; where `where` is given, how many of them meet it. */
  | { readonly kind: "count"; readonly where: Condition | null }
  /** null where there is no number. */
  | { readonly kind: "avg" | "sum" | "min" | "max"; readonly of: NumberSource }
  /** A number of which `percent` percent are at most as large, within 1 % of rank or one rank. */
  | { readonly kind: "percentile"; readonly of: NumberSource; readonly percent: number }
  /** How many different values, as they are: exact to 10,000, within 2 % beyond. */
  | { readonly kind: "distinct"; readonly field: GroupField | AttributeField }
  /**
   * The value of the first or the last event, by (`created`, `id`), that has one; of several values
   * the first. A number for `created` and `value`, a text otherwise; null where no event has one.
   */
  | { readonly kind: "first" | "last"; readonly field: GroupField | AttributeField | "id" | "created" };

/** A condition on the aggregates of a group, given by their index. A comparison with null is false. */
export type HavingCondition =
  | { readonly kind: "and"; readonly conditions: readonly HavingCondition[] }
  | { readonly kind: "or"; readonly conditions: readonly HavingCondition[] }
  | { readonly kind: "not"; readonly condition: HavingCondition }
  | { readonly kind: "compare"; readonly aggregate: number; readonly op: ComparisonOp; readonly value: number }
  | { readonly kind: "absent"; readonly aggregate: number };

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

/** A column of a list. `attributes` are all of them. */
export type EventColumn = EventField | "pattern" | "attributes" | AttributeField;

/** The columns of groups that have a name of their own, in their order. Numbers are of `value`. */
export const AGGREGATE_FIELDS = ["key", "count", "avg", "sum", "min", "max"] as const;

export const USER_FIELDS = ["user", "email", "page", "created", "seen", "count"] as const;
export type UserField = (typeof USER_FIELDS)[number];

/**
 * Fields that hold text. Absent is "" for `link`, `source`, `user` and null for `class`; `tags` holds
 * any number of texts. `filter` is `class`.
 */
export type TextField = "id" | "text" | "link" | "hash" | "pattern" | "tags" | "source" | "log" | "class" | "user";
export type NumberField = "created" | "value";
/** What a condition on events can ask. */
export type ConditionField = TextField | NumberField | AttributeField;
export type SortField =
  "id" | "created" | "text" | "link" | "pattern" | "source" | "log" | "class" | "user" | "value" | AttributeField;
export type GroupField = "text" | "link" | "hash" | "pattern" | "tags" | "source" | "log" | "class" | "user" | "value";

/**
 * A condition on one event. Logic is two-valued: a comparison with an absent field ("" or null, no
 * tag) is false, except equality with "" itself, and `not` is the plain complement. On `tags` a
 * comparison holds where it holds for any tag.
 *
 * On an attribute a comparison holds where it holds for any value; values of all kinds have a text,
 * and "" is one. `number` holds where the text spells a number that compares; a front end asks for
 * equality with a text that spells a number by `number`.
 */
export type Condition<Field extends string = ConditionField> =
  /** `and` of nothing is everything, `or` of nothing is nothing. */
  | { readonly kind: "and"; readonly conditions: readonly Condition<Field>[] }
  | { readonly kind: "or"; readonly conditions: readonly Condition<Field>[] }
  | { readonly kind: "not"; readonly condition: Condition<Field> }
  | Comparison<Field>;

/** What a condition is made of. */
export type Comparison<Field extends string = ConditionField> =
  /**
   * `value` is folded (see {@link fold}) and compares, by code point, with the folded field.
   * Equality with "" finds absence.
   */
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
  /** The place lies inside, edges included; across 180° where `west` > `east`. Degrees. */
  | {
      readonly kind: "geo-within";
      readonly south: number;
      readonly west: number;
      readonly north: number;
      readonly east: number;
    }
  /** The place is at most `km` away, on a sphere of {@link EARTH_RADIUS_KM}. */
  | { readonly kind: "geo-near"; readonly lat: number; readonly lon: number; readonly km: number }
  /** Accepted after the event with this id (which need not exist): the record's id is larger. */
  | { readonly kind: "accepted-after"; readonly id: EventId };

export const EARTH_RADIUS_KM = 6_371.0088;

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

export function isAttribute(field: string): field is AttributeField {
  return field.startsWith("@");
}

/** The condition that every event meets. */
export const EVERYTHING: Condition<never> = Object.freeze({ kind: "and", conditions: Object.freeze([]) });

/** `plan` with all that hangs from it frozen. */
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
