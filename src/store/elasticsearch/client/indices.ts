import type { Client } from "@elastic/elasticsearch";

import { LoggiaError } from "../../../errors.ts";
import type { StorePart } from "../../store.ts";
import { indexGeneration, indexKind, indexKinds, monthAt, placeOfIndex } from "../documents/mapping.ts";
import type { Names } from "../documents/mapping.ts";

/** Maximum number of names in a URL, since a node limits its first line to 4 KB. */
const MAX_NAMES = 40;

/** An index of the store. */
export type Index = {
  readonly name: string;
  readonly place: string;
  /** Distinguishes it from another index of the same name. */
  readonly uuid: string;
  readonly shards: number;
  /** Whether readers and writers use it. */
  readonly isServed: boolean;
  /** Whether it is being built and may still be switched to. */
  readonly isBuilding: boolean;
  readonly isBlocked: boolean;
  /** Whether another template than the store's created it, so that no reader finds its documents. */
  readonly lacksLayout: boolean;
};

/** What is read of an index. Its mappings may have thousands of fields. */
const READ = [
  "*.aliases",
  "*.settings.index.uuid",
  "*.settings.index.number_of_shards",
  "*.settings.index.blocks",
  "*.mappings.properties.log.type",
];

/** Returns all indices of a namespace, served or not, except that of the lock. */
export async function readIndices(client: Client, names: Names): Promise<Index[]> {
  const answer = await client.indices.get({
    // An index without the layout lacks the alias of its kind too.
    index: indexKinds(names).flatMap((kind) => [kind, `${kind}-*`, `${kind}.g*`]),
    features: ["aliases", "settings", "mappings"],
    filter_path: READ,
    ignore_unavailable: true,
    allow_no_indices: true,
  });
  return Object.entries(answer).flatMap(([name, { aliases = {}, settings, mappings }]) => {
    const place = placeOfIndex(name);
    const kind = indexKind(names, place);
    const isMonth = monthAt(names, place) !== null;
    if (place !== names.bookmarks && !isMonth) return [];
    const { uuid, number_of_shards: shards, blocks } = settings?.index ?? {};
    const isServed = name === place || place in aliases;
    const isFound = !isServed || !isMonth || kind in aliases;
    const index: Index = {
      name,
      place,
      uuid: uuid ?? "",
      shards: Number(shards ?? 1),
      isServed,
      isBuilding: names.building in aliases,
      isBlocked: String(blocks?.write) === "true",
      lacksLayout: !isFound || mappings?.properties?.["log"]?.type !== "keyword",
    };
    return [index];
  });
}

/** Returns the indices that readers and writers use. */
export async function readParts(client: Client, names: Names): Promise<StorePart[]> {
  const indices = await readIndices(client, names);
  return indices.filter(({ isServed }) => isServed).map((index) => storePart(names, index));
}

export function storePart(names: Names, { name, place, uuid, lacksLayout }: Index): StorePart {
  const isReplayed = [names.events, names.visits].includes(indexKind(names, place));
  return { place, id: uuid, generation: indexGeneration(name), isReplayed, ...(lacksLayout && { lacksLayout }) };
}

/** Blocks writes to indices. Writes in flight have ended when it returns. */
export async function block(client: Client, indices: readonly string[]): Promise<void> {
  for (const index of chunked(indices)) await client.indices.addBlock({ index, block: "write" });
}

/** Unblocks writes to indices. Missing indices are ignored. */
export async function unblock(client: Client, indices: readonly string[]): Promise<void> {
  for (const index of chunked(indices)) {
    await client.indices.putSettings(
      { index, settings: { "index.blocks.write": null }, ignore_unavailable: true, allow_no_indices: true },
      { ignore: [404] },
    );
  }
}

/** Makes writes visible to searches. @throws LoggiaError `store_unavailable` if a shard fails */
export async function refresh(client: Client, indices: string): Promise<void> {
  const { _shards: shards } = await client.indices.refresh({
    index: indices,
    ignore_unavailable: true,
    allow_no_indices: true,
  });
  if ((shards?.failed ?? 0) === 0) return;
  throw new LoggiaError("store_unavailable", `Elasticsearch could not refresh ${shards!.failed} shards of ${indices}`);
}

export function chunked<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / MAX_NAMES) }, (_, i) =>
    items.slice(i * MAX_NAMES, (i + 1) * MAX_NAMES),
  );
}
