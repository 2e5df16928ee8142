import type { estypes } from "@elastic/elasticsearch";

import { acceptedAt } from "../../../events/id.ts";
import type { EventId } from "../../../events/id.ts";
import { mapKeywords } from "../../../events/map-keywords.ts";
import { EVENT_SCHEMA } from "../../../events/schema.ts";
import type { RecordSource } from "../../../query/plan.ts";
import { ATTRIBUTES, attributeColumn } from "./attributes.ts";
import type { ColumnKind } from "./attributes.ts";

/** Incremented with each incompatible change of documents or mappings. */
export const LAYOUT_VERSION = 4;

/**
 * Names of indices. Events, alerts and visits are in monthly indices by the month of acceptance,
 * which the event's id contains: a redelivered event conflicts with its own document, and a read by
 * id searches one index.
 *
 * Each name is a place: either the index created by its first document or, after a rebuild
 * (`rebuild.ts`), an alias of an index of a later generation. Search hits contain index names;
 * writes go to the place, which may have another index by then.
 */
export type Names = {
  /** Aliases of all months. */
  readonly events: string;
  readonly alerts: string;
  /** A single index. */
  readonly bookmarks: string;
  /** Alias of all months. */
  readonly visits: string;
  readonly eventsOf: (id: EventId) => string;
  readonly alertsOf: (id: EventId) => string;
  readonly visitsOf: (id: EventId) => string;
  /** Index of the rebuild lock, see `lock.ts`. */
  readonly rebuild: string;
  /** Alias of all indices that are being built. */
  readonly building: string;
  /** Pattern of the operator's component templates, see `templates.ts`. */
  readonly custom: string;
};

/** Returns the name under which each kind of documents is read. */
export function indexKinds(names: Names): readonly string[] {
  return [names.events, names.alerts, names.bookmarks, names.visits];
}

export function namesIn(namespace: string): Names {
  const events = `${namespace}-events`;
  const alerts = `${namespace}-alerts`;
  const visits = `${namespace}-visits`;
  return {
    events,
    alerts,
    bookmarks: `${namespace}-bookmarks`,
    visits,
    eventsOf: (id) => `${events}-${monthOf(id)}`,
    alertsOf: (id) => `${alerts}-${monthOf(id)}`,
    visitsOf: (id) => `${visits}-${monthOf(id)}`,
    rebuild: `${namespace}-rebuild`,
    building: `${namespace}-building`,
    custom: `${namespace}-*@custom`,
  };
}

/**
 * Returns the place of an index of any generation: `logs-events.g2-2026.11` has the place
 * `logs-events-2026.11`.
 */
export function placeOfIndex(index: string): string {
  return index.replace(GENERATION, "");
}

/** Returns the generation of an index; 0 for the index that the first document created. */
export function indexGeneration(index: string): number {
  return Number(GENERATION.exec(index)?.[1] ?? 0);
}

const GENERATION = /\.g(\d+)/;

/**
 * Returns the index of a generation of a place. Its name does not match the templates that make an
 * index visible to readers at once.
 */
export function indexOfGeneration(names: Names, place: string, generation: number): string {
  const kind = indexKind(names, place);
  return `${kind}.g${generation}${place.slice(kind.length)}`;
}

/** Returns the kind of a place, which is the name that readers use. */
export function indexKind(names: Names, place: string): string {
  const kind = indexKinds(names).find((kind) => place === kind || place.startsWith(`${kind}-`));
  if (kind === undefined) throw new Error(`${place} is not an index of this namespace`);
  return kind;
}

/**
 * Returns the start and end of a place's month, in milliseconds since the Unix epoch, or null if
 * the place is not monthly.
 */
export function monthAt(names: Names, place: string): { readonly start: number; readonly end: number } | null {
  const [, year, month] = /^-(\d{4})\.(\d{2})$/.exec(place.slice(indexKind(names, place).length)) ?? [];
  if (year === undefined) return null;
  return { start: Date.UTC(Number(year), Number(month) - 1), end: Date.UTC(Number(year), Number(month)) };
}

/** Returns the name from which a plan's source is read. */
export function recordIndex(names: Names, from: RecordSource): string {
  return names[from.kind];
}

/** Returns the month of acceptance of an event in UTC, such as `2026.11`. */
function monthOf(id: EventId): string {
  const moment = id.slice(0, SAME_MONTH_DIGITS);
  if (moment !== latest.moment) {
    latest = { moment, month: new Date(acceptedAt(id)).toISOString().slice(0, 7).replace("-", ".") };
  }
  return latest.month;
}

/**
 * Ids with these first digits in common were accepted within the same 16 seconds, of which each
 * month is a multiple. Writers have many such ids in a row.
 */
const SAME_MONTH_DIGITS = 7;
let latest = { moment: "", month: "" };

/** Returns the mappings of a kind of indices. */
export function indexMappings(names: Names, kind: string): estypes.MappingTypeMapping {
  if (kind === names.visits) return VISIT_MAPPINGS;
  return kind === names.events ? EVENT_MAPPINGS : MAPPINGS;
}

/** Maximum number of fields of an index. */
export const FIELD_LIMIT = 6000;

/**
 * Attributes have up to three fields each. Fields beyond the limit are listed in `_ignored` of
 * their document.
 */
export const FIELD_LIMITS = {
  "mapping.total_fields.limit": FIELD_LIMIT,
  "mapping.total_fields.ignore_dynamic_beyond_limit": true,
};

const keyword: estypes.MappingProperty = { type: "keyword" };
/**
 * Doc values without an inverted index, for grouping, sorting and expressions. An expression then
 * tests the texts of the events that meet the other conditions, rather than all terms of the month:
 * searches are no slower, faster in a narrow time range, and writes cost less.
 */
const column: estypes.MappingProperty = { type: "keyword", index: false };

/** Returns a mapping for looking up words only, see `words.ts`. */
function words(analyzer: "simple" | "whitespace"): estypes.MappingProperty {
  return { type: "text", analyzer, index_options: "docs", norms: false };
}

const columns: estypes.MappingProperty = { type: "object", dynamic: true };

function columnsLike(kind: ColumnKind, mapping: estypes.MappingProperty) {
  return { [kind]: { path_match: attributeColumn(kind, "*"), mapping } };
}

/**
 * Fields hold posted values; `folded` holds the forms that are compared. Absent values are left out
 * of a document. Unlisted fields (`attributes`, and in copies `data`) are stored and never indexed.
 */
const MAPPINGS = {
  dynamic: false,
  dynamic_templates: [
    columnsLike("texts", column),
    columnsLike("folded", column),
    columnsLike("numbers", { type: "double" }),
  ],
  properties: {
    id: keyword,
    log: keyword,
    owner: keyword,
    created: { type: "date", format: "epoch_millis" },
    value: { type: "double" },
    text: column,
    hash: column,
    pattern: column,
    tags: column,
    class: column,
    ...mapKeywords(() => column),
    geo: { properties: { lat: { type: "double" }, lon: { type: "double" } } },
    /** `geo`, unless it is an address. */
    place: { type: "geo_point" },
    has: { type: "keyword", doc_values: false },
    folded: {
      properties: {
        text: column,
        hash: column,
        pattern: keyword,
        tags: keyword,
        class: keyword,
        ...mapKeywords((name) => ("filters" in EVENT_SCHEMA[name].keyword ? keyword : column)),
      },
    },
    /** See `attributes.ts`. */
    [ATTRIBUTES]: {
      properties: {
        keys: keyword,
        kinds: keyword,
        terms: { type: "keyword", doc_values: false },
        rest: { type: "keyword", doc_values: false },
        mixed: { type: "keyword", doc_values: false },
        texts: columns,
        folded: columns,
        numbers: columns,
      },
    },
  },
} satisfies estypes.MappingTypeMapping;

/**
 * Word fields, for selective searches. Only events have them, not users' copies. Data has word
 * fields alone: it is neither shown in lists nor sorted or grouped.
 */
const EVENT_MAPPINGS: estypes.MappingTypeMapping = {
  ...MAPPINGS,
  properties: {
    ...MAPPINGS.properties,
    data: words("simple"),
    folded: {
      properties: {
        ...MAPPINGS.properties.folded.properties,
        text: { ...column, fields: { letters: words("simple") } },
        digits: words("whitespace"),
        dataDigits: words("whitespace"),
      },
    },
  },
};

/** Visits are counted and grouped by user only; other fields are read from a group's last visit. */
const VISIT_MAPPINGS: estypes.MappingTypeMapping = {
  dynamic: false,
  properties: {
    id: keyword,
    log: keyword,
    created: { type: "date", format: "epoch_millis" },
    has: { type: "keyword", doc_values: false },
    folded: { properties: { user: keyword } },
  },
};
