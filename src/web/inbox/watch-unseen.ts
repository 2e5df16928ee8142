import { effect } from "@preact/signals";

import type { App } from "../app.ts";

/** Alerts that others raise are looked for this often while the page is seen. */
const LOOK_MS = 15_000;

/** Keeps the number of unread alerts, until the function that it returns is called. */
export function watchUnseen({ alerts, client }: App): () => void {
  let isReading = false;
  let isStale = false;
  const read = async (): Promise<void> => {
    isStale = isReading;
    if (isReading) return;
    isReading = true;
    try {
      alerts.unseen.value = await countUnseen(client);
    } catch {
      // The next look may succeed; what is shown was true when it was read.
    } finally {
      isReading = false;
    }
    if (isStale) await read();
  };
  const look = () => {
    if (document.visibilityState === "visible") void read();
  };
  const timer = setInterval(look, LOOK_MS);
  document.addEventListener("visibilitychange", look);
  const stop = effect(() => {
    void alerts.changes.value;
    void read();
  });
  return () => {
    stop();
    clearInterval(timer);
    document.removeEventListener("visibilitychange", look);
    alerts.unseen.value = 0;
  };
}

async function countUnseen(client: App["client"]): Promise<number> {
  const { headers } = await client.ask("/1/logs/alerts", { query: { state: "unseen", pagesize: 1, total: "exact" } });
  return Number(headers.get("X-Total-Count") ?? 0);
}
