import { claimLock, readLockState } from "../client/lock.ts";
import { cleanUp } from "./rebuild.ts";
import type { RebuildContext } from "./rebuild.ts";

/** Cleans up after interrupted rebuilds. */
export type Recovery = AsyncDisposable & {
  /**
   * Checks for an interrupted rebuild in the background. A live rebuild is watched until its end.
   */
  check(): void;
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
      const state = await readLockState(client, names.rebuild, signal);
      if (state.kind === "free") return;
      const lock = state.kind === "alive" ? null : await claimLock(client, names.rebuild, state, 0);
      if (lock === null) continue;
      let cleared = false;
      try {
        await cleanUp(context, lock);
        cleared = true;
      } finally {
        await lock.end(cleared).catch((error: unknown) => log.warn({ err: error }, "rebuild: cannot release the lock"));
      }
    }
  }

  return {
    check() {
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
