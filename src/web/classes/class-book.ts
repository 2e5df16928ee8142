import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import type { Client } from "../api/client.ts";
import type { ClassRecord } from "../api/types.ts";
import { visibleText } from "../list/visible-text.ts";

/** The classes of each log, by weight, the heaviest first. */
export type Classes = ReadonlyMap<string, readonly ClassRecord[]>;

/** The classes of all logs that the account reads: their names, and their colours in the style sheet. */
export type ClassBook = {
  readonly byLog: ReadonlySignal<Classes>;
  /** Reads them again, after a change of one. @throws ApiFault */
  readonly read: () => Promise<void>;
  /** The display name of a class with hidden characters named; of one that was removed, its key. */
  readonly nameOf: (log: string, key: string) => string;
};

type LogOfClasses = { readonly key: string; readonly classFilters: readonly ClassRecord[] };

export function createClassBook(client: () => Client): ClassBook {
  const byLog = signal<Classes>(new Map());
  return {
    byLog,
    async read() {
      const { body } = await client().ask<readonly LogOfClasses[]>("/1/logs/classFilters");
      byLog.value = new Map(
        body.map(({ key, classFilters }) => [key, classFilters.toSorted((a, b) => b.weight - a.weight)]),
      );
    },
    nameOf(log, key) {
      const found = byLog.value.get(log)?.find((each) => each.key === key);
      return visibleText(found === undefined || found.display === "" ? key : found.display);
    },
  };
}
