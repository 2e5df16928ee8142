import type { EventRecord } from "../../parts/api/types.ts";
import type { Client } from "../../parts/api/client.ts";
import { markedOfRecord } from "./marked.ts";
import type { MarkedEvent } from "./marked.ts";

export type MarkedPage = {
  readonly events: readonly MarkedEvent[];
  /** Total number of events. */
  readonly total: number;
};

const PAGE = 500;

/** Reads bookmarks or unread alerts, newest first, optionally after `after`. @throws ApiFault */
export async function readMarked(
  client: Client,
  kind: "alerts" | "bookmarks",
  after: readonly MarkedEvent[] = [],
): Promise<MarkedPage> {
  const last = after.at(-1);
  const { body, headers } = await client.request<readonly EventRecord[]>(`/1/logs/${kind}`, {
    query: {
      order: "desc",
      pagesize: PAGE,
      attributes: true,
      total: "exact",
      state: kind === "alerts" ? "unseen" : undefined,
      // Events of the last moment are returned again and recognized by their ids.
      created: last === undefined ? undefined : `:${last.created + 1}`,
    },
  });
  const known = new Set(after.map(({ id }) => id));
  const events = [...after, ...body.map(markedOfRecord).filter(({ id }) => !known.has(id))];
  return { events, total: last === undefined ? Number(headers.get("X-Total-Count") ?? events.length) : NaN };
}

/** Reads the bookmarks beside a moment, newest first: 1 before, -1 after. @throws ApiFault */
export async function readBookmarksBeside(
  client: Client,
  moment: number | null,
  step: 1 | -1,
): Promise<readonly MarkedEvent[]> {
  const { body } = await client.request<readonly EventRecord[]>("/1/logs/bookmarks", {
    query: {
      order: step === 1 ? "desc" : "asc",
      pagesize: PAGE,
      // Events of the same moment are included and ordered by their ids.
      created: moment === null ? undefined : step === 1 ? `:${moment + 1}` : `${moment}:`,
    },
  });
  const events = body.map(markedOfRecord);
  return step === 1 ? events : events.toReversed();
}
