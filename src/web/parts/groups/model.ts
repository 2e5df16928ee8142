import type { Choice } from "../query/choices.ts";
import { onlyChoice, readQuery, ungroupedQuery, withCondition } from "../query/compose.ts";
import type { EditableQuery } from "../query/compose.ts";
import { bandOfKey } from "../query/groups.ts";
import type { GroupRecord } from "../query/groups.ts";
import { fieldName } from "../query/print.ts";
import type { QueryStep } from "../query/steps.ts";
import type { Moments } from "../query/range.ts";
import { placeOfKey } from "../../../query/places.ts";
import type { KeyTerm, Term } from "../../../query/syntax.ts";
import { formatNumber } from "../text/numbers.ts";
import { momentsOfKey } from "./key-moments.ts";

/** One key of a grouped query, as the page shows it. */
export type GroupKey =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "bands"; readonly name: string }
  | { readonly kind: "place"; readonly name: string }
  | { readonly kind: "time"; readonly name: string; readonly step: Pick<QueryStep, "unit" | "count"> };

/** A row of the table: one group, or all groups that differ only in their time. */
export type GroupRow = {
  /** Its keys without the time, unless the time is the only key. */
  readonly keys: readonly string[];
  /** Columns by name. Over several times, counts and sums are totals; others the last value. */
  readonly values: Readonly<Record<string, string>>;
  /** The measured column over time; empty if no key is a time. */
  readonly series: readonly Point[];
  readonly previous: Readonly<Record<string, string>> | null;
};

export type Point = {
  readonly key: string;
  readonly moments: Moments;
  readonly value: number;
  readonly record: GroupRecord;
};

export type Groups = {
  readonly keys: readonly GroupKey[];
  /** Names of the columns, in order. */
  readonly columns: readonly string[];
  readonly rows: readonly GroupRow[];
  /** All times that occur in any row, in order. */
  readonly times: readonly Moments[];
};

const NAMED_STEPS: Readonly<Record<string, Pick<QueryStep, "unit" | "count">>> = {
  DAY: { unit: "days", count: 1 },
  HOUR: { unit: "hours", count: 1 },
  WEEK: { unit: "weeks", count: 1 },
  MONTH: { unit: "months", count: 1 },
};

/** Returns the keys of a grouped query; none if it aggregates all events. */
export function keysOfQuery(parsed: EditableQuery): readonly GroupKey[] {
  return (parsed.query.clauses.groupBy ?? []).map(keyOf);
}

function keyOf(key: KeyTerm): GroupKey {
  if (key.kind === "bands") return { kind: "bands", name: fieldName(key.of.text) };
  if (key.kind === "name") {
    const step = NAMED_STEPS[key.name.text.toUpperCase()];
    if (step !== undefined) return { kind: "time", name: key.name.text.toLowerCase(), step };
    const name = fieldName(key.name.text);
    return { kind: name === "geo" ? "place" : "field", name };
  }
  const unit = key.unit.toLowerCase() as QueryStep["unit"];
  return { kind: "time", name: `${key.count.value} ${unit}`, step: { unit, count: key.count.value } };
}

/** Converts the response to rows. A time beside other keys becomes a series. */
export function groupsOfRecords(keys: readonly GroupKey[], records: readonly GroupRecord[], zone: string): Groups {
  const time = keys.findIndex(({ kind }) => kind === "time");
  const columns = columnsOf(records);
  const measure = columns[0] ?? "count";
  const times: Moments[] = [];
  const byRow = new Map<string, { keys: readonly string[]; records: GroupRecord[]; series: Point[] }>();
  const seen = new Set<string>();
  for (const record of records) {
    const all = record.keys ?? (keys.length === 0 ? [] : [record.key]);
    const rowKeys = keys.length > 1 && time >= 0 ? all.filter((_, index) => index !== time) : all;
    const id = JSON.stringify(rowKeys);
    let row = byRow.get(id);
    if (row === undefined) byRow.set(id, (row = { keys: rowKeys, records: [], series: [] }));
    row.records.push(record);
    const key = keys[time];
    const moments = key?.kind === "time" ? momentsOfKey(all[time] ?? "", key.step, zone) : null;
    if (moments === null) continue;
    row.series.push({ key: all[time] ?? "", moments, value: Number(record[measure]), record });
    if (!seen.has(all[time] ?? "")) times.push(moments);
    seen.add(all[time] ?? "");
  }
  return {
    keys: keys.length > 1 ? keys.filter((_, index) => index !== time) : keys,
    columns,
    rows: [...byRow.values()].map((row) => rowOf(row, columns)),
    times: times.toSorted((one, other) => one.from - other.from),
  };
}

function columnsOf(records: readonly GroupRecord[]): readonly string[] {
  const [first] = records;
  return first === undefined ? [] : Object.keys(first).filter((name) => !["key", "keys", "previous"].includes(name));
}

/** Returns the same groups with the series of another column. */
export function measuredBy(groups: Groups, column: string): Groups {
  const measured = (point: Point): Point => ({ ...point, value: Number(point.record[column]) });
  return { ...groups, rows: groups.rows.map((row) => ({ ...row, series: row.series.map(measured) })) };
}

/** Returns the column to draw: the sorted one if it is numeric, else the first numeric one. */
export function measuredColumn({ columns, rows }: Groups, sorted: string | null): string {
  const isNumeric = (column: string) =>
    rows.some(({ values }) => values[column] !== "" && !Number.isNaN(Number(values[column])));
  const [first = "count"] = columns;
  if (sorted !== null && columns.includes(sorted) && isNumeric(sorted)) return sorted;
  return columns.find(isNumeric) ?? first;
}

/** Returns the column that a query sorts by; null if it has no SORT. */
export function sortColumnOfQuery({ query }: EditableQuery): string | null {
  const { sort, columns } = query.clauses;
  if (sort === null) return null;
  const nameOf = (term: Term) =>
    (term.kind === "name" ? term.name : term.written).text.replace(/\s/gu, "").toLowerCase();
  const name = nameOf(sort.key);
  const column = columns?.find(({ of, as }) => (as?.text.toLowerCase() ?? nameOf(of)) === name);
  return (column ?? columns?.find(({ of }) => nameOf(of) === name))?.as?.text ?? name;
}

/** Returns a column's heading. Columns that are not added up show the last value of a series. */
export function columnText(column: string, hasCourse: boolean): string {
  if (column === "count") return "Events";
  return hasCourse && !isAddedUp(column) ? `last ${column}` : column;
}

/** Reports whether the values of several times can be added up. */
export function isAddedUp(column: string): boolean {
  return /^(count|sum)\b/.test(column);
}

/** Builds a row: counts and sums over time are added up, other columns have the last value. */
function rowOf(
  { keys, records, series }: { keys: readonly string[]; records: readonly GroupRecord[]; series: readonly Point[] },
  columns: readonly string[],
): GroupRow {
  const total = (of: readonly Readonly<Record<string, unknown>>[], name: string): string =>
    of.length > 1 && isAddedUp(name)
      ? String(of.reduce((sum, each) => sum + Number(each[name]), 0))
      : textOf(of.at(-1)?.[name]);
  const before = records.flatMap(({ previous }) =>
    typeof previous === "object" && previous !== null ? [previous as Readonly<Record<string, unknown>>] : [],
  );
  return {
    keys,
    values: Object.fromEntries(columns.map((name) => [name, total(records, name)])),
    series: series.toSorted((one, other) => one.moments.from - other.moments.from),
    previous: before.length === 0 ? null : Object.fromEntries(columns.map((name) => [name, total(before, name)])),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** Returns the highest point of a series, the earliest of equal ones; null for an empty series. */
export function peakOfSeries(series: readonly Point[]): Point | null {
  return series.reduce<Point | null>((best, point) => (best === null || point.value > best.value ? point : best), null);
}

/** Describes the change of a value in percent; `new` if it was 0 before. */
export function changeText(now: number, before: number): string {
  if (before === 0) return now === 0 ? "0 %" : "new";
  const percent = Math.round(((now - before) / before) * 100);
  return `${percent > 0 ? "+" : percent < 0 ? "−" : ""}${formatNumber(Math.abs(percent))} %`;
}

/** Returns the query and the time of one group: its keys become conditions. */
export function eventsOfGroup(
  text: string,
  keys: readonly GroupKey[],
  row: GroupRow,
  zone: string,
): { readonly query: string; readonly moments: Moments | null } {
  const parsed = readQuery(text);
  if (parsed === null) return { query: text, moments: null };
  let query = ungroupedQuery(parsed);
  let moments: Moments | null = null;
  keys.forEach((key, index) => {
    const value = row.keys[index] ?? "";
    if (key.kind === "time") {
      moments = momentsOfKey(value, key.step, zone);
      return;
    }
    const rest = readQuery(query);
    if (rest === null) return;
    if (key.kind === "place") query = withCondition(rest, conditionOfPlace(value));
    else query = onlyChoice(rest, key.name, key.kind === "bands" ? bandOfKey(value) : choiceOf(value));
  });
  return { query, moments };
}

/** Returns a place's condition; "" finds events without coordinates, including those with an IP. */
function conditionOfPlace(key: string): string {
  const place = placeOfKey(key);
  if (place === null) return "geo NOT WITHIN (-90, -180, 90, 180)";
  const { lat, lon } = place;
  return `geo WITHIN (${lat}, ${lon}, ${lat}, ${lon})`;
}

function choiceOf(value: string): Choice {
  return value === "" ? null : value;
}

/** Returns a row's values at the given times, 0 where it has none. */
export function valuesAt({ series }: GroupRow, times: readonly Moments[]): readonly number[] {
  const byTime = new Map(series.map(({ moments, value }) => [moments.from, value]));
  return times.map(({ from }) => byTime.get(from) ?? 0);
}
