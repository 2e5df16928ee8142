import { RE2JS } from "re2js";

import type { EventRow, StoredEvent, UserId } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import type { Condition, Direction, GroupPlan, Grouping, ListPlan, SortKey, Source } from "../../src/query/plan.ts";
import { compileExpression } from "../../src/query/regex-tree.ts";
import type { Zone } from "../../src/query/zone.ts";
import type { Group, Page } from "../../src/store/store.ts";

/**
 * What plans mean, in the plainest code that says it: the oracle that both stores are held against.
 * It is slow on purpose: no index, no cache, nothing shared with the compilers of the stores.
 */

/** Somebody's bookmark of, or alert for, an event. */
export type Mark = { readonly kind: "bookmarks" | "alerts"; readonly user: UserId; readonly id: EventId };

/** @param marks needed where the plan reads bookmarks or alerts */
export function evaluateList(plan: ListPlan, events: readonly StoredEvent[], marks: readonly Mark[] = []): Page {
  const found = select(plan, events, marks).sort((a, b) => compareRows(plan.sort, a, b));
  return { rows: found.slice(plan.skip, plan.skip + plan.take).map(toRow), total: found.length };
}

/** @param marks needed where the plan reads bookmarks or alerts */
export function evaluateGroup(plan: GroupPlan, events: readonly StoredEvent[], marks: readonly Mark[] = []): Group[] {
  const members = new Map<Group["key"], StoredEvent[]>();
  for (const event of select(plan, events, marks)) {
    for (const key of new Set(groupKeys(plan.by, event))) members.set(key, [...(members.get(key) ?? []), event]);
  }
  const groups = [...members].map(([key, group]) => summarise(key, group));
  groups.sort((a, b) => compareGroups(plan.sort, a, b));
  return groups.slice(plan.skip, plan.take === null ? undefined : plan.skip + plan.take);
}

/** Whether an event meets a condition. */
export function holds(condition: Condition, event: StoredEvent): boolean {
  switch (condition.kind) {
    case "and":
      return condition.conditions.every((part) => holds(part, event));
    case "or":
      return condition.conditions.some((part) => holds(part, event));
    case "not":
      return !holds(condition.condition, event);
    case "text":
      return equalsText(condition.field, condition.op, condition.value, event);
    case "in":
      return condition.values.some((value) => equalsText(condition.field, "=", value, event));
    case "number": {
      const number = condition.field === "created" ? event.created : event.value;
      return number !== null && compares(condition.op, number - condition.value);
    }
    case "contains": {
      const expression = RE2JS.compile(RE2JS.quote(condition.value), RE2JS.CASE_INSENSITIVE);
      return texts(condition.field, event).some((text) => expression.test(text));
    }
    case "matches": {
      const expression = compileExpression(condition.pattern);
      return texts(condition.field, event).some((text) => expression.test(text));
    }
    case "absent":
      return isAbsent(condition.field, event);
    case "accepted-after":
      return compareCodePoints(event.id, condition.id) > 0;
  }
  throw condition satisfies never;
}

/** The form in which texts compare: see `fold` of `src/events/text.ts`, said again without its shortcuts. */
export function fold(text: string): string {
  return Array.from(text)
    .map(
      (character) => ({ ı: "ı", "\u1fd3": "\u0390", "\u1fe3": "\u03b0", ﬅ: "ﬆ" })[character] ?? lower(upper(character)),
    )
    .join("");
}

function upper(character: string): string {
  const mapped = character.toUpperCase();
  return Array.from(mapped).length === 1 ? mapped : character;
}

function lower(character: string): string {
  const mapped = character.toLowerCase();
  return Array.from(mapped).length === 1 ? mapped : character;
}

/** Order by code point, which is the order of the bytes of UTF-8. */
export function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
}

/** An event as the store lists it. */
export function toRow(event: StoredEvent): EventRow {
  return { ...event, data: event.data !== null };
}

function select(plan: ListPlan | GroupPlan, events: readonly StoredEvent[], marks: readonly Mark[]): StoredEvent[] {
  return events.filter(
    (event) => plan.logs.includes(event.log) && belongsTo(plan.from, event, marks) && holds(plan.where, event),
  );
}

function belongsTo(from: Source, event: StoredEvent, marks: readonly Mark[]): boolean {
  if (from.kind === "events") return true;
  return marks.some((mark) => mark.kind === from.kind && mark.user === from.user && mark.id === event.id);
}

function equalsText(field: string, op: "=" | "<" | "<=" | ">" | ">=", value: string, event: StoredEvent): boolean {
  const present = texts(field, event);
  if (op === "=" && value === "") return present.length === 0;
  return present.some((text) => compares(op, compareCodePoints(fold(text), value)));
}

function compares(op: "=" | "<" | "<=" | ">" | ">=", difference: number): boolean {
  return {
    "=": difference === 0,
    "<": difference < 0,
    "<=": difference <= 0,
    ">": difference > 0,
    ">=": difference >= 0,
  }[op];
}

/** The texts that a field holds: none where it is absent. */
function texts(field: string, event: StoredEvent): readonly string[] {
  if (field === "tags") return event.tags;
  const text: unknown = event[field as keyof StoredEvent];
  return typeof text === "string" && text !== "" ? [text] : [];
}

function isAbsent(field: string, event: StoredEvent): boolean {
  const value: unknown = event[field as keyof StoredEvent];
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

/** Absent values are smaller than all others. */
function compareRows(sort: readonly SortKey[], a: StoredEvent, b: StoredEvent): number {
  for (const { field, direction } of sort) {
    const difference = compareValues(a[field], b[field]);
    if (difference !== 0) return directed(direction, difference);
  }
  const tie = a.created - b.created || compareCodePoints(a.id, b.id);
  return directed(sort.at(-1)?.direction ?? "asc", tie);
}

function compareValues(a: string | number | null, b: string | number | null): number {
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === "number") return 1;
  if (typeof b === "number") return -1;
  return compareCodePoints(fold(a ?? ""), fold(b ?? ""));
}

function directed(direction: Direction, difference: number): number {
  return direction === "asc" ? difference : -difference;
}

function groupKeys(by: Grouping, event: StoredEvent): readonly Group["key"][] {
  switch (by.kind) {
    case "day":
      return [localTime(by.zone, event.created, 86_400_000).start];
    case "hour": {
      const { start, isRepeated } = localTime(by.zone, event.created, 3_600_000);
      return [isRepeated ? start + 1 : start];
    }
    case "field":
      if (by.field === "tags") return event.tags.length === 0 ? [""] : event.tags;
      return by.field === "value" ? [event.value] : [event[by.field] ?? ""];
  }
  throw by satisfies never;
}

/**
 * Where a day or an hour of the clock begins that holds a moment, and whether the clock shows that
 * moment for the second time.
 */
function localTime(zone: Zone, moment: number, length_ms: number): { start: number; isRepeated: boolean } {
  let { offset_ms } = zone;
  let repeatedUntil = -Infinity;
  for (const change of zone.changes.filter(({ at_ms }) => at_ms <= moment)) {
    repeatedUntil = change.at_ms + offset_ms - change.offset_ms;
    offset_ms = change.offset_ms;
  }
  return { start: Math.floor((moment + offset_ms) / length_ms) * length_ms, isRepeated: moment < repeatedUntil };
}

function summarise(key: Group["key"], events: readonly StoredEvent[]): Group {
  const values = events.flatMap((event) => (event.value === null ? [] : [event.value])).sort((a, b) => a - b);
  const [min = null] = values;
  const max = values.at(-1) ?? null;
  if (min === null) return { key, count: events.length, avg: null, sum: null, min, max };
  const sum = exactSum(values);
  return { key, count: events.length, avg: sum / values.length, sum, min, max };
}

/** The sum with the error of each step carried along (Neumaier): right to the last bit or two. */
function exactSum(values: readonly number[]): number {
  let sum = 0;
  let lost = 0;
  for (const value of values) {
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
}

/**
 * Whether two answers to a group plan are the same: all exactly so, but for `sum` and `avg`, which engines add in an order
 * of their own. They may differ by the rounding of each addition.
 */
export function groupsAgree(actual: readonly Group[], expected: readonly Group[]): boolean {
  return (
    actual.length === expected.length &&
    actual.every((group, i) => {
      const other = expected[i]!;
      const same = group.key === other.key && group.count === other.count;
      if (!same || group.min !== other.min || group.max !== other.max) return false;
      const size = Math.max(Math.abs(other.min ?? 0), Math.abs(other.max ?? 0));
      return (
        isClose(group.sum, other.sum, size * other.count ** 2 * Number.EPSILON) &&
        isClose(group.avg, other.avg, size * other.count * Number.EPSILON)
      );
    })
  );
}

function isClose(a: number | null, b: number | null, tolerance: number): boolean {
  return a === null || b === null ? a === b : Math.abs(a - b) <= tolerance;
}

/** Absent aggregates and keys are smaller than all others; text keys compare ignoring case, then as they are. */
function compareGroups(sort: GroupPlan["sort"], a: Group, b: Group): number {
  const difference = sort.by === "key" ? compareKeys(a.key, b.key) : compareValues(a[sort.by], b[sort.by]);
  return difference === 0 ? compareKeys(a.key, b.key) : directed(sort.direction, difference);
}

function compareKeys(a: Group["key"], b: Group["key"]): number {
  return compareValues(a, b) || (typeof a === "string" && typeof b === "string" ? compareCodePoints(a, b) : 0);
}
