import type { Client, estypes } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";

import { indexOfGeneration, indexKind, placeOfIndex } from "../documents/mapping.ts";
import type { Names } from "../documents/mapping.ts";
import type { Index } from "../client/indices.ts";
import { chunked, readIndices } from "../client/indices.ts";

/**
 * Time after which the cluster drops an unfinished change of aliases. It is well below the time
 * after which a lock is taken over.
 */
const SWITCH_TIMEOUT_S = 10;
const SWITCH_REQUEST_TIMEOUT_MS = 30_000;

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
      { add: { index, aliases: [...new Set([place, indexKind(names, place)])] } },
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
