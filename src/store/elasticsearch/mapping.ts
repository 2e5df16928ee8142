import type { Client, estypes } from "@elastic/elasticsearch";

import { StartError } from "../../errors.ts";
import { acceptedAt } from "../../events/id.ts";
import type { EventId } from "../../events/id.ts";
import type { Source } from "../../query/plan.ts";
import { MAX_EXPRESSION_LENGTH } from "./regexp.ts";

/** Raised when documents or mappings change so that an older release could not live with them. */
const LAYOUT_VERSION = 1;
/** Above the templates that come with Elasticsearch (`logs-*-*`, 100), so that any namespace gets plain indices. */
const TEMPLATE_PRIORITY = 500;

/**
 * Where things lie. Events, alerts and visits lie in an index for each month of acceptance, which the event's id tells: a redelivered event
 * meets its own document, and whoever has an id asks one index.
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
};

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
  };
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

/** Ids that begin alike so far were accepted within the same 16 seconds, of which each month is a multiple; whoever writes has many of them in a row. */
const SAME_MONTH_DIGITS = 7;
let latest = { moment: "", month: "" };

export type IndexOptions = {
  /** Primary shards of each index; 1 unless given. */
  readonly shards?: number;
  /** Copies of each shard; unless given, one as soon as the cluster has a second node. */
  readonly replicas?: number;
};

/**
 * Tells the cluster how to make our indices, once they are first written to. Safe to run by any number of processes at once.
 * @throws StartError where a later release has changed the layout
 */
export async function putTemplates(client: Client, names: Names, options: IndexOptions): Promise<void> {
  for (const name of [names.events, names.alerts, names.bookmarks, names.visits]) {
    await refuseLaterLayout(client, name);
    const isMonthly = name !== names.bookmarks;
    await client.indices.putIndexTemplate({
      name,
      index_patterns: [isMonthly ? `${name}-*` : name],
      priority: TEMPLATE_PRIORITY,
      _meta: { layout: LAYOUT_VERSION },
      template: {
        settings: settings(options),
        mappings: name === names.visits ? VISIT_MAPPINGS : MAPPINGS,
        ...(isMonthly && { aliases: { [name]: {} } }),
      },
    });
  }
}

async function refuseLaterLayout(client: Client, name: string): Promise<void> {
  const answer = await client.indices.getIndexTemplate({ name }, { ignore: [404] });
  const { _meta: meta } = answer.index_templates?.[0]?.index_template ?? {};
  const layout: unknown = meta?.["layout"];
  if (typeof layout === "number" && layout > LAYOUT_VERSION) {
    throw new StartError(
      `The index template ${name} of Elasticsearch has layout ${layout}, made by a later release; this one knows ${LAYOUT_VERSION}`,
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
  };
}

const keyword: estypes.MappingProperty = { type: "keyword" };
/**
 * Kept by document alone, without an index of all terms: for grouping, sorting, and expressions, which then look at the texts of
 * the events that the other conditions leave over and not at every text of the month. Measured over 300,000 distinct texts:
 * finding takes as long as with an index, 10 ms instead of 24 where the time is narrowed, and writing has less to do.
 */
const column: estypes.MappingProperty = { type: "keyword", index: false };

/**
 * Fields are posted values as they were; `folded` holds the forms that are compared. Absent values are left out of a document.
 * What is not listed (`data`, `geo`) is kept and never indexed.
 */
const MAPPINGS: estypes.MappingTypeMapping = {
  dynamic: false,
  properties: {
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
