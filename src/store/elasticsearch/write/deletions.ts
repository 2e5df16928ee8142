import type { Client } from "@elastic/elasticsearch";

import { translateElasticsearchError } from "../../../elasticsearch/client.ts";
import type { Deletion } from "../../../events/deletion.ts";
import type { LogKey, UserId } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import type { WriteOutcome } from "../../store.ts";
import { MARKER } from "../document.ts";
import type { Document } from "../document.ts";
import type { Names } from "../mapping.ts";
import { copyId, deleteCopies, deletedAmong, refresh } from "../annotations.ts";
import { ANY_ORDER, scan, withPointInTime } from "../search/scan.ts";
import { indexOperation, writeBulk } from "./write.ts";

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
