import type { Client } from "@elastic/elasticsearch";

import type { LogKey, UserId } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import type { Query } from "../client/queries.ts";
import { MARKER, copyId } from "../documents/document.ts";
import { placeOfIndex } from "../documents/mapping.ts";
import type { Names } from "../documents/mapping.ts";
import { ANY_ORDER, retryTransient, scan, withPointInTime } from "../client/scan.ts";
import { createOperation, deleteOperation, indexOperation, writeNow } from "../client/bulk.ts";
import type { EncodedOperation } from "../client/bulk-encoding.ts";
import type { StoredDocument } from "../client/stored.ts";
import { readStored, readIn } from "../client/stored.ts";
import { refresh } from "../client/indices.ts";

const BATCH = 1000;

type Version = { readonly if_seq_no: number; readonly if_primary_term: number };

/**
 * Removes a document that was read before, by a request that is conditional on its version.
 * @returns false if another request has removed it
 */
async function removeVersioned(
  location: { readonly client: Client; readonly index: string; readonly id: string },
  stored: StoredDocument,
  request: (version: Version) => Promise<boolean>,
): Promise<boolean> {
  const { client, index, id } = location;
  const { seqNo, primaryTerm } = stored;
  if (await retryTransient(() => request({ if_seq_no: seqNo, if_primary_term: primaryTerm }))) return true;
  // The version differs: the document was removed or has another class, or a later generation of
  // the index has assigned new numbers.
  const now = await readStored(client, index, id, { includes: ["log"] });
  const isSame = now?.seqNo === seqNo && now.primaryTerm === primaryTerm;
  return now !== null && !isSame && removeVersioned(location, now, request);
}

/** Replaces a document by the marker. @returns false if another request did */
async function replaceByMarker(client: Client, index: string, id: string, stored: StoredDocument): Promise<boolean> {
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
  operation: (place: string, id: string) => EncodedOperation,
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
