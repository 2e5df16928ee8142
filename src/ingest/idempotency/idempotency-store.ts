import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import { HOST_CLOCK } from "../../events/clock.ts";
import type { RemovalClock } from "../../events/clock.ts";

/**
 * Storage of idempotency keys: the operations needed of the document store beneath the catalog, in
 * a separate collection.
 */
export type IdempotencyStore = {
  create(id: string, body: Body): Promise<WriteResult>;
  replace(id: string, body: Body, expected: string): Promise<WriteResult>;
  remove(id: string, expected: string): Promise<WriteResult>;
  read(id: string): Promise<{ readonly version: string; readonly body: Body | null } | null>;
  changes(since: string | null): Promise<{ readonly cursor: string }>;
  forget(upTo: string): Promise<number>;
};

type Body = Readonly<Record<string, unknown>>;
type WriteResult = { readonly kind: "done"; readonly version: string } | { readonly kind: "conflict" };

/** Shortest time a key is remembered, in milliseconds. */
export const KEY_LIFE_MS = 24 * 3_600_000;

/**
 * Name of the document that records the position of the change feed over time. Documents before a
 * mark were written before the time of the mark. No key has this name.
 */
const MARKS = "marks";
const REMOVAL_INTERVAL_MS = 3_600_000;

type Mark = { readonly at_ms: number; readonly cursor: string };

export type KeyRemoval = {
  /** @returns the number of keys removed */
  removeExpired(): Promise<number>;
  close(): Promise<void>;
};

/** Removes keys once an hour when they are a day old. Any number of processes may run it. */
export function startKeyRemoval(
  documents: IdempotencyStore,
  { log, clock = HOST_CLOCK }: { log: Logger; clock?: RemovalClock },
): KeyRemoval {
  const closing = new AbortController();
  const { signal } = closing;

  async function removeExpired(): Promise<number> {
    const now_ms = clock.now();
    if (!clock.mayRemove()) return 0;
    const found = await documents.read(MARKS);
    const marks = (found?.body?.["marks"] ?? []) as readonly Mark[];
    const last = marks.at(-1);
    const expired = marks.findLast(({ at_ms }) => at_ms < now_ms - KEY_LIFE_MS);
    const removed = expired === undefined ? 0 : await documents.forget(expired.cursor);
    // Another process may have set the mark of this hour.
    if (last === undefined || Math.abs(now_ms - last.at_ms) >= REMOVAL_INTERVAL_MS) {
      const { cursor } = await documents.changes(last?.cursor ?? null);
      const kept = [...marks.filter(({ at_ms }) => at_ms >= (expired?.at_ms ?? 0)), { at_ms: now_ms, cursor }];
      const body = { marks: kept.filter((mark) => mark !== expired) };
      await (found === null ? documents.create(MARKS, body) : documents.replace(MARKS, body, found.version));
    }
    return removed;
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await removeExpired();
      } catch (error) {
        log.warn({ err: error }, "removing expired idempotency keys failed; the next attempt is in an hour");
      }
      await sleep(REMOVAL_INTERVAL_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  const running = run();
  return {
    removeExpired,
    close: async () => {
      closing.abort();
      await running;
    },
  };
}
