import type { Catalog } from "../../src/catalog/catalog.ts";
import type { Alert, Store } from "../../src/store/store.ts";
import { chunk, eventSize_bytes } from "../chunk.ts";
import type { RecordFailure } from "../deadletters/codec.ts";
import { writeWithRetry } from "../retry.ts";
import type { StageItem, PendingWrite, Writer } from "../stage.ts";

/**
 * Writes an alert for each user who subscribes to alerts of the event's class.
 *
 * If one of its alerts is rejected, the event is refused as a whole and not indexed: an event in a
 * list has had all its alerts, and any other event is in one place, the dead letters. Its other
 * alerts remain. Redriving the dead letter completes them, as all writes are create-only.
 */
export function createAlert({
  catalog,
  store,
  maxAlerts,
  maxBytes,
}: {
  readonly catalog: Pick<Catalog, "subscribers">;
  readonly store: Pick<Store, "writeAlerts" | "ping">;
  /** Bounds of one write. */
  readonly maxAlerts: number;
  readonly maxBytes: number;
}): Writer {
  return { name: "alert", begin: () => beginAlerts() };

  function beginAlerts(): PendingWrite {
    const itemOf = new Map<Alert, StageItem>();
    return {
      async take(items) {
        for (const item of items) {
          if (item.event.class === null) continue;
          for (const user of catalog.subscribers(item.event.log, item.event.class, "alert")) {
            itemOf.set({ user, event: item.event }, item);
          }
        }
        return [];
      },
      async write(work, without) {
        const left = [...itemOf].filter(([, { record, line }]) => !without.has(record, line)).map(([alert]) => alert);
        if (left.length === 0) return [];
        const rejected = await writeWithRetry<Alert>(
          {
            what: "write alerts",
            groups: chunk(left, { max: maxAlerts, maxBytes, sizeOf: (alert) => eventSize_bytes(alert.event) }),
            write: (group) => store.writeAlerts(group),
            ping: () => store.ping(),
          },
          work.retryPolicy,
        );
        work.alerted(left.length - rejected.size);
        const refused = new Map<StageItem, RecordFailure>();
        for (const [alert, why] of rejected) {
          const item = itemOf.get(alert)!;
          const reason = `the alert for user ${alert.user} was rejected: ${why}`;
          refused.set(item, { record: item.record, line: item.line, reason });
        }
        return [...refused.values()];
      },
    };
  }
}
