import type { StoredEvent } from "../../src/events/event.ts";
import type { Aggregate, GroupPlan, Grouping, HavingCondition, Period } from "../../src/query/plan.ts";
import type { Group, GroupValue } from "../../src/store/store.ts";
import type { Zone } from "../../src/query/zone.ts";
import {
  compareCodePoints,
  compareValues,
  directed,
  holds,
  levelRank,
  numbers,
  select,
  spelt,
  texts,
} from "./evaluate.ts";
import type { Mark } from "./evaluate.ts";
import { computeNumber, NUMBER_MEANINGS } from "./number-aggregates.ts";

/** The meaning of group plans in plain code; see evaluate.ts. */

/**
 * Evaluates a group plan.
 * @param marks required if the plan reads bookmarks or alerts
 */
export function evaluateGroup(plan: GroupPlan, events: readonly StoredEvent[], marks: readonly Mark[] = []): Group[] {
  return gather(plan, events, marks).map(({ keys, values }) => ({ keys, values }));
}

/** A group and its events. */
type Gathered = Group & { readonly events: readonly StoredEvent[] };

function gather(plan: GroupPlan, events: readonly StoredEvent[], marks: readonly Mark[]): Gathered[] {
  const members = new Map<string, { keys: readonly GroupValue[]; events: StoredEvent[] }>();
  if (plan.by.length === 0) members.set("[]", { keys: [], events: [] });
  for (const event of select(plan, events, marks)) {
    for (const keys of combinations(plan.by.map((by) => keysOf(by, event)))) {
      const group = members.get(JSON.stringify(keys)) ?? { keys, events: [] };
      members.set(JSON.stringify(keys), group);
      group.events.push(event);
    }
  }
  const groups = [...members.values()].map((group) => ({
    ...group,
    values: plan.aggregates.map((aggregate) => compute(aggregate, group.events)),
  }));
  const kept = groups.filter(({ values }) => plan.having === null || meets(plan.having, values));
  kept.sort((a, b) => compareGroups(plan, a, b));
  return kept.slice(plan.skip, plan.take === null ? undefined : plan.skip + plan.take);
}

function combinations(lists: readonly (readonly GroupValue[])[]): (readonly GroupValue[])[] {
  return lists.reduce<(readonly GroupValue[])[]>(
    (before, list) => before.flatMap((keys) => list.map((key) => [...keys, key])),
    [[]],
  );
}

/** Returns the keys of the groups that an event is in, each once. */
function keysOf(by: Grouping, event: StoredEvent): readonly GroupValue[] {
  switch (by.kind) {
    case "period":
      return [keyOfMoment(by, event.created)];
    case "bands": {
      const bands = numbers(by.of, event).map((number) => by.bounds.filter((bound) => bound <= number).length);
      return bands.length === 0 ? [null] : [...new Set(bands)];
    }
    case "level":
      return [levelRank(event)];
    case "place":
      return [event.geo === null || "ip" in event.geo ? "" : `${event.geo.lat},${event.geo.lon}`];
    case "field": {
      if (by.field === "value") return [event.value];
      const values = texts(by.field, event);
      return values.length === 0 ? [by.field.startsWith("@") ? null : ""] : [...new Set(values)];
    }
  }
  throw by satisfies never;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function keyOfMoment({ unit, count, zone }: Period, moment: number): number {
  const { local, isRepeated } = localTime(zone, moment);
  switch (unit) {
    case "seconds":
      return floor(local, count * 1000) + (isRepeated ? 1 : 0);
    case "minutes":
      return floor(local, count * MINUTE_MS) + (isRepeated ? 1 : 0);
    case "hours":
      return floor(local, count * 60 * MINUTE_MS) + (isRepeated && count === 1 ? 1 : 0);
    case "days":
      return floor(local, count * DAY_MS);
    case "weeks": {
      const midnight = floor(local, DAY_MS);
      const daysSinceMonday = (new Date(midnight).getUTCDay() + 6) % 7;
      return midnight - daysSinceMonday * DAY_MS;
    }
    case "months":
      return floor(local, DAY_MS) - (new Date(local).getUTCDate() - 1) * DAY_MS;
  }
  throw unit satisfies never;
}

function floor(local: number, length_ms: number): number {
  return Math.floor(local / length_ms) * length_ms;
}

/**
 * Returns the local time at a moment, and whether a clock change repeats it for the second time.
 */
function localTime(zone: Zone, moment: number): { local: number; isRepeated: boolean } {
  let { offset_ms } = zone;
  let repeatedUntil = -Infinity;
  for (const change of zone.changes.filter(({ at_ms }) => at_ms <= moment)) {
    repeatedUntil = change.at_ms + offset_ms - change.offset_ms;
    offset_ms = change.offset_ms;
  }
  return { local: moment + offset_ms, isRepeated: moment < repeatedUntil };
}

function compute(aggregate: Aggregate, events: readonly StoredEvent[]): GroupValue {
  if ("of" in aggregate) {
    const values = events.flatMap((event) => numbers(aggregate.of, event)).sort((a, b) => a - b);
    return values.length === 0 ? null : computeNumber(aggregate, values);
  }
  switch (aggregate.kind) {
    case "count": {
      const { where } = aggregate;
      return events.filter((event) => where === null || holds(where, event)).length;
    }
    case "distinct":
      return new Set(events.flatMap((event) => valuesOf(aggregate.field, event))).size;
    case "first":
    case "last": {
      const present = events.filter((event) => valuesOf(aggregate.field, event).length > 0);
      present.sort((a, b) => a.created - b.created || compareCodePoints(a.id, b.id));
      const event = aggregate.kind === "first" ? present[0] : present.at(-1);
      return event === undefined ? null : valuesOf(aggregate.field, event)[0]!;
    }
  }
  throw aggregate satisfies never;
}

function valuesOf(field: string, event: StoredEvent): readonly (string | number)[] {
  return field === "created" || field === "value" ? numbers(field, event) : texts(field, event);
}

function meets(having: HavingCondition, values: readonly GroupValue[]): boolean {
  switch (having.kind) {
    case "and":
      return having.conditions.every((part) => meets(part, values));
    case "or":
      return having.conditions.some((part) => meets(part, values));
    case "not":
      return !meets(having.condition, values);
    case "absent":
      return values[having.aggregate] === null;
    case "compare": {
      const value = values[having.aggregate]!;
      if (value === null) return false;
      const difference = compareValues(value, having.value);
      return {
        "=": difference === 0,
        "<": difference < 0,
        "<=": difference <= 0,
        ">": difference > 0,
        ">=": difference >= 0,
      }[having.op];
    }
  }
  throw having satisfies never;
}

function compareGroups({ by, sort }: GroupPlan, a: Group, b: Group): number {
  const keys = by.map((grouping, i) => compareKeys(grouping, a.keys[i]!, b.keys[i]!)).find((each) => each !== 0) ?? 0;
  if (sort.by === "key") return directed(sort.direction, keys);
  return directed(sort.direction, compareAsTexts(a.values[sort.by]!, b.values[sort.by]!)) || keys;
}

function degreesOf(key: GroupValue): [number | null, number | null] {
  if (key === "") return [null, null];
  const [lat, lon] = String(key).split(",");
  return [Number(lat), Number(lon)];
}

/**
 * Orders keys; for an attribute, keys that spell a number precede texts, and equal ones keep their
 * order.
 */
function compareKeys(by: Grouping, a: GroupValue, b: GroupValue): number {
  if (by.kind === "place") {
    const [[south, west], [north, east]] = [degreesOf(a), degreesOf(b)];
    return compareValues(south, north) || compareValues(west, east);
  }
  const isAttribute = by.kind === "field" && by.field.startsWith("@");
  const value = (key: GroupValue): GroupValue => (isAttribute && typeof key === "string" ? (spelt(key) ?? key) : key);
  return compareValues(value(a), value(b)) || compareAsTexts(a, b);
}

function compareAsTexts(a: GroupValue, b: GroupValue): number {
  const areTexts = typeof a === "string" && typeof b === "string";
  return compareValues(a, b) || (areTexts ? compareCodePoints(a, b) : 0);
}

/**
 * Returns whether the groups of a store equal the reference. Engines add `sum` and `avg` in an
 * order of their own, so these may differ by rounding errors; percentiles may be one rank off.
 */
export function groupsAgree(
  plan: GroupPlan,
  actual: readonly Group[],
  events: readonly StoredEvent[],
  marks: readonly Mark[] = [],
): boolean {
  const expected = gather(plan, events, marks);
  return (
    actual.length === expected.length &&
    actual.every(({ keys, values }, i) => {
      const other = expected[i]!;
      const areKeysEqual = keys.length === other.keys.length && keys.every((key, j) => key === other.keys[j]);
      return (
        areKeysEqual &&
        plan.aggregates.every((aggregate, j) => agreementOn(aggregate, other.events)(values[j]!, other.values[j]!))
      );
    })
  );
}

function agreementOn(aggregate: Aggregate, events: readonly StoredEvent[]): (a: GroupValue, b: GroupValue) => boolean {
  if (!("of" in aggregate)) return (a, b) => a === b;
  const values = events.flatMap((event) => numbers(aggregate.of, event)).sort((a, b) => a - b);
  const size = Math.max(0, ...values.map(Math.abs)) * Number.EPSILON;
  if (aggregate.kind === "percentile") {
    return (a, b) => a === b || (typeof a === "number" && typeof b === "number" && isNeighbour(values, a, b));
  }
  const { tolerance } = NUMBER_MEANINGS[aggregate.kind];
  return tolerance === null ? (a, b) => a === b : (a, b) => isClose(a, b, tolerance(size, values.length));
}

function isClose(a: GroupValue, b: GroupValue, tolerance: number): boolean {
  return typeof a === "number" && typeof b === "number" ? Math.abs(a - b) <= tolerance : a === b;
}

/** Returns whether no number is between the two. */
function isNeighbour(numbers: readonly number[], a: number, b: number): boolean {
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  return !numbers.some((number) => low < number && number < high);
}
