import type { Bus, NewRecord } from "../../src/bus/bus.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { chunk } from "../chunk.ts";
import { retryForever } from "../retry.ts";
import type { StageItem, Writer } from "../stage.ts";
import { encodeNotice, isStale } from "./notice.ts";

/** Bounds of one append. */
const APPEND_MAX_RECORDS = 1_000;
const APPEND_MAX_BYTES = 1024 * 1024;

/**
 * Appends a notice to topic `alerts` for each event with subscribers to mail. The notifier collects
 * and mails notices, so that no mail server delays an event. This stage refuses nothing.
 */
export function createNotify({
  catalog,
  bus,
  now = Date.now,
}: {
  readonly catalog: Pick<Catalog, "subscribers">;
  readonly bus: Pick<Bus, "append">;
  /** Trusted clock. */
  readonly now?: (() => number) | undefined;
}): Writer {
  return {
    name: "notify",
    begin() {
      const notices: Notice[] = [];
      return {
        async take(items) {
          const now_ms = now();
          for (const item of items) notices.push(...noticeOf(item, catalog, now_ms));
          return [];
        },
        async write(work, without) {
          const left = notices.filter(({ record, line }) => !without.has(record, line)).map(({ notice }) => notice);
          const sizes = { max: APPEND_MAX_RECORDS, maxBytes: APPEND_MAX_BYTES };
          for (const records of chunk(left, { ...sizes, sizeOf: ({ value }) => value.length })) {
            await retryForever("append notices", () => bus.append("alerts", records), work.retryPolicy);
          }
          return [];
        },
      };
    },
  };
}

type Notice = Pick<StageItem, "record" | "line"> & { readonly notice: NewRecord };

function noticeOf({ event, record, line }: StageItem, catalog: Pick<Catalog, "subscribers">, now_ms: number): Notice[] {
  if (event.class === null || isStale(event.id, now_ms)) return [];
  const users = catalog.subscribers(event.log, event.class, "notify");
  if (users.length === 0) return [];
  const { partition, offset } = record.position;
  return [{ record, line, notice: encodeNotice(event, users, { partition, offset, line }) }];
}
