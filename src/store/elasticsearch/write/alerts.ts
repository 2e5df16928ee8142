import type { Client } from "@elastic/elasticsearch";

import { translateElasticsearchError } from "../../../elasticsearch/client.ts";
import type { Alert, WriteOutcome } from "../../store.ts";
import { createOperation, indexOperation, writeBulk } from "../client/bulk.ts";
import { copyId, encodeDocument, MARKER, NO_COLUMNS } from "../documents/document.ts";
import type { Names } from "../documents/mapping.ts";
import { deletedAmong } from "./deletions.ts";

/**
 * Writes alerts, then checks whether their events were deleted: a concurrent deletion either saw
 * the alert or left a marker that this check sees. Alerts of deleted events are replaced by markers
 * too, including alerts that a replay would create again.
 */
export async function writeAlerts(client: Client, names: Names, alerts: readonly Alert[]): Promise<WriteOutcome[]> {
  const outcomes = await writeBulk(
    client,
    alerts.map(({ user, event }) =>
      createOperation(names.alertsOf(event.id), copyId(event.id, user), encodeDocument(event, NO_COLUMNS, user)),
    ),
  );
  const written = [...alerts.keys()].filter((i) => outcomes[i]?.kind === "done");
  if (written.length === 0) return outcomes;
  try {
    const deleted = await deletedAmong(client, names, [...new Set(written.map((i) => alerts[i]!.event.id))]);
    const orphans = written.filter((i) => deleted.has(alerts[i]!.event.id));
    const markers = await writeBulk(
      client,
      orphans.map((i) => {
        const { user, event } = alerts[i]!;
        return indexOperation(names.alertsOf(event.id), copyId(event.id, user), MARKER);
      }),
    );
    for (const [k, i] of orphans.entries()) outcomes[i] = markers[k]!;
  } catch (error) {
    const { code, message } = translateElasticsearchError(error);
    if (code !== "store_unavailable") throw error;
    for (const i of written) outcomes[i] = { kind: "retry", reason: message };
  }
  return outcomes;
}
