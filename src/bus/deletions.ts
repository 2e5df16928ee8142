import type { Deletion } from "../events/deletion.ts";
import type { LogKey } from "../events/event.ts";
import type { IdSource } from "../events/id.ts";
import { encodeDeletionLine, encodeRecord } from "../events/record.ts";
import type { Bus, NewRecord } from "./bus.ts";

/** Deletions in one record. At some 130 bytes each, a full record has half a megabyte. */
const RECORD_DELETIONS = 4_000;

/**
 * Makes deletions by users durable before they are carried out. They are appended to the topic of
 * events, keyed by log: there they follow the events they delete and live as long, so a replay into
 * an empty store applies them too.
 */
export type DeletionLog = {
  /** @throws LoggiaError `bus_unavailable` if some of the deletions may not be durable */
  append(deletions: readonly Deletion[]): Promise<void>;
};

/** @param ids assigns each deletion an id of its own, from the same rising sequence as event ids */
export function createDeletionLog({
  bus,
  ids,
  deadline_ms,
}: {
  readonly bus: Pick<Bus, "append">;
  readonly ids: IdSource;
  readonly deadline_ms?: number;
}): DeletionLog {
  function recordOf(log: LogKey, deletions: readonly Deletion[]): NewRecord {
    const lines = deletions.map((deletion) => {
      const { id, created } = ids();
      return encodeDeletionLine(id, created, deletion);
    });
    return { key: log, value: encodeRecord(log, lines) };
  }

  return {
    async append(deletions) {
      for (const [log, ofLog] of Map.groupBy(deletions, ({ log }) => log)) {
        for (let i = 0; i < ofLog.length; i += RECORD_DELETIONS) {
          const record = recordOf(log, ofLog.slice(i, i + RECORD_DELETIONS));
          await bus.append("events", [record], deadline_ms === undefined ? {} : { deadline_ms });
        }
      }
    },
  };
}
