import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../errors.ts";
import { createKeyedQueue } from "../scheduling/serial-queue.ts";
import type { Body, Documents, WriteResult } from "./documents/documents.ts";
import type { Entity } from "./model.ts";
import type { SnapshotEntry, Snapshot } from "./snapshot.ts";

/**
 * Attempts at a write that conflicts with other processes. Of N processes that contend, one wins
 * each round.
 */
const MAX_ATTEMPTS = 30;

export type Writer = {
  /**
   * Writes the result of `change`: null removes the document, and the same entity writes nothing.
   * Resolves once the write is durable and visible in this process. `change` may be called several
   * times, as other processes change the document meanwhile, so it must have no side effects. If it
   * throws, changes of other processes are read and it is called again before its error is thrown.
   * @param options.readsOthers whether `change` reads other records too; then all changes are read
   * after a conflict
   * @throws LoggiaError `overloaded` after too many conflicts, or if too many writes are queued;
   * `store_unavailable`
   */
  write<Next extends Entity | null>(
    id: string,
    change: (current: Entity | null) => Next,
    options?: { readonly readsOthers?: boolean },
  ): Promise<Next>;
};

/** @param parts.refresh reads the changes of other processes */
export function createWriter(parts: {
  documents: Documents;
  snapshot: Snapshot;
  refresh: () => Promise<void>;
}): Writer {
  const { documents, snapshot, refresh } = parts;
  // Conflicts then only come from other processes.
  const inTurn = createKeyedQueue();

  const write = async <Next extends Entity | null>(
    id: string,
    change: (current: Entity | null) => Next,
    readsOthers: boolean,
  ): Promise<Next> => {
    let fromMemory = true;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const entry = snapshot.entry(id);
      const current = entry?.entity ?? null;
      let next: Next;
      try {
        next = change(current);
      } catch (error) {
        // Memory may be outdated: another process may just have created what is missing here.
        if (!fromMemory) throw error;
        fromMemory = false;
        await refresh();
        continue;
      }
      if (next === current) return next;
      const result = await send(documents, id, next, entry);
      if (result.kind === "done") {
        snapshot.apply({ id, version: result.version, body: next });
        return next;
      }
      await sleep(Math.random() * Math.min(5 * 2 ** attempt, 200));
      if (readsOthers) {
        await refresh();
        continue;
      }
      const newest = await documents.read(id);
      if (newest !== null) snapshot.apply(newest);
    }
    throw new LoggiaError("overloaded", "Too many other processes are changing the same record; try again in a moment");
  };

  return {
    write: (id, change, { readsOthers = false } = {}) => inTurn(id, () => write(id, change, readsOthers)),
  };
}

function send(documents: Documents, id: string, next: Body | null, entry: SnapshotEntry | null): Promise<WriteResult> {
  if (entry === null || entry.entity === null) return documents.create(id, next!);
  return next === null ? documents.remove(id, entry.version) : documents.replace(id, next, entry.version);
}
