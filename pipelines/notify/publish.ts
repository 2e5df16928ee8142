import type { Bus } from "../../src/bus/bus.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { chunk } from "../chunk.ts";
import { persist } from "../retry.ts";
import type { Item, Stage } from "../stage.ts";
import { encodeNotice, isStale } from "./notice.ts";

/** Bounds of one append. */
const APPEND_MAX_RECORDS = 1_000;
const APPEND_MAX_BYTES = 1024 * 1024;

/**
 * Appends a notice to the `alerts` topic for each event about which somebody wants mail. Mails are gathered and sent from there, so that no mail server
 * holds up an event. Refuses nothing.
 */
export function createNotify({
  catalog,
  bus,
}: {
  readonly catalog: Pick<Catalog, "subscribers">;
  readonly bus: Pick<Bus, "append">;
}): Stage {
  return {
    name: "notify",
    run: async (items, work) => {
      const now_ms = Date.now();
      const notices = items.flatMap((item) => noticeOf(item, catalog, now_ms));
      const sizes = { max: APPEND_MAX_RECORDS, maxBytes: APPEND_MAX_BYTES };
      for (const records of chunk(notices, { ...sizes, sizeOf: ({ value }) => value.length })) {
        await persist("append notices", () => bus.append("alerts", records), work.patience);
      }
      return { passed: items, refused: [] };
    },
  };
}

function noticeOf({ event, record, line }: Item, catalog: Pick<Catalog, "subscribers">, now_ms: number) {
  if (event.class === null || isStale(event.id, now_ms)) return [];
  const users = catalog.subscribers(event.log, event.class, "notify");
  if (users.length === 0) return [];
  const { partition, offset } = record.position;
  return [encodeNotice(event, users, { partition, offset, line })];
}
