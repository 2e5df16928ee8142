import type { Client, estypes } from "@elastic/elasticsearch";

import type { StoredEvent } from "../../src/events/event.ts";
import { hashText } from "../../src/events/hash.ts";

const BATCH = 5_000;
const IN_FLIGHT = 3;

const keyword: estypes.MappingProperty = { type: "keyword" };

/** The obvious mapping for just these attributes, each with its own type. */
const MAPPINGS: estypes.MappingTypeMapping = {
  dynamic: false,
  properties: {
    id: keyword,
    log: keyword,
    created: { type: "date", format: "epoch_millis" },
    text: { type: "text" },
    link: keyword,
    tags: keyword,
    source: keyword,
    user: keyword,
    value: { type: "double" },
    pattern: keyword,
    host: keyword,
    route: keyword,
    status: { type: "integer" },
    duration_ms: { type: "double" },
    trace_id: keyword,
  },
};

/** Creates and fills monthly indices, as the service has them, under one alias. */
export async function fillFlatIndex(client: Client, alias: string, events: Iterable<StoredEvent>): Promise<void> {
  const made = new Set<string>();
  const writing = new Set<Promise<void>>();
  let operations: string[] = [];
  const send = async (): Promise<void> => {
    if (writing.size >= IN_FLIGHT) await Promise.race(writing);
    const sent: Promise<void> = bulk(client, operations).finally(() => writing.delete(sent));
    writing.add(sent);
    operations = [];
  };
  for (const event of events) {
    const index = `${alias}-${new Date(event.created).toISOString().slice(0, 7)}`;
    if (!made.has(index)) {
      const settings = { number_of_replicas: 0, "index.requests.cache.enable": false };
      await client.indices.create({ index, settings, mappings: MAPPINGS, aliases: { [alias]: {} } });
      made.add(index);
    }
    operations.push(`{"create":{"_index":"${index}","_id":"${event.id}"}}\n${JSON.stringify(documentOf(event))}\n`);
    if (operations.length === BATCH) await send();
  }
  if (operations.length > 0) await send();
  await Promise.all(writing);
  await client.indices.refresh({ index: alias });
}

/** Encodes an event without its absent values, like the service's documents. */
function documentOf(event: StoredEvent): object {
  const { id, log, created, text, link, tags, source, user, value, pattern, attributes } = event;
  const { "http.route": route, "http.status": status, ...others } = JSON.parse(attributes!) as Record<string, unknown>;
  return {
    id,
    log,
    created,
    text,
    link: link === "" ? undefined : link,
    hash: hashText(text),
    tags,
    source,
    user,
    value,
    pattern,
    route,
    status,
    ...others,
  };
}

async function bulk(client: Client, operations: readonly string[]): Promise<void> {
  const body = operations.join("") as unknown as never[];
  const { errors } = await client.bulk({ operations: body, filter_path: "errors" });
  if (errors) throw new Error("a bulk request to the flat index failed in part");
}
