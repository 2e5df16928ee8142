import type { Client, estypes } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";

import type { StorePart } from "../../store.ts";
import { generationOf, indexOfGeneration, kindOf, kindsOf, monthAt, placeOfIndex } from "../mapping.ts";
import type { Names } from "../mapping.ts";

/** Maximum number of names in a URL, since a node limits its first line to 4 KB. */
const MAX_NAMES = 40;
/**
 * Time after which the cluster drops an unfinished change of aliases. It is well below the time
 * after which a lock is taken over.
 */
const SWITCH_TIMEOUT_S = 10;
const SWITCH_REQUEST_TIMEOUT_MS = 30_000;

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
    index: kindsOf(names).flatMap((kind) => [kind, `${kind}-*`, `${kind}.g*`]),
    features: ["aliases", "settings", "mappings"],
    filter_path: READ,
    ignore_unavailable: true,
    allow_no_indices: true,
  });
  return Object.entries(answer).flatMap(([name, { aliases = {}, settings, mappings }]) => {
    const place = placeOfIndex(name);
    const kind = kindOf(names, place);
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
  return indices.filter(({ isServed }) => isServed).map((index) => partOf(names, index));
}

export function partOf(names: Names, { name, place, uuid, lacksLayout }: Index): StorePart {
  const isReplayed = [names.events, names.visits].includes(kindOf(names, place));
  return { place, id: uuid, generation: generationOf(name), isReplayed, ...(lacksLayout && { lacksLayout }) };
}

/** Progress of the writes to an index, by the sequence numbers of each shard. */
export type Writes = {
  readonly uuid: string;
  /** For each shard, the number up to which all writes are done on every copy. */
  readonly settled: readonly number[];
  /** For each shard, the largest number assigned. */
  readonly latest: readonly number[];
};

/** Returns the writes of indices by name. Omits indices that are gone or lack a shard. */
export async function readWrites(client: Client, indices: readonly Index[]): Promise<ReadonlyMap<string, Writes>> {
  const found = new Map<string, Writes>();
  for (const some of chunked(indices)) {
    const answer = await client.indices.stats({
      index: some.map(({ name }) => name),
      level: "shards",
      metric: "docs",
      filter_path: "indices.*.uuid,indices.*.shards.*.seq_no,indices.*.shards.*.routing.primary",
      // An index removed meanwhile must not fail the request for the others.
      querystring: { ignore_unavailable: true },
    });
    for (const { name, shards } of some) {
      const { uuid, shards: shardStats = {} } = answer.indices?.[name] ?? {};
      const primaries = Array.from({ length: shards }, (_, i) =>
        shardStats[i]?.find(({ routing }) => routing?.primary),
      );
      const numbers = primaries.flatMap((primary) => primary?.seq_no ?? []);
      if (uuid === undefined || numbers.length < shards) continue;
      found.set(name, {
        uuid,
        settled: numbers.map(({ global_checkpoint: settled }) => settled),
        latest: numbers.map(({ max_seq_no: latest }) => latest),
      });
    }
  }
  return found;
}

/** Creates the index of a generation, which is not served yet. @returns its name */
export async function createGeneration(
  client: Client,
  names: Names,
  place: string,
  generation: number,
): Promise<string> {
  const name = indexOfGeneration(names, place, generation);
  await unlessExists(() => client.indices.create({ index: name, aliases: { [names.building]: {} } }));
  return name;
}

/** Creates the index of a place as its first document would, unless it exists. */
export async function createPlace(client: Client, place: string): Promise<void> {
  await unlessExists(() => client.indices.create({ index: place }));
}

async function unlessExists(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    const alreadyExists =
      error instanceof errors.ResponseError &&
      /resource_already_exists_exception|already exists as alias/.test(JSON.stringify(error.body ?? null));
    if (!alreadyExists) throw error;
  }
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

/**
 * Replaces old indices by new ones in a single atomic step, which deletes the old ones.
 *
 * Invariant: only an index that is still marked as being built is switched to. A process that
 * cleans up after another removes that mark first: from then on the other process cannot switch,
 * however late it resumes.
 */
export async function switchTo(
  client: Client,
  names: Names,
  changes: readonly { readonly old: string; readonly index: string }[],
): Promise<void> {
  const actions = changes.flatMap(({ old, index }): estypes.IndicesUpdateAliasesAction[] => {
    const place = placeOfIndex(index);
    return [
      { remove_index: { index: old } },
      { remove: { index, alias: names.building, must_exist: true } },
      { add: { index, aliases: [...new Set([place, kindOf(names, place)])] } },
    ];
  });
  await client.indices.updateAliases(
    { actions, master_timeout: `${SWITCH_TIMEOUT_S}s`, timeout: `${SWITCH_TIMEOUT_S}s` },
    { maxRetries: 0, requestTimeout: SWITCH_REQUEST_TIMEOUT_MS },
  );
}

/** Deletes unserved indices that were being built. */
export async function discardUnserved(client: Client, names: Names): Promise<void> {
  for (const { name, isBuilding } of (await readIndices(client, names)).filter(({ isServed }) => !isServed)) {
    if (isBuilding) {
      const actions = [{ remove: { index: name, alias: names.building, must_exist: true } }];
      await client.indices.updateAliases({ actions }, { ignore: [404] });
      const now = (await readIndices(client, names)).find((index) => index.name === name);
      // The switch happened just before the mark was removed.
      if (now?.isServed) continue;
    }
    await client.indices.delete({ index: name }, { ignore: [404] });
  }
}

export function chunked<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / MAX_NAMES) }, (_, i) =>
    items.slice(i * MAX_NAMES, (i + 1) * MAX_NAMES),
  );
}
