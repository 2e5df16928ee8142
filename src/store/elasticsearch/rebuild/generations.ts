import type { Client, estypes } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";

import type { StorePart } from "../../store.ts";
import { generationOf, indexOfGeneration, kindOf, kindsOf, placeOfIndex } from "../mapping.ts";
import type { Names } from "../mapping.ts";

/** Names in one address: they are part of a line that a node bounds at 4 KB. */
const MAX_NAMES = 40;
/**
 * A change of aliases that the cluster has not made by then is not made at all. Well below the time
 * after which a lock is taken over.
 */
const SWITCH_TIMEOUT_S = 10;
const SWITCH_REQUEST_TIMEOUT_MS = 30_000;

/** An index of ours. */
export type Index = {
  readonly name: string;
  readonly place: string;
  /** Tells it from another one of the same name. */
  readonly uuid: string;
  readonly shards: number;
  /** Whether readers and writers find it. */
  readonly isServed: boolean;
  /** Whether it is being built, and may yet be switched to. */
  readonly isBuilding: boolean;
  readonly isBlocked: boolean;
};

/** All indices of a namespace, served or not; the lock's own left out. */
export async function readIndices(client: Client, names: Names): Promise<Index[]> {
  const answer = await client.indices.get({
    index: kindsOf(names).flatMap((kind) => [kind, `${kind}.g*`]),
    features: ["aliases", "settings"],
    ignore_unavailable: true,
    allow_no_indices: true,
  });
  return Object.entries(answer).map(([name, { aliases = {}, settings }]) => {
    const place = placeOfIndex(name);
    const { uuid, number_of_shards: shards, blocks } = settings?.index ?? {};
    return {
      name,
      place,
      uuid: uuid ?? "",
      shards: Number(shards ?? 1),
      isServed: name === place || place in aliases,
      isBuilding: names.building in aliases,
      isBlocked: String(blocks?.write) === "true",
    };
  });
}

/** The indices that readers and writers find. */
export async function readParts(client: Client, names: Names): Promise<StorePart[]> {
  const indices = await readIndices(client, names);
  return indices.filter(({ isServed }) => isServed).map((index) => partOf(names, index));
}

export function partOf(names: Names, { name, place, uuid }: Index): StorePart {
  const isReplayed = [names.events, names.visits].includes(kindOf(names, place));
  return { place, id: uuid, generation: generationOf(name), isReplayed };
}

/** Which writes an index took, by the numbers that each of its shards gives them. */
export type Writes = {
  readonly uuid: string;
  /** For each shard: writes up to this number have been carried out, on every copy. */
  readonly settled: readonly number[];
  /** For each shard: the largest number that was given. */
  readonly latest: readonly number[];
};

/** The writes that indices took, by name. One that has gone, or of which a shard is away, is left out. */
export async function readWrites(client: Client, indices: readonly Index[]): Promise<ReadonlyMap<string, Writes>> {
  const found = new Map<string, Writes>();
  for (const some of chunked(indices)) {
    const answer = await client.indices.stats({
      index: some.map(({ name }) => name),
      level: "shards",
      metric: "docs",
      filter_path: "indices.*.uuid,indices.*.shards.*.seq_no,indices.*.shards.*.routing.primary",
      // One that went meanwhile must not hide the others.
      querystring: { ignore_unavailable: true },
    });
    for (const { name, shards } of some) {
      const { uuid, shards: told = {} } = answer.indices?.[name] ?? {};
      const primaries = Array.from({ length: shards }, (_, i) => told[i]?.find(({ routing }) => routing?.primary));
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

/** Makes the index of a generation, which nobody sees yet. @returns its name */
export async function createGeneration(
  client: Client,
  names: Names,
  place: string,
  generation: number,
): Promise<string> {
  const name = indexOfGeneration(names, place, generation);
  await unlessThere(() => client.indices.create({ index: name, aliases: { [names.building]: {} } }));
  return name;
}

/** Makes the index of a place as its first document would make it, unless there is one. */
export async function createPlace(client: Client, place: string): Promise<void> {
  await unlessThere(() => client.indices.create({ index: place }));
}

async function unlessThere(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    const isThere =
      error instanceof errors.ResponseError &&
      /resource_already_exists_exception|already exists as alias/.test(JSON.stringify(error.body ?? null));
    if (!isThere) throw error;
  }
}

/** Indices take no more writes; what was under way has ended when it returns. */
export async function block(client: Client, indices: readonly string[]): Promise<void> {
  for (const index of chunked(indices)) await client.indices.addBlock({ index, block: "write" });
}

/** Indices take writes again. Those that are gone need not. */
export async function unblock(client: Client, indices: readonly string[]): Promise<void> {
  for (const index of chunked(indices)) {
    await client.indices.putSettings(
      { index, settings: { "index.blocks.write": null }, ignore_unavailable: true, allow_no_indices: true },
      { ignore: [404] },
    );
  }
}

/**
 * Puts new indices in the places of old ones, all in one step or none, and deletes the old ones.
 *
 * Invariant: only an index that is still marked as being built is switched to. Whoever clears away
 * what another left takes that mark first: from then on the other can't switch any more, however
 * late it wakes up.
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

/** Deletes indices that were being built and are not served. */
export async function discardUnserved(client: Client, names: Names): Promise<void> {
  for (const { name, isBuilding } of (await readIndices(client, names)).filter(({ isServed }) => !isServed)) {
    if (isBuilding) {
      const actions = [{ remove: { index: name, alias: names.building, must_exist: true } }];
      await client.indices.updateAliases({ actions }, { ignore: [404] });
      const now = (await readIndices(client, names)).find((index) => index.name === name);
      // It was switched to at the last moment.
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
