import type { Client } from "@elastic/elasticsearch";

import type { EventRow, LogKey } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import type { RecordSource } from "../../../query/plan.ts";
import { readIn } from "../client/stored.ts";
import { copyId, ROW_SOURCE, toRow } from "../documents/document.ts";
import type { Names } from "../documents/mapping.ts";

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
