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
  /** Rises when a name was asked for that is not known: somebody made the class elsewhere. */
  readonly unknown: ReadonlySignal<number>;
  /** Reads them again, after a change of one. @throws ApiFault */
  readonly read: () => Promise<void>;
  /** The display name of a class with hidden characters named; of one that was removed, its key. */
  readonly nameOf: (log: string, key: string) => string;
};

type LogOfClasses = { readonly key: string; readonly classFilters: readonly ClassRecord[] };

export function createClassBook(client: () => Client): ClassBook {
  const byLog = signal<Classes>(new Map());
  const unknown = signal(0);
  let isRead = false;
  /** Classes that were asked for in vain: of one that was removed, the events keep the key. */
  const missed = new Set<string>();
  const miss = (name: string): void => {
    if (!isRead || missed.has(name)) return;
    missed.add(name);
    // Names are asked for while something is drawn, which a signal must not change.
    queueMicrotask(() => (unknown.value += 1));
  };
  return {
    byLog,
    unknown,
    async read() {
      const { body } = await client().ask<readonly LogOfClasses[]>("/1/logs/classFilters");
      isRead = true;
      const found: Classes = new Map(
        body.map(({ key, classFilters }) => [key, classFilters.toSorted((a, b) => b.weight - a.weight)]),
      );
      // Rows are drawn anew for other classes alone.
      if (JSON.stringify([...found]) !== JSON.stringify([...byLog.peek()])) byLog.value = found;
    },
    nameOf(log, key) {
      const found = byLog.value.get(log)?.find((each) => each.key === key);
      if (found === undefined && key !== "") miss(`${log} ${key}`);
      return visibleText(found === undefined || found.display === "" ? key : found.display);
    },
  };
}
