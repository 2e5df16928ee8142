import type { Client, estypes } from "@elastic/elasticsearch";

import { StartError } from "../../errors.ts";
import { acceptedAt } from "../../events/id.ts";
import type { EventId } from "../../events/id.ts";
import type { Source } from "../../query/plan.ts";
import { ATTRIBUTES, columnOf } from "./attributes.ts";
import type { ColumnKind } from "./attributes.ts";
import { MAX_EXPRESSION_LENGTH } from "./text-index/regexp.ts";

/** Raised when documents or mappings change so that an older release could not live with them. */
const LAYOUT_VERSION = 3;
/** Above the templates that come with Elasticsearch (`logs-*-*`, 100), so that any namespace gets plain indices. */
const TEMPLATE_PRIORITY = 500;

/**
 * Where things lie. Events, alerts and visits lie in an index for each month of acceptance, which
 * the event's id tells: a redelivered event meets its own document, and whoever has an id asks one
 * index.
 *
 * Each of these names is a place: an index made by its first document, or, once that was rebuilt
 * (`rebuild.ts`), an alias of an index of a later generation. Searches tell the index that they
 * looked into; who writes goes by the place, which may have another index by then.
 */
export type Names = {
  /** Aliases over all months. */
  readonly events: string;
  readonly alerts: string;
  /** One index. */
  readonly bookmarks: string;
  /** An alias over all months. */
  readonly visits: string;
  readonly eventsOf: (id: EventId) => string;
  readonly alertsOf: (id: EventId) => string;
  readonly visitsOf: (id: EventId) => string;
  /** Indices of events that know no words, see {@link wordlessIndices}. Whatever is made from now on knows them. */
  readonly wordless: readonly string[];
  /** Indices of which some documents have no pattern and no point, see {@link earlierIndices}. */
  readonly earlier: readonly string[];
  /** Who rebuilds now, see `lock.ts`. */
  readonly rebuild: string;
  /** The alias of all indices that are being built. */
  readonly building: string;
};

/** Under each of these names all that is of one kind is read. */
export function kindsOf(names: Names): readonly string[] {
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
    wordless: [],
    earlier: [],
    rebuild: `${namespace}-rebuild`,
    building: `${namespace}-building`,
  };
}

/**
 * The place that an index stands for, be it the first or a later generation:
 * `logs-events.g2-2026.11` is one of `logs-events-2026.11`.
 */
export function placeOfIndex(index: string): string {
  return index.replace(GENERATION, "");
}

/** 0 for the index that the first document made. */
export function generationOf(index: string): number {
  return Number(GENERATION.exec(index)?.[1] ?? 0);
}

const GENERATION = /\.g(\d+)/;

/**
 * The index of a generation of a place. Its name keeps it out of the templates that show an index
 * to readers as soon as it is made.
 */
export function indexOfGeneration(names: Names, place: string, generation: number): string {
  const kind = kindOf(names, place);
  return `${kind}.g${generation}${place.slice(kind.length)}`;
}

/** The name under which the readers of a place find it, among all that is of its kind. */
export function kindOf(names: Names, place: string): string {
  const kind = kindsOf(names).find((kind) => place === kind || place.startsWith(`${kind}-`));
  if (kind === undefined) throw new Error(`${place} is no place of ours`);
  return kind;
}

/**
 * The start of the month that a place is for, in milliseconds since the Unix epoch, and its end;
 * null for what is not kept by months.
 */
export function monthAt(names: Names, place: string): { readonly start: number; readonly end: number } | null {
  const [, year, month] = /^-(\d{4})\.(\d{2})$/.exec(place.slice(kindOf(names, place).length)) ?? [];
  if (year === undefined) return null;
  return { start: Date.UTC(Number(year), Number(month) - 1), end: Date.UTC(Number(year), Number(month)) };
}

/** What a plan's source is read from. */
export function indexOf(names: Names, from: Source): string {
  return names[from.kind];
}

/** `2026.11`: the month, in UTC, in which an event was accepted. */
function monthOf(id: EventId): string {
  const moment = id.slice(0, SAME_MONTH_DIGITS);
  if (moment !== latest.moment) {
    latest = { moment, month: new Date(acceptedAt(id)).toISOString().slice(0, 7).replace("-", ".") };
  }
  return latest.month;
}

/**
 * Ids that begin alike so far were accepted within the same 16 seconds, of which each month is a
 * multiple; whoever writes has many of them in a row.
 */
const SAME_MONTH_DIGITS = 7;
let latest = { moment: "", month: "" };

export type IndexOptions = {
  /** Primary shards of each index; 1 unless given. */
  readonly shards?: number;
  /** Copies of each shard; unless given, one as soon as the cluster has a second node. */
  readonly replicas?: number;
};

/**
 * Tells the cluster how to make our indices, once they are first written to. Safe to run by any
 * number of processes at once.
 * @throws StartError where a later release has changed the layout
 */
export async function putTemplates(client: Client, names: Names, options: IndexOptions): Promise<void> {
  // All before any is put. Then at once: the cluster makes one change of changes that come together.
  await Promise.all(kindsOf(names).map((kind) => refuseLaterLayout(client, kind)));
  await Promise.all(kindsOf(names).flatMap((kind) => putTemplatesOf(client, names, kind, options)));
}

function putTemplatesOf(client: Client, names: Names, kind: string, options: IndexOptions): Promise<unknown>[] {
  const isMonthly = kind !== names.bookmarks;
  const mappings = { ...mappingsOf(names, kind), _meta: { layout: LAYOUT_VERSION } };
  const template = { settings: settings(options), mappings };
  const common = { priority: TEMPLATE_PRIORITY, _meta: { layout: LAYOUT_VERSION } };
  return [
    client.indices.putIndexTemplate({
      ...common,
      name: kind,
      index_patterns: [isMonthly ? `${kind}-*` : kind],
      template: { ...template, ...(isMonthly && { aliases: { [kind]: {} } }) },
    }),
    // Later generations of the same; nobody sees them before they are whole.
    client.indices.putIndexTemplate({
      ...common,
      name: `${kind}.generations`,
      index_patterns: [`${kind}.g*`],
      template,
    }),
  ];
}

function mappingsOf(names: Names, kind: string): estypes.MappingTypeMapping {
  if (kind === names.visits) return VISIT_MAPPINGS;
  return kind === names.events ? EVENT_MAPPINGS : MAPPINGS;
}

/** The indices of events that an earlier release has made, without an index of words. */
export async function wordlessIndices(client: Client, names: Names): Promise<string[]> {
  const found = await client.indices.getMapping({
    index: names.events,
    ignore_unavailable: true,
    allow_no_indices: true,
    filter_path: ["*.mappings.dynamic", "*.mappings.properties.folded.properties.digits.type"],
  });
  return Object.entries(found)
    .filter(([, { mappings }]) => mappings.properties?.["folded"] === undefined)
    .map(([index]) => index);
}

/**
 * Lets indices that an earlier release has made take what documents hold today. Those documents that
 * they have already stay as they are.
 * @returns these indices
 */
export async function earlierIndices(client: Client, names: Names): Promise<string[]> {
  const kinds = [names.events, names.alerts, names.bookmarks];
  const found = await client.indices.getMapping({
    index: kinds,
    ignore_unavailable: true,
    allow_no_indices: true,
    filter_path: ["*.mappings._meta", "*.mappings.dynamic", "*.mappings.properties.place.type"],
  });
  const earlier = Object.entries(found).filter(([, { mappings }]) => layoutOf(mappings) < LAYOUT_VERSION);
  const lacking = earlier.filter(([, { mappings }]) => mappings.properties?.["place"] === undefined);
  for (const [index] of lacking) {
    // One that retention removes meanwhile needs nothing any more.
    const ignoring = { ignore: [404] };
    await client.indices.putSettings({ index, settings: FIELD_LIMITS }, ignoring);
    await client.indices.putMapping({ index, ...ADDED_MAPPINGS }, ignoring);
  }
  return earlier.map(([index]) => index);
}

function layoutOf({ _meta: meta }: estypes.MappingTypeMapping): number {
  const layout: unknown = meta?.["layout"];
  return typeof layout === "number" ? layout : 0;
}

async function refuseLaterLayout(client: Client, name: string): Promise<void> {
  const answer = await client.indices.getIndexTemplate({ name }, { ignore: [404] });
  const { _meta: meta } = answer.index_templates?.[0]?.index_template ?? {};
  const layout: unknown = meta?.["layout"];
  if (typeof layout === "number" && layout > LAYOUT_VERSION) {
    throw new StartError(
      `The index template ${name} of Elasticsearch has layout ${layout}, ` +
        `made by a later release; this one knows ${LAYOUT_VERSION}`,
    );
  }
}

function settings({ shards = 1, replicas }: IndexOptions): estypes.IndicesIndexSettings {
  return {
    number_of_shards: shards,
    ...(replicas === undefined ? { auto_expand_replicas: "0-1" } : { number_of_replicas: replicas }),
    // Said explicitly: an index that relies on the standard stops refreshing when nobody has searched it for a while.
    refresh_interval: "1s",
    max_regex_length: MAX_EXPRESSION_LENGTH,
    ...FIELD_LIMITS,
  };
}

/** Fields that an index may get. */
export const FIELD_LIMIT = 6000;

/**
 * Attributes have up to three fields each. Of a document that has more than its index may get, those
 * beyond are named by `_ignored`.
 */
const FIELD_LIMITS = {
  "mapping.total_fields.limit": FIELD_LIMIT,
  "mapping.total_fields.ignore_dynamic_beyond_limit": true,
};

const keyword: estypes.MappingProperty = { type: "keyword" };
/**
 * Kept by document alone, without an index of all terms: for grouping, sorting, and expressions,
 * which then look at the texts of the events that the other conditions leave over and not at every
 * text of the month. Measured over 300,000 distinct texts: finding takes as long as with an index,
 * 10 ms instead of 24 where the time is narrowed, and writing has less to do.
 */
const column: estypes.MappingProperty = { type: "keyword", index: false };

/** Words are looked up and nothing else: see `words.ts`. */
function words(analyzer: "simple" | "whitespace"): estypes.MappingProperty {
  return { type: "text", analyzer, index_options: "docs", norms: false };
}

const columns: estypes.MappingProperty = { type: "object", dynamic: true };

function columnsLike(kind: ColumnKind, mapping: estypes.MappingProperty) {
  return { [kind]: { path_match: columnOf(kind, "*"), mapping } };
}

/** What an index of an earlier release lacks; see `attributes.ts`. */
const ADDED_MAPPINGS = {
  dynamic_templates: [
    columnsLike("texts", column),
    columnsLike("folded", column),
    columnsLike("numbers", { type: "double" }),
  ],
  properties: {
    pattern: column,
    /** `geo`, where that is a place and no address. */
    place: { type: "geo_point" },
    geo: { properties: { lat: { type: "double" }, lon: { type: "double" } } },
    folded: { properties: { pattern: keyword } },
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
 * Fields are posted values as they were; `folded` holds the forms that are compared. Absent values
 * are left out of a document. What is not listed (`data`, `attributes`) is kept and never indexed.
 */
const MAPPINGS = {
  dynamic: false,
  dynamic_templates: ADDED_MAPPINGS.dynamic_templates,
  properties: {
    ...ADDED_MAPPINGS.properties,
    id: keyword,
    log: keyword,
    owner: keyword,
    created: { type: "date", format: "epoch_millis" },
    value: { type: "double" },
    text: column,
    link: column,
    hash: column,
    tags: column,
    source: column,
    class: column,
    user: column,
    has: { type: "keyword", doc_values: false },
    folded: {
      properties: {
        ...ADDED_MAPPINGS.properties.folded.properties,
        text: column,
        link: column,
        hash: column,
        tags: keyword,
        source: keyword,
        class: keyword,
        user: keyword,
      },
    },
  },
} satisfies estypes.MappingTypeMapping;

/** Of events alone, and not of people's copies: by these, few are found among all. */
const WORDS = { text: { ...column, fields: { letters: words("simple") } }, digits: words("whitespace") };
const EVENT_MAPPINGS: estypes.MappingTypeMapping = {
  ...MAPPINGS,
  properties: {
    ...MAPPINGS.properties,
    folded: { properties: { ...MAPPINGS.properties.folded.properties, ...WORDS } },
  },
};

/** Visits are only counted and grouped by user; the rest is read from the last of a group. */
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
