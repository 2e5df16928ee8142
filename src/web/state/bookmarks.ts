import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import { faultMessage } from "../parts/api/client.ts";
import type { App } from "./app.ts";
import type { EventRecord } from "../parts/api/types.ts";
import type { ListedEvent } from "../parts/rows/row.ts";

/**
 * The reader's own bookmarks in one log. Events carry everyone's bookmarks as opaque ids, so the own
 * ones are read separately.
 */
export type Bookmarks = {
  /** Increases with every change. */
  readonly version: ReadonlySignal<number>;
  readonly has: (row: ListedEvent) => boolean;
  /** Adds or removes a bookmark: shown at once, and reverted if the service refuses. */
  readonly toggle: (row: ListedEvent) => Promise<void>;
};

const PAGE = 500;

export function createBookmarks({ client, toaster, bookmarkChanges }: App, log: string): Bookmarks {
  const version = signal(0);
  const own = new Set<string>();
  const path = `/1/logs/${log}/bookmarks`;
  let reading: Promise<void> | null = null;
  let isFaultSaid = false;
  const readOwn = async (): Promise<void> => {
    for (let page = 1; ; page++) {
      const { body } = await client.request<readonly EventRecord[]>(path, { query: { pagenum: page, pagesize: PAGE } });
      for (const { id } of body) own.add(id);
      if (body.length < PAGE) break;
    }
    version.value += 1;
  };
  const set = (id: string, isBookmarked: boolean): void => {
    if (isBookmarked) own.add(id);
    else own.delete(id);
    version.value += 1;
  };
  return {
    version,
    has({ id, bookmarks }) {
      // An event without bookmarks has none of the reader's; the list is read once one is seen.
      if (bookmarks.length > 0 && reading === null) {
        reading = readOwn().catch((fault: unknown) => {
          reading = null;
          // Every drawn row retries, so the message is shown once.
          if (!isFaultSaid) toaster.show(`Your bookmarks are not shown: ${faultMessage(fault)}`);
          isFaultSaid = true;
        });
      }
      return own.has(id);
    },
    async toggle({ id }) {
      await reading;
      const isBookmarked = !own.has(id);
      set(id, isBookmarked);
      try {
        if (isBookmarked) await client.request(path, { method: "POST", form: { id } });
        else await client.request(`${path}/${id}`, { method: "DELETE" });
        bookmarkChanges.value += 1;
      } catch (fault) {
        set(id, !isBookmarked);
        toaster.show(`The bookmark could not be ${isBookmarked ? "set" : "removed"}: ${faultMessage(fault)}`);
      }
    },
  };
}
