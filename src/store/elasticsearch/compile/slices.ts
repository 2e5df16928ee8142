import type { estypes } from "@elastic/elasticsearch";

import { REPEATED, periodLength, periodOrigin, startOfPeriod, offsetPeriodsFor } from "../../../query/calendar.ts";
import { LEVELS } from "../../../events/level.ts";
import { placeOfKey } from "../../../query/places.ts";
import { isAttribute } from "../../../query/plan.ts";
import type {
  Bands,
  ConditionField,
  FieldGrouping,
  GroupField,
  Grouping,
  NumberSource,
  Period,
} from "../../../query/plan.ts";
import type { OffsetPeriod } from "../../../query/zone.ts";
import type { GroupValue } from "../../store.ts";
import { attributeColumn, keyOfField } from "../documents/attributes.ts";
import { isAtLeast } from "./compile.ts";
import { and, not, or } from "../client/queries.ts";
import type { Query } from "../client/queries.ts";
import type { RawKey } from "../client/scan.ts";

/**
 * Some of the groups of a key: the events that a filter finds, as one group or as the groups of an
 * Elasticsearch aggregation source. Each group is in one slice.
 */
export type GroupSlice = { readonly filter: Query | null } & (
  { readonly kind: "one"; readonly key: GroupValue } | ({ readonly kind: "many" } & Source)
);

type TermsSource = { readonly terms: { readonly field: string; readonly missing_bucket: true } };

export type Source = {
  /** `pair`: two sources that form one key, see {@link rawKeysOf}. */
  readonly source:
    TermsSource | { readonly date_histogram: Histogram } | { readonly pair: readonly [TermsSource, TermsSource] };
  readonly keyOf: (raw: RawKey) => GroupValue;
  /** Finds the events of a group. */
  readonly filterOf: (raw: RawKey) => Query;
};

type Histogram = Pick<estypes.AggregationsDateHistogramAggregation, "field" | "fixed_interval" | "offset"> & {
  readonly calendar_interval?: "1M";
};

/** Range of time that contains all requested events. */
export type TimeSpan = readonly [from_ms: number, to_ms: number];

export function timeSlices(by: Grouping, span: TimeSpan): GroupSlice[] {
  switch (by.kind) {
    case "field":
      return [{ kind: "many", filter: null, ...sourceOfField(by) }];
    case "period":
      return slicesOfPeriod(by, span);
    case "bands":
      return slicesOfBands(by);
    case "place":
      return [{ kind: "many", filter: null, ...SOURCE_OF_PLACES }];
    case "level":
      return LEVELS.map((_, rank): GroupSlice => ({ kind: "one", filter: hasLevel(rank), key: rank }));
  }
  throw by satisfies never;
}

function hasLevel(rank: number): Query {
  const isBelowNext = rank === LEVELS.length - 1 ? [] : [not(isAtLeast(rank + 1))];
  return and([...(rank === 0 ? [] : [isAtLeast(rank)]), ...isBelowNext]);
}

/** Returns the path of a field's original values. */
export function columnPath(field: ConditionField | GroupField): string {
  return isAttribute(field) ? attributeColumn("texts", keyOfField(field)) : field;
}

/** Returns the path of numbers. */
export function numberPath(of: NumberSource): string {
  return isAttribute(of) ? attributeColumn("numbers", keyOfField(of)) : of;
}

function sourceOfField({ field }: FieldGrouping): Source {
  const path = columnPath(field);
  const absent = field === "value" || isAttribute(field) ? null : "";
  return {
    source: { terms: { field: path, missing_bucket: true } },
    keyOf: (raw) => raw ?? absent,
    filterOf: (raw) => (raw === null ? not({ exists: { field: path } }) : { term: { [path]: raw } }),
  };
}

const DEGREES = { lat: "geo.lat", lon: "geo.lon" } as const;

/** Degrees are stored as posted, so that their texts are the same in every engine. */
const SOURCE_OF_PLACES: Source = {
  source: {
    pair: [
      { terms: { field: DEGREES.lat, missing_bucket: true } },
      { terms: { field: DEGREES.lon, missing_bucket: true } },
    ],
  },
  keyOf: (raw) => raw ?? "",
  filterOf(raw) {
    const place = placeOfKey(String(raw ?? ""));
    if (place === null) return not({ exists: { field: DEGREES.lat } });
    return and([{ term: { [DEGREES.lat]: place.lat } }, { term: { [DEGREES.lon]: place.lon } }]);
  },
};

function slicesOfBands({ of, bounds }: Bands): GroupSlice[] {
  const path = numberPath(of);
  const bands = Array.from({ length: bounds.length + 1 }, (_, key): GroupSlice => {
    const within = { ...(key > 0 && { gte: bounds[key - 1]! }), ...(key < bounds.length && { lt: bounds[key]! }) };
    return { kind: "one", filter: { range: { [path]: within } }, key };
  });
  return [...bands, { kind: "one", filter: not({ exists: { field: path } }), key: null }];
}

/**
 * Slices a period by its stretches, in which the clock's offset is constant and Elasticsearch
 * computes the groups. A group that spans two stretches gets a slice of its own.
 */
function slicesOfPeriod(by: Period, span: TimeSpan): GroupSlice[] {
  const stretches = offsetPeriodsFor(by, ...span);
  const divided = dividedGroups(by, stretches);
  const slices = stretches.flatMap((stretch) => runOf(by, stretch, divided) ?? []);
  for (const key of divided) {
    const alike = stretches.filter(({ repeated }) => (Math.abs(key % 2) === REPEATED) === repeated);
    const pieces = alike.flatMap((stretch) => pieceOf(by, stretch, key) ?? []);
    slices.push({ kind: "one", filter: or(pieces.map(within)), key });
  }
  return slices;
}

/** Returns the keys of groups that span two stretches. */
function dividedGroups(by: Period, stretches: readonly OffsetPeriod[]): ReadonlySet<number> {
  const start = startOfPeriod(by);
  const divided = new Set<number>();
  for (const [i, after] of stretches.entries()) {
    // A stretch of repeated times may be between the two.
    for (const before of stretches.slice(Math.max(0, i - 2), i)) {
      if (before.repeated !== after.repeated) continue;
      const last = start(before.to_ms - 1 + before.offset_ms);
      for (let key = start(after.from_ms + after.offset_ms); key <= last; key = nextOf(by, key)) {
        divided.add(key + (after.repeated ? REPEATED : 0));
      }
    }
  }
  return divided;
}

/** Returns the local time at which the next group begins. */
function nextOf(by: Period, local: number): number {
  const length_ms = periodLength(by);
  return length_ms === null ? startOfPeriod(by)(local + MORE_THAN_A_MONTH_MS) : local + length_ms;
}

const MORE_THAN_A_MONTH_MS = 32 * 86_400_000;

/** Returns the part of a group in a stretch, or null if there is none. */
function pieceOf(by: Period, { from_ms, to_ms, offset_ms, repeated }: OffsetPeriod, key: number): Moments | null {
  const local = repeated ? key - REPEATED : key;
  const from = Math.max(from_ms, local - offset_ms);
  const to = Math.min(to_ms, nextOf(by, local) - offset_ms);
  return from < to ? { from_ms: from, to_ms: to } : null;
}

type Moments = Pick<OffsetPeriod, "from_ms" | "to_ms">;

/** Returns a stretch without the groups at its ends that it shares with another stretch. */
function runOf(by: Period, stretch: OffsetPeriod, divided: ReadonlySet<number>): GroupSlice | null {
  const { offset_ms, repeated } = stretch;
  let { from_ms, to_ms } = stretch;
  const pieces = [...divided]
    .filter((key) => (Math.abs(key % 2) === REPEATED) === repeated)
    .sort((a, b) => a - b)
    .flatMap((key) => pieceOf(by, stretch, key) ?? []);
  for (const piece of pieces) if (piece.from_ms <= from_ms) from_ms = Math.max(from_ms, piece.to_ms);
  for (const piece of pieces.toReversed()) if (piece.to_ms >= to_ms) to_ms = Math.min(to_ms, piece.from_ms);
  if (from_ms >= to_ms) return null;
  const isAlways = from_ms === -Infinity && to_ms === Infinity;
  const momentOf = (raw: RawKey): number => raw as number;
  return {
    kind: "many",
    filter: isAlways ? null : within({ from_ms, to_ms }),
    source: { date_histogram: histogramOf(by, offset_ms) },
    keyOf: (raw) => momentOf(raw) + offset_ms + (repeated ? REPEATED : 0),
    filterOf: (raw) => within({ from_ms: momentOf(raw), to_ms: nextOf(by, momentOf(raw) + offset_ms) - offset_ms }),
  };
}

function within({ from_ms, to_ms }: Moments): Query {
  return {
    range: { created: { ...(from_ms > -Infinity && { gte: from_ms }), ...(to_ms < Infinity && { lt: to_ms }) } },
  };
}

/**
 * Uses offsets, not time zones: Elasticsearch limits zones to 18 hours, and the COMPARE clause shifts
 * clocks by more.
 */
function histogramOf(by: Period, offset_ms: number): Histogram {
  const length_ms = periodLength(by);
  // A day begins earlier in UTC the further east it is.
  const begin_ms = (length_ms === null ? 0 : periodOrigin(by)) - offset_ms;
  return {
    field: "created",
    ...(length_ms === null ? { calendar_interval: "1M" } : { fixed_interval: `${length_ms}ms` }),
    offset: `${begin_ms < 0 ? "-" : "+"}${Math.abs(begin_ms)}ms`,
  };
}

/** Returns the filter of several slices, one of each key. */
export function filterOfSlices(slices: readonly GroupSlice[]): Query {
  return and(slices.flatMap(({ filter }) => filter ?? []));
}
