import type { Deletion } from "../events/deletion.ts";
import type { LogKey } from "../events/event.ts";
import type { IdSource } from "../events/id.ts";
import { encodeDeletionLine, encodeRecord } from "../events/record.ts";
import type { Bus, NewRecord } from "./bus.ts";

/** Some 130 bytes each: a record of half a megabyte. */
const RECORD_DELETIONS = 4_000;

/**
 * Where deletions by people become durable before they are carried out: on the topic of events,
 * keyed by log. There they lie behind what they delete and live as long, so that a replay into an
 * empty store obeys them.
 */
export type DeletionLog = {
  /**
   * @throws LoggiaError `bus_unavailable` where not all of them are known to be durable; some may
   * be
   */
  append(deletions: readonly Deletion[]): Promise<void>;
};

/** @param ids gives each deletion an id of its own, which rises as those of events do */
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
