import type { Client } from "@elastic/elasticsearch";

import { withTimeout } from "../../elasticsearch/client.ts";
import { LoggiaError } from "../../errors.ts";
import type { EventRow, LogKey, UserId } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import type { RecordSource } from "../../query/plan.ts";
import type { Annotations } from "../store.ts";
import type { Query } from "./search/compile.ts";
import { MARKER, ROW_SOURCE, toRow } from "./document.ts";
import type { Document } from "./document.ts";
import { placeOfIndex } from "./mapping.ts";
import type { Names } from "./mapping.ts";
import {
  ANY_ORDER,
  retryTransient,
  scan,
  searcherOf,
  ShardNotReady,
  totalOf,
  WITHOUT_PRE_FILTER,
  withPointInTime,
} from "./search/scan.ts";
import type { Hit } from "./search/scan.ts";
import { createOperation, deleteOperation, indexOperation, writeNow } from "./write/write.ts";
import type { Operation } from "./write/bulk-encoding.ts";

const BATCH = 1000;

/** Returns the `_id` of a user's copy of an event. */
export function copyId(id: EventId, owner: UserId): string {
  return `${id}-${owner}`;
}

type Stored = { readonly document: Document; readonly seqNo: number; readonly primaryTerm: number };
type SourceFilter = { includes: string[] } | { excludes: string[] };

/** Reads the current document, searchable or not. Returns null if there is none but a marker. */
async function read(client: Client, index: string, id: string, filter: SourceFilter): Promise<Stored | null> {
  const fields = "includes" in filter ? { _source_includes: filter.includes } : { _source_excludes: filter.excludes };
  const get = () => retryTransient(() => client.get<Partial<Document>>({ index, id, ...fields }, { ignore: [404] }));
  let response = await get();
  // The response for a missing index has no `found`. The index was never created, or a later
  // generation is replacing it and exists by the next request.
  if (response.found === undefined) response = await get();
  const { found, _source: source, _seq_no: seqNo, _primary_term: primaryTerm } = response;
  if (!found || source?.log === undefined || seqNo === undefined || primaryTerm === undefined) return null;
  return { document: source as Document, seqNo, primaryTerm };
}

export async function readIn(
  client: Client,
  index: string,
  id: string,
  log: LogKey,
  filter: SourceFilter,
): Promise<Stored | null> {
  const stored = await read(client, index, id, filter);
  return stored?.document.log === log ? stored : null;
}

export async function find(
  client: Client,
  names: Names,
  from: RecordSource,
  log: LogKey,
  id: EventId,
): Promise<EventRow | null> {
  const [index, documentId] = locationOf(names, from, id);
  const stored = await readIn(client, index, documentId, log, ROW_SOURCE);
  return stored && toRow(stored.document);
}

function locationOf(names: Names, from: RecordSource, id: EventId): [index: string, documentId: string] {
  switch (from.kind) {
    case "events":
      return [names.eventsOf(id), id];
    case "alerts":
      return [names.alertsOf(id), copyId(id, from.user)];
    case "bookmarks":
      return [names.bookmarks, copyId(id, from.user)];
  }
  throw from satisfies never;
}

export async function data(client: Client, names: Names, log: LogKey, id: EventId): Promise<string | null | undefined> {
  const stored = await readIn(client, names.eventsOf(id), id, log, { includes: ["log", "data"] });
  return stored === null ? undefined : (stored.document.data ?? null);
}

/** Returns the annotations of events, by one search unless they exceed a batch. */
export async function annotations(
  client: Client,
  names: Names,
  ids: readonly EventId[],
): Promise<ReadonlyMap<EventId, Annotations>> {
  const found: OwnersByEvent = new Map();
  if (ids.length === 0) return found;
  const indices = [names.bookmarks, ...new Set(ids.map(names.alertsOf))].join();
  const search = searcherOf(client, indices);
  const options = {
    query: { terms: { id: [...ids] } },
    sort: [{ id: "asc" as const }, { owner: "asc" as const }, { _index: "asc" as const }],
    batch: BATCH,
    source: { includes: ["id", "owner"] },
  };
  for await (const hits of scan(search, options)) for (const hit of hits) addOwner(found, names, hit);
  return found;
}

type OwnersByEvent = Map<EventId, { bookmarks: UserId[]; alerts: UserId[] }>;

function addOwner(found: OwnersByEvent, names: Names, { _index: index, _source: source }: Hit): void {
  const { id, owner } = source as { id: EventId; owner: UserId };
  const entry = found.get(id) ?? { bookmarks: [], alerts: [] };
  found.set(id, entry);
  entry[placeOfIndex(index) === names.bookmarks ? "bookmarks" : "alerts"].push(owner);
}

/** Maximum number of annotations that are read together with a page. */
const MAX_ANNOTATIONS = 200;
/** Longest wait of a page for its annotations. With many copies, a request by ids is faster. */
const LOOKUP_TIMEOUT_MS = 250;

/**
 * Returns the annotations of the events that a query finds. A copy has all fields of its event
 * except the current class, so the same query finds it, concurrently and without waiting for the
 * ids. Returns null if there are too many copies or the request failed; then {@link annotations} is
 * used.
 */
export async function annotationsByQuery(
  client: Client,
  names: Names,
  query: Query,
): Promise<ReadonlyMap<EventId, Annotations> | null> {
  try {
    const search = searcherOf(client, `${names.bookmarks},${names.alerts}`);
    const answer = await withTimeout(LOOKUP_TIMEOUT_MS, () =>
      search({
        query,
        size: MAX_ANNOTATIONS,
        ...WITHOUT_PRE_FILTER,
        sort: [{ owner: "asc" }],
        track_total_hits: MAX_ANNOTATIONS + 1,
        _source: { includes: ["id", "owner"] },
      }),
    );
    const { hits } = answer.hits;
    if (hits.length < totalOf(answer)) return null;
    const found: OwnersByEvent = new Map();
    for (const hit of hits) addOwner(found, names, hit);
    return found;
  } catch {
    return null;
  }
}

type Version = { readonly if_seq_no: number; readonly if_primary_term: number };

/**
 * Removes a document that was read before, by a request that is conditional on its version.
 * @returns false if another request has removed it
 */
async function removeVersioned(
  location: { readonly client: Client; readonly index: string; readonly id: string },
  stored: Stored,
  request: (version: Version) => Promise<boolean>,
): Promise<boolean> {
  const { client, index, id } = location;
  const { seqNo, primaryTerm } = stored;
  if (await retryTransient(() => request({ if_seq_no: seqNo, if_primary_term: primaryTerm }))) return true;
  // The version differs: the document was removed or has another class, or a later generation of
  // the index has assigned new numbers.
  const now = await read(client, index, id, { includes: ["log"] });
  const isSame = now?.seqNo === seqNo && now.primaryTerm === primaryTerm;
  return now !== null && !isSame && removeVersioned(location, now, request);
}

/** Replaces a document by the marker. @returns false if another request did */
async function replaceByMarker(client: Client, index: string, id: string, stored: Stored): Promise<boolean> {
  return removeVersioned({ client, index, id }, stored, async (version) => {
    const request = { index, id, document: {}, ...version, refresh: true };
    const { _seq_no: written } = await client.index(request, { ignore: [409] });
    return written !== undefined;
  });
}

/**
 * Deletes an event and all users' copies. Copies are deleted before the event, so that the deletion
 * can be repeated after a failure, and again after it, to include copies made meanwhile.
 */
export async function deleteEvent(client: Client, names: Names, log: LogKey, id: EventId): Promise<boolean> {
  const index = names.eventsOf(id);
  const stored = await readIn(client, index, id, log, { includes: ["log"] });
  if (stored === null) return false;
  await deleteCopies(client, names, [id]);
  const deleted = await replaceByMarker(client, index, id, stored);
  await deleteCopies(client, names, [id]);
  return deleted;
}

/** Deletes all users' alerts and bookmarks of some events. */
export async function deleteCopies(client: Client, names: Names, ids: readonly EventId[]): Promise<void> {
  const indices = [...new Set(ids.map(names.alertsOf)), names.bookmarks].join();
  await refresh(client, indices);
  await forEachHit(client, indices, { terms: { id: [...ids] } }, (place, documentId) =>
    place === names.bookmarks ? deleteOperation(place, documentId) : indexOperation(place, documentId, MARKER),
  );
}

/** Writes an operation for each document that a query finds now, and makes the result visible. */
async function forEachHit(
  client: Client,
  indices: string,
  query: Query,
  operation: (place: string, id: string) => Operation,
): Promise<void> {
  let count = 0;
  await withPointInTime(client, indices, async (search) => {
    for await (const hits of scan(search, { query, sort: ANY_ORDER, batch: BATCH, source: false })) {
      await writeNow(
        client,
        hits.map(({ _index: index, _id: id }) => operation(placeOfIndex(index), id ?? "")),
      );
      count += hits.length;
    }
  });
  if (count > 0) await refresh(client, indices);
}

export async function addBookmark(
  client: Client,
  names: Names,
  user: UserId,
  log: LogKey,
  id: EventId,
): Promise<boolean> {
  const event = await readIn(client, names.eventsOf(id), id, log, { excludes: [] });
  if (event === null) return false;
  const bookmark = JSON.stringify({ ...event.document, owner: user });
  await writeNow(client, [createOperation(names.bookmarks, copyId(id, user), bookmark)]);
  // A concurrent deletion of the event may have looked for bookmarks before this one existed. It
  // replaces the event by a marker first, so this read detects it.
  const stillExists = (await readIn(client, names.eventsOf(id), id, log, { includes: ["log"] })) !== null;
  if (!stillExists) await writeNow(client, [deleteOperation(names.bookmarks, copyId(id, user))]);
  await refresh(client, names.bookmarks);
  return stillExists;
}

export async function deleteBookmark(
  client: Client,
  names: Names,
  user: UserId,
  log: LogKey,
  id: EventId,
): Promise<boolean> {
  const stored = await readIn(client, names.bookmarks, copyId(id, user), log, { includes: ["log"] });
  if (stored === null) return false;
  const location = { client, index: names.bookmarks, id: copyId(id, user) };
  return removeVersioned(location, stored, async (version) => {
    const { index, id } = location;
    const answer = await client.delete({ index, id, ...version, refresh: true }, { ignore: [404, 409] });
    return answer.result === "deleted";
  });
}

export async function deleteAlert(
  client: Client,
  names: Names,
  user: UserId,
  log: LogKey,
  id: EventId,
): Promise<boolean> {
  const index = names.alertsOf(id);
  const stored = await readIn(client, index, copyId(id, user), log, { includes: ["log"] });
  return stored !== null && replaceByMarker(client, index, copyId(id, user), stored);
}

const NO_INDEX = "index_not_found_exception";
const NO_SHARD = "no_shard_available_action_exception";

/** Returns which of these events were deleted, i.e. have a marker. */
export async function deletedAmong(
  client: Client,
  names: Names,
  ids: readonly EventId[],
): Promise<ReadonlySet<EventId>> {
  const deleted = new Set<EventId>();
  for (let i = 0; i < ids.length; i += BATCH) {
    const docs = ids.slice(i, i + BATCH).map((id) => ({ _index: names.eventsOf(id), _id: id }));
    const get = () =>
      retryTransient(async () => {
        const found = await client.mget<Partial<Document>>({ docs, _source: ["log"] });
        for (const doc of found.docs)
          if ("error" in doc && doc.error.type === NO_SHARD) throw new ShardNotReady(doc.error.reason);
        return found;
      });
    let answer = await get();
    // See `read`.
    if (answer.docs.some((doc) => "error" in doc && doc.error.type === NO_INDEX)) answer = await get();
    for (const doc of answer.docs) {
      if ("error" in doc && doc.error.type !== NO_INDEX) {
        throw new LoggiaError(
          "store_unavailable",
          `Elasticsearch could not read an event: ${doc.error.reason ?? doc.error.type}`,
        );
      }
      const { _id: id, _source: source } = doc as { _id: string; _source?: Partial<Document> };
      if ("found" in doc && doc.found && source?.log === undefined) deleted.add(id as EventId);
    }
  }
  return deleted;
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
