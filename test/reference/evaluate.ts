import { RE2JS } from "re2js";

import { hashText } from "../../src/events/hash.ts";
import type { EventRow, StoredEvent, UserId } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import type { Condition, Direction, GroupPlan, ListPlan, SortKey, RecordSource } from "../../src/query/plan.ts";
import { compileExpression } from "../../src/query/regex/tree.ts";
import type { Page } from "../../src/store/store.ts";

/**
 * The meaning of plans in plain code: the reference that both stores are compared with. It is slow
 * on purpose: no index, no cache, nothing shared with the compilers of the stores.
 */

/** A user's bookmark of an event or alert about it. */
export type Mark = { readonly kind: "bookmarks" | "alerts"; readonly user: UserId; readonly id: EventId };

/**
 * Evaluates a list plan.
 * @param marks required if the plan reads bookmarks or alerts
 */
export function evaluateList(plan: ListPlan, events: readonly StoredEvent[], marks: readonly Mark[] = []): Page {
  const found = select(plan, events, marks).sort((a, b) => compareRows(plan.sort, a, b));
  return { rows: found.slice(plan.skip, plan.skip + plan.take).map(toRow), total: found.length };
}

/** Returns whether an event meets a condition. */
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
      return numbers(condition.field, event).some((number) => compares(condition.op, number - condition.value));
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
    case "geo-within": {
      const { geo } = event;
      if (geo === null || "ip" in geo) return false;
      const { south, west, north, east } = condition;
      const isBetween = west <= east ? geo.lon >= west && geo.lon <= east : geo.lon >= west || geo.lon <= east;
      return geo.lat >= south && geo.lat <= north && isBetween;
    }
    case "geo-near": {
      const { geo } = event;
      return geo !== null && !("ip" in geo) && distance_km(geo, condition) <= condition.km;
    }
    case "accepted-after":
      return compareCodePoints(event.id, condition.id) > 0;
  }
  throw condition satisfies never;
}

/** Folds a text for comparison, like `fold` of `src/events/text.ts` but without its shortcuts. */
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

/** Compares by code point, which is the order of UTF-8 bytes. */
export function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
}

/** Returns an event as the store lists it. */
export function toRow(event: StoredEvent): EventRow {
  return { ...event, hash: hashText(event.text), data: event.data !== null };
}

export function select(
  plan: ListPlan | GroupPlan,
  events: readonly StoredEvent[],
  marks: readonly Mark[],
): StoredEvent[] {
  return events.filter(
    (event) => plan.logs.includes(event.log) && belongsTo(plan.from, event, marks) && holds(plan.where, event),
  );
}

function belongsTo(from: RecordSource, event: StoredEvent, marks: readonly Mark[]): boolean {
  if (from.kind === "events") return true;
  return marks.some((mark) => mark.kind === from.kind && mark.user === from.user && mark.id === event.id);
}

type Place = { readonly lat: number; readonly lon: number };

/** Distance by the haversine formula. */
function distance_km(a: Place, b: Place): number {
  const [lat1, lat2] = [radians(a.lat), radians(b.lat)];
  const h =
    Math.sin((lat2 - lat1) / 2) ** 2 + Math.cos(lat1) * Math.cos(lat2) * Math.sin(radians(b.lon - a.lon) / 2) ** 2;
  return 2 * 6371.0088 * Math.asin(Math.min(1, Math.sqrt(h)));
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

function equalsText(field: string, op: "=" | "<" | "<=" | ">" | ">=", value: string, event: StoredEvent): boolean {
  const present = texts(field, event);
  if (op === "=" && value === "" && !field.startsWith("@")) return present.length === 0;
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

/** Returns the texts of a field; none if it is absent. */
export function texts(field: string, event: StoredEvent): readonly string[] {
  if (field.startsWith("@")) return attributeValues(field.slice(1), event).map(String);
  if (field === "tags") return event.tags;
  if (field === "hash") return [hashText(event.text)];
  const text: unknown = event[field as keyof StoredEvent];
  return typeof text === "string" && text !== "" ? [text] : [];
}

/** Returns the numbers of a field; for an attribute those that its texts spell. */
export function numbers(field: string, event: StoredEvent): readonly number[] {
  if (field === "created") return [event.created];
  if (field === "value") return event.value === null ? [] : [event.value];
  return attributeValues(field.slice(1), event).flatMap((value) => {
    if (typeof value === "number") return value;
    return typeof value === "string" ? (spelt(value) ?? []) : [];
  });
}

type Value = string | number | boolean;

function attributeValues(name: string, { attributes }: StoredEvent): readonly Value[] {
  if (attributes === null) return [];
  const entries = Object.entries(JSON.parse(attributes) as Record<string, Value | Value[]>);
  return entries.flatMap(([key, value]) => (key === name ? value : []));
}

/**
 * Returns the number that a text spells: decimal digits with sign and fraction, surrounded by
 * blanks.
 */
export function spelt(text: string): number | null {
  const number = /^[+-]?(\d+(\.\d*)?|\.\d+)$/.test(text.trim()) ? Number(text) : NaN;
  return Number.isFinite(number) ? number + 0 : null;
}

/** The words of each level but none, from the least severe on. */
const LEVEL_WORDS = [
  "trace",
  "debug",
  "info notice",
  "warn warning",
  "error err",
  "fatal emergency alert critical crit panic",
];

/** Returns the number of the most severe level that the tags name, from 1 on; 0 if none does. */
export function levelRank({ tags }: StoredEvent): number {
  const named = tags.map((tag) => LEVEL_WORDS.findIndex((words) => words.split(" ").includes(fold(tag))));
  return 1 + Math.max(-1, ...named);
}

function isAbsent(field: string, event: StoredEvent): boolean {
  if (field.startsWith("@")) return texts(field, event).length === 0;
  if (field === "hash") return false;
  const value: unknown = event[field as keyof StoredEvent];
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

/** Absent values are smaller than all others. */
function compareRows(sort: readonly SortKey[], a: StoredEvent, b: StoredEvent): number {
  for (const { field, direction } of sort) {
    const difference = compareValues(sorted(field, direction, a), sorted(field, direction, b));
    if (difference !== 0) return directed(direction, difference);
  }
  const tie = a.created - b.created || compareCodePoints(a.id, b.id);
  return directed(sort.at(-1)?.direction ?? "asc", tie);
}

/**
 * Returns the sort value of an event: of several values the smallest, or for `desc` the largest.
 */
function sorted(field: string, direction: Direction, event: StoredEvent): string | number | null {
  if (field === "hash") return hashText(event.text);
  if (field === "level") return levelRank(event);
  if (!field.startsWith("@")) return event[field as "text" | "value"];
  const values = attributeValues(field.slice(1), event).map((value) =>
    typeof value === "number" ? value : (spelt(String(value)) ?? String(value)),
  );
  values.sort(compareValues);
  return (direction === "asc" ? values[0] : values.at(-1)) ?? null;
}

/** Orders absent before numbers before texts. Except for attributes, "" counts as absent. */
export function compareValues(a: string | number | null, b: string | number | null): number {
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : a > b ? 1 : 0;
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  if (typeof a === "number") return -1;
  if (typeof b === "number") return 1;
  return compareCodePoints(fold(a), fold(b));
}

export function directed(direction: Direction, difference: number): number {
  return direction === "asc" ? difference : -difference;
}
