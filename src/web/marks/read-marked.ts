import type { EventRecord } from "../api/types.ts";
import type { Client } from "../api/client.ts";
import { markedOf } from "./marked.ts";
import type { MarkedEvent } from "./marked.ts";

export type MarkedPage = {
  readonly events: readonly MarkedEvent[];
  /** How many there are in all. */
  readonly total: number;
};

const PAGE = 500;

/** The account's bookmarks or unread alerts, newest first; those behind `after` where it is given. @throws ApiFault */
export async function readMarked(
  client: Client,
  kind: "alerts" | "bookmarks",
  after: readonly MarkedEvent[] = [],
): Promise<MarkedPage> {
  const last = after.at(-1);
  const { body, headers } = await client.ask<readonly EventRecord[]>(`/1/logs/${kind}`, {
    query: {
      order: "desc",
      pagesize: PAGE,
      attributes: true,
      total: "exact",
      state: kind === "alerts" ? "unseen" : undefined,
      // Those of the last moment come again, and are known by their ids.
      created: last === undefined ? undefined : `:${last.created + 1}`,
    },
  });
  const known = new Set(after.map(({ id }) => id));
  const events = [...after, ...body.map(markedOf).filter(({ id }) => !known.has(id))];
  return { events, total: last === undefined ? Number(headers.get("X-Total-Count") ?? events.length) : NaN };
}

/** The bookmarks next to a moment, newest first: those before it by 1, those after it by -1. @throws ApiFault */
export async function readBookmarksBeside(
  client: Client,
  moment: number | null,
  step: 1 | -1,
): Promise<readonly MarkedEvent[]> {
  const { body } = await client.ask<readonly EventRecord[]>("/1/logs/bookmarks", {
    query: {
      order: step === 1 ? "desc" : "asc",
      pagesize: PAGE,
      // Those of the same moment go by their ids.
      created: moment === null ? undefined : step === 1 ? `:${moment + 1}` : `${moment}:`,
    },
  });
  const events = body.map(markedOf);
  return step === 1 ? events : events.toReversed();
}
