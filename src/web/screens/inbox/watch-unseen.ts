import { batch, computed, effect } from "@preact/signals";

import type { EventRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";

/** Poll interval while the page is visible, in milliseconds. */
const LOOK_MS = 15_000;
/** Poll interval with the inbox open, whose list must agree within 3 s. */
const LOOK_IN_INBOX_MS = 2_000;

/** Keeps the number of unread alerts up to date; returns a function that stops it. */
export function watchUnseen({ alerts, client, location }: App): () => void {
  let isReading = false;
  let isStale = false;
  const read = async (): Promise<void> => {
    isStale = isReading;
    if (isReading) return;
    isReading = true;
    try {
      const { count, newest } = await readUnseen(client);
      batch(() => {
        alerts.unseen.value = count;
        alerts.newest.value = newest;
      });
    } catch {
      // The next poll may succeed; the number shown was correct when read.
    } finally {
      isReading = false;
    }
    if (isStale) await read();
  };
  const look = () => {
    if (document.visibilityState === "visible") void read();
  };
  const isInbox = computed(() => location.place.value.screen === "inbox");
  const stopLooking = effect(() => {
    const timer = setInterval(look, isInbox.value ? LOOK_IN_INBOX_MS : LOOK_MS);
    return () => clearInterval(timer);
  });
  document.addEventListener("visibilitychange", look);
  const stop = effect(() => {
    void alerts.changes.value;
    void read();
  });
  return () => {
    stop();
    stopLooking();
    document.removeEventListener("visibilitychange", look);
    alerts.unseen.value = 0;
  };
}

type Unseen = { readonly count: number; readonly newest: string | null };

async function readUnseen(client: App["client"]): Promise<Unseen> {
  const query = { state: "unseen", order: "desc", pagesize: 1, total: "exact" };
  const { body, headers } = await client.request<readonly EventRecord[]>("/1/logs/alerts", { query });
  return { count: Number(headers.get("X-Total-Count") ?? 0), newest: body[0]?.id ?? null };
}
