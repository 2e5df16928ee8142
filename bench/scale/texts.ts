import type { Client, estypes } from "@elastic/elasticsearch";

import { createRandom } from "../support/events.ts";
import { eventOf } from "./events.ts";

const BULK = 5_000;
const IN_FLIGHT = 3;

/**
 * The obvious mapping for searching texts by `match` and `regexp`. Other fields are only stored.
 */
const MAPPINGS: estypes.MappingTypeMapping = {
  dynamic: false,
  properties: { created: { type: "date" }, text: { type: "text", fields: { keyword: { type: "keyword" } } } },
};

/**
 * Fills an index with the events that a service was loaded with.
 * @returns documents per second
 */
export async function fillTexts(client: Client, index: string, count: number): Promise<number> {
  const settings = { number_of_shards: 1, number_of_replicas: 0 };
  await client.indices.create({ index, settings, mappings: MAPPINGS });
  const random = createRandom(11);
  const writing = new Set<Promise<void>>();
  const start_ms = performance.now();
  for (let start = 0; start < count; start += BULK) {
    const length = Math.min(BULK, count - start);
    const lines = Array.from({ length }, (_, i) => JSON.stringify(eventOf(start + i, count, random)));
    if (writing.size >= IN_FLIGHT) await Promise.race(writing);
    const sent: Promise<void> = bulk(client, index, lines).finally(() => writing.delete(sent));
    writing.add(sent);
  }
  await Promise.all(writing);
  await client.indices.refresh({ index });
  return count / ((performance.now() - start_ms) / 1000);
}

async function bulk(client: Client, index: string, lines: readonly string[]): Promise<void> {
  const body = lines.map((line) => `{"index":{}}\n${line}\n`).join("") as unknown as never[];
  const { errors } = await client.bulk({ index, operations: body, filter_path: "errors" });
  if (errors) throw new Error("a bulk request to the index of texts failed in part");
}
