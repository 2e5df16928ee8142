import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import { wordsOf } from "../api/client.ts";
import type { App } from "../app.ts";
import type { EventRecord } from "../api/types.ts";
import type { EventRow } from "../list/row.ts";

/** The reader's own bookmarks in one log. Events tell that somebody marked them; whose mark it is, only this knows. */
export type Bookmarks = {
  /** Rises with every change. */
  readonly version: ReadonlySignal<number>;
  readonly has: (row: EventRow) => boolean;
  /** Marks an event, or takes the mark away; shown at once, and taken back where the service refuses. */
  readonly toggle: (row: EventRow) => Promise<void>;
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
      const { body } = await client.ask<readonly EventRecord[]>(path, { query: { pagenum: page, pagesize: PAGE } });
      for (const { id } of body) own.add(id);
      if (body.length < PAGE) break;
    }
    version.value += 1;
  };
  const set = (id: string, isMarked: boolean): void => {
    if (isMarked) own.add(id);
    else own.delete(id);
    version.value += 1;
  };
  return {
    version,
    has({ id, bookmarks }) {
      // Nobody's mark is not the reader's either; the list of them is read where somebody's is seen.
      if (bookmarks.length > 0 && reading === null) {
        reading = readOwn().catch((fault: unknown) => {
          reading = null;
          // Each row that is drawn asks again.
          if (!isFaultSaid) toaster.show(`Your bookmarks are not shown: ${wordsOf(fault)}`);
          isFaultSaid = true;
        });
      }
      return own.has(id);
    },
    async toggle({ id }) {
      await reading;
      const isMarked = !own.has(id);
      set(id, isMarked);
      try {
        if (isMarked) await client.ask(path, { method: "POST", form: { id } });
        else await client.ask(`${path}/${id}`, { method: "DELETE" });
        bookmarkChanges.value += 1;
      } catch (fault) {
        set(id, !isMarked);
        toaster.show(`The bookmark could not be ${isMarked ? "set" : "removed"}: ${wordsOf(fault)}`);
      }
    },
  };
}
