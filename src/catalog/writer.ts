import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../errors.ts";
import type { Body, Documents, WriteResult } from "./documents/documents.ts";
import type { Entity } from "./model.ts";
import type { Known, Snapshot } from "./snapshot.ts";

/**
 * How often a write is tried again after another process came first. Of N processes that contend,
 * one wins each round.
 */
const MAX_ATTEMPTS = 30;

/** How many writes of one document may wait for each other in this process. */
const MAX_WAITING = 1000;

export type Writer = {
  /**
   * Writes what `change` makes of a document: null removes it, and returning what was given writes
   * nothing. Resolves once that is durable and shows in this process. `change` may be called
   * several times, as other processes change the document meanwhile, so it must do nothing but look
   * and answer. What it throws is thrown, but only after all changes by others were taken in.
   * @param options.readsOthers whether `change` looks at other records as well: then all changes
   *   are taken in after a conflict
   * @throws LoggiaError `overloaded` where others kept coming first, or too many writes wait;
   * `store_unavailable`
   */
  write<Next extends Entity | null>(
    id: string,
    change: (current: Entity | null) => Next,
    options?: { readonly readsOthers?: boolean },
  ): Promise<Next>;
};

/** @param parts.refresh takes in what other processes wrote */
export function createWriter(parts: {
  documents: Documents;
  snapshot: Snapshot;
  refresh: () => Promise<void>;
}): Writer {
  const { documents, snapshot, refresh } = parts;
  const inTurn = createTurns();

  const write = async <Next extends Entity | null>(
    id: string,
    change: (current: Entity | null) => Next,
    readsOthers: boolean,
  ): Promise<Next> => {
    let fromMemory = true;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const known = snapshot.known(id);
      const current = known?.entity ?? null;
      let next: Next;
      try {
        next = change(current);
      } catch (error) {
        // It may be that memory is behind: another process made, a moment ago, what is missing here.
        if (!fromMemory) throw error;
        fromMemory = false;
        await refresh();
        continue;
      }
      if (next === current) return next;
      const result = await send(documents, id, next, known);
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
    throw new LoggiaError("overloaded", "Others are changing the same record all the time; try again in a moment");
  };

  return {
    write: (id, change, { readsOthers = false } = {}) => inTurn(id, () => write(id, change, readsOthers)),
  };
}

function send(documents: Documents, id: string, next: Body | null, known: Known | null): Promise<WriteResult> {
  if (known === null || known.entity === null) return documents.create(id, next!);
  return next === null ? documents.remove(id, known.version) : documents.replace(id, next, known.version);
}

/** Work on one id runs in the order in which it came, so that conflicts come from other processes only. */
function createTurns(): <T>(id: string, work: () => Promise<T>) => Promise<T> {
  const queues = new Map<string, { last: Promise<unknown>; length: number }>();
  return async (id, work) => {
    const queue = queues.get(id) ?? { last: Promise.resolve(), length: 0 };
    if (queue.length >= MAX_WAITING)
      throw new LoggiaError("overloaded", "Too many changes of the same record are waiting");
    const turn = queue.last.then(work);
    queue.last = turn.catch(() => {});
    queue.length += 1;
    queues.set(id, queue);
    try {
      return await turn;
    } finally {
      queue.length -= 1;
      if (queue.length === 0) queues.delete(id);
    }
  };
}
