import type { Client } from "@elastic/elasticsearch";

import { translateElasticsearchError } from "../../../elasticsearch/client.ts";
import { LoggiaError } from "../../../errors.ts";
import type { Deletion } from "../../../events/deletion.ts";
import type { LogKey, UserId } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import type { WriteOutcome } from "../../store.ts";
import { MARKER, copyId } from "../documents/document.ts";
import type { Document } from "../documents/document.ts";
import type { Names } from "../documents/mapping.ts";
import { deleteCopies } from "./annotations.ts";
import { ANY_ORDER, scan, withPointInTime, retryTransient, ShardNotReady } from "../client/scan.ts";
import { indexOperation, writeBulk } from "../client/bulk.ts";
import { refresh } from "../client/indices.ts";

const BATCH = 1000;

/**
 * Carries out deletions from the bus. As in the deletion of a single event, copies are deleted
 * before and after the event, to include copies made meanwhile.
 */
export async function writeDeletions(
  client: Client,
  names: Names,
  deletions: readonly Deletion[],
): Promise<WriteOutcome[]> {
  try {
    const ids = [...new Set(deletions.flatMap(({ event, alertOf }) => (alertOf === null ? event : [])))];
    const known = await deletedAmong(client, names, ids);
    const left = deletions.filter(({ event, alertOf }) => alertOf !== null || !known.has(event));
    await deleteAllCopies(client, names, ids);
    const markers = left.map(({ event, alertOf }) =>
      alertOf === null
        ? indexOperation(names.eventsOf(event), event, MARKER)
        : indexOperation(names.alertsOf(event), copyId(event, alertOf), MARKER),
    );
    const written = await writeBulk(client, markers);
    if (left.length > 0) await deleteAllCopies(client, names, ids);
    const outcomes = new Map(left.map((deletion, i) => [deletion, written[i]!]));
    return deletions.map((deletion) => outcomes.get(deletion) ?? { kind: "done" });
  } catch (error) {
    const { code, message } = translateElasticsearchError(error);
    if (code !== "store_unavailable") throw error;
    return deletions.map(() => ({ kind: "retry", reason: message }));
  }
}

async function deleteAllCopies(client: Client, names: Names, ids: readonly EventId[]): Promise<void> {
  for (let i = 0; i < ids.length; i += BATCH) await deleteCopies(client, names, ids.slice(i, i + BATCH));
}

/** Returns a deletion for each alert of a user. */
export async function deletionsOfAlerts(client: Client, names: Names, user: UserId): Promise<Deletion[]> {
  const deletions: Deletion[] = [];
  await refresh(client, names.alerts);
  await withPointInTime(client, names.alerts, async (search) => {
    const query = { term: { owner: user } };
    for await (const hits of scan(search, {
      query,
      sort: ANY_ORDER,
      batch: BATCH,
      source: { includes: ["id", "log"] },
    })) {
      for (const { _source: source } of hits) {
        const { id, log } = source as Pick<Document, "id" | "log">;
        deletions.push({ log, event: id, alertOf: user });
      }
    }
  });
  return deletions;
}

/** Returns the known deletions of events. Markers of alerts do not identify their users. */
export async function deletionsAmong(
  client: Client,
  names: Names,
  log: LogKey,
  ids: readonly EventId[],
): Promise<Deletion[]> {
  const deleted = await deletedAmong(client, names, ids);
  return Array.from(deleted, (event) => ({ log, event, alertOf: null }));
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
