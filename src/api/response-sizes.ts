import type { EventRow } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import { KEYWORD_FIELDS } from "../events/keywords.ts";
import { DEFAULT_LIMITS } from "../events/limits.ts";
import type { Format } from "../http/formats.ts";
import type { PlannedGroups } from "../query/planned-query.ts";
import { MAX_GROUPS } from "../store/groups.ts";
import { MAX_LISTED_ATTRIBUTES, MAX_LISTED_VALUES, MAX_LISTED_VALUES_LENGTH } from "../store/store.ts";
import type { FieldSummary, FieldsQuery, Group, Annotations } from "../store/store.ts";

/** Copies of the output in memory: XML is built as a tree first, JSONP is escaped again. */
const COPIES = { json: 2, jsonp: 3, xml: 3 } as const satisfies Record<Format["kind"], number>;

/**
 * Estimate for an event before it is read: a text at its limit and the pattern, of two bytes each
 * character. See {@link sizeOfEvents}.
 */
export const EVENT_BYTES = 4 * DEFAULT_LIMITS.text;
export const USER_BYTES = 4 * 1024;
export const DEAD_LETTER_BYTES = 16 * 1024;
const FIELD_BYTES = 200;
const FIELD_VALUE_BYTES = 100;
const FILTER_BYTES = 1_000;
const ROW_BYTES = 600;
const USER_ID_LENGTH = 20;
const GROUP_BYTES = 640;
/** Columns included in the size of a group, and the size of each further one. */
const USUAL_COLUMNS = 6;
const COLUMN_BYTES = 60;
/** More days or hours than most logs keep. */
const USUAL_PERIODS = 10_000;

/** Returns the greatest size of fields and attributes, without their output. */
export function estimateFieldsSize({ values }: Pick<FieldsQuery, "values">): number {
  const names_bytes = MAX_LISTED_ATTRIBUTES * FIELD_BYTES;
  if (values === 0) return names_bytes;
  const count = Math.min(values * MAX_LISTED_ATTRIBUTES, MAX_LISTED_VALUES);
  return names_bytes + count * FIELD_VALUE_BYTES + MAX_LISTED_VALUES_LENGTH;
}

/** Returns the size of fields and attributes, including their output. */
export function sizeOfFields(fields: readonly FieldSummary[], format: Format): number {
  const size_bytes = fields.reduce(
    (sum, { name, values }) =>
      values.reduce((more, { value }) => more + FIELD_VALUE_BYTES + 2 * value.length, sum + FIELD_BYTES + name.length),
    0,
  );
  return size_bytes * COPIES[format.kind];
}

export function sizeOfFilters(count: number, format: Format): number {
  return count * FILTER_BYTES * COPIES[format.kind];
}

/** Returns the size of events and their annotations, without their output. */
export function sizeOfEvents(rows: readonly EventRow[], annotations: ReadonlyMap<EventId, Annotations>): number {
  let length = 0;
  let users = 0;
  for (const row of rows) {
    const { text, hash, tags, pattern, attributes } = row;
    const mark = annotations.get(row.id);
    for (const value of [text, hash, pattern, attributes, ...tags]) length += value?.length ?? 0;
    for (const name of KEYWORD_FIELDS) length += row[name].length;
    users += (mark?.bookmarks.length ?? 0) + (mark?.alerts.length ?? 0);
  }
  return rows.length * ROW_BYTES + 2 * (length + users * USER_ID_LENGTH);
}

/**
 * Returns how many events of a page and their output fit into `most_bytes`, if they are as large as
 * those of the last one.
 */
export function eventsWithin(most_bytes: number, last: readonly EventRow[]): number {
  if (last.length === 0) return Infinity;
  return Math.floor((most_bytes * last.length) / (2 * sizeOfEvents(last, new Map())));
}

/** Estimates the size of groups before they are known. {@link sizeOfGroups} adds longer keys. */
export function estimateGroupsSize({ plan, compare }: PlannedGroups): number {
  const { by, take, aggregates } = plan;
  const isPeriod = by.length === 1 && by[0]!.kind === "period";
  const most = by.length === 0 ? 1 : isPeriod ? USUAL_PERIODS : MAX_GROUPS;
  const size_bytes = GROUP_BYTES + Math.max(0, by.length + aggregates.length - USUAL_COLUMNS) * COLUMN_BYTES;
  return Math.min(take ?? MAX_GROUPS, most) * size_bytes * (compare === null ? 1 : 2);
}

/** Returns the size of groups, including their output. */
export function sizeOfGroups(groups: readonly Group[], format: Format): number {
  const lengthOf = (values: Group["keys"]): number =>
    values.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 20), 0);
  const further = Math.max(0, (groups[0]?.values.length ?? 0) - USUAL_COLUMNS) * COLUMN_BYTES * groups.length;
  const keys = groups.reduce((sum, group) => sum + lengthOf(group.keys), 0) + further;
  return groups.length * 200 + 2 * keys + COPIES[format.kind] * (groups.length * 100 + 2 * keys);
}
