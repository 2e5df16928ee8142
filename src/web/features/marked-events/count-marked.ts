import type { Client } from "../../parts/api/client.ts";
import { valueCounts } from "./marked.ts";
import type { ValueCount, MarkedEvent, Narrowing } from "./marked.ts";

/** Counts an account's bookmarks or unread alerts, of a log and class or all. @throws ApiFault */
export async function countMarked(client: Client, kind: "alerts" | "bookmarks", by: Narrowing): Promise<number> {
  const path = by.log === null ? `/1/logs/${kind}` : `/1/logs/${by.log}/${kind}`;
  const { headers } = await client.request<unknown>(path, {
    query: {
      pagesize: 1,
      total: "exact",
      class: by.class ?? undefined,
      state: kind === "alerts" ? "unseen" : undefined,
    },
  });
  return Number(headers.get("X-Total-Count") ?? 0);
}

export type MarkedCounts = Readonly<Record<keyof Narrowing, readonly ValueCount[]>> & {
  /** Number of events in the narrowed list. */
  readonly shown: number;
};

/**
 * Returns exact counts for a list of which only the newest events are loaded, with one request per
 * listed value. @throws ApiFault
 */
export async function countEach(
  client: Client,
  kind: "alerts" | "bookmarks",
  events: readonly MarkedEvent[],
  by: Narrowing,
): Promise<MarkedCounts> {
  const countValues = (field: keyof Narrowing) =>
    Promise.all(
      valueCounts(events, field, by).map(async ({ value }) => ({
        value,
        count: await countMarked(client, kind, { ...by, [field]: value }),
      })),
    );
  const shown = await countMarked(client, kind, by);
  const log = await countValues("log");
  const byClass = await countValues("class");
  return { shown, log, class: byClass };
}
