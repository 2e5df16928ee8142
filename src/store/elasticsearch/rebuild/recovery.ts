import { claimLock, fateOf } from "./lock.ts";
import { clearAway } from "./rebuild.ts";
import type { RebuildContext } from "./rebuild.ts";

/** Cleans up after interrupted rebuilds. */
export type Recovery = AsyncDisposable & {
  /**
   * Called on signs of an interrupted rebuild. Returns at once; a live one is watched to its end.
   */
  notice(): void;
};

/**
 * Creates the recovery. A process killed during a rebuild may leave half-built indices and, worse,
 * blocked indices. Every process whose writes are blocked therefore checks whether the rebuild is
 * alive, and each process checks once at its start.
 */
export function createRecovery(context: RebuildContext): Recovery {
  const closing = new AbortController();
  const { signal } = closing;
  let watching: Promise<void> | null = null;

  async function watch(): Promise<void> {
    const { client, names, log } = context;
    for (;;) {
      const fate = await fateOf(client, names.rebuild, signal);
      if (fate.kind === "free") return;
      const lock = fate.kind === "alive" ? null : await claimLock(client, names.rebuild, fate, 0);
      if (lock === null) continue;
      let cleared = false;
      try {
        await clearAway(context, lock);
        cleared = true;
      } finally {
        await lock.end(cleared).catch((error: unknown) => log.warn({ err: error }, "rebuild: cannot release the lock"));
      }
    }
  }

  return {
    notice() {
      if (signal.aborted) return;
      watching ??= watch()
        .catch((error: unknown) => {
          if (!signal.aborted) context.log.warn({ err: error }, "rebuild: cannot check for an interrupted rebuild");
        })
        .finally(() => (watching = null));
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await watching;
    },
  };
}
