import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import type { Client } from "../parts/api/client.ts";
import type { ClassRecord } from "../parts/api/types.ts";
import { visibleText } from "../parts/text/visible-text.ts";

/** The classes of each log, heaviest first. */
export type Classes = ReadonlyMap<string, readonly ClassRecord[]>;

/** The classes of all readable logs: their names, and their colours in the style sheet. */
export type ClassRegistry = {
  readonly byLog: ReadonlySignal<Classes>;
  /** Increases when an unknown class is requested: it may have been created elsewhere. */
  readonly unknown: ReadonlySignal<number>;
  /** Reads the classes again after a change. @throws ApiFault */
  readonly read: () => Promise<void>;
  /** Display name with invisible characters named; for a removed class, its key. */
  readonly nameOf: (log: string, key: string) => string;
};

type LogOfClasses = { readonly key: string; readonly classFilters: readonly ClassRecord[] };

export function createClassRegistry(client: () => Client): ClassRegistry {
  const byLog = signal<Classes>(new Map());
  const unknown = signal(0);
  let isRead = false;
  /** Classes that were not found; events of a removed class keep its key. */
  const missed = new Set<string>();
  const miss = (name: string): void => {
    if (!isRead || missed.has(name)) return;
    missed.add(name);
    // Names are requested while drawing, which must not change a signal.
    queueMicrotask(() => (unknown.value += 1));
  };
  return {
    byLog,
    unknown,
    async read() {
      const { body } = await client().request<readonly LogOfClasses[]>("/1/logs/classFilters");
      isRead = true;
      const found: Classes = new Map(
        body.map(({ key, classFilters }) => [key, classFilters.toSorted((a, b) => b.weight - a.weight)]),
      );
      // Rows are redrawn only if the classes differ.
      if (JSON.stringify([...found]) !== JSON.stringify([...byLog.peek()])) byLog.value = found;
    },
    nameOf(log, key) {
      const found = byLog.value.get(log)?.find((each) => each.key === key);
      if (found === undefined && key !== "") miss(`${log} ${key}`);
      return visibleText(found === undefined || found.display === "" ? key : found.display);
    },
  };
}
