import { claimLock, fateOf } from "./lock.ts";
import { clearAway } from "./rebuild.ts";
import type { RebuildContext } from "./rebuild.ts";

/** Clears away what a rebuilding that was cut off has left behind. */
export type Recovery = AsyncDisposable & {
  /** Something looks as if there were one. Returns at once; while one is alive, it is watched until it has ended. */
  notice(): void;
};

/**
 * Of a process that is killed while it rebuilds, half-built indices may stay and, for the worse,
 * indices that take no writes: so every process that is held up by one looks whether the one who is
 * at it still lives, and each looks once as it starts.
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
        await lock.end(cleared).catch((error: unknown) => log.warn({ err: error }, "rebuild: the lock stays behind"));
      }
    }
  }

  return {
    notice() {
      if (signal.aborted) return;
      watching ??= watch()
        .catch((error: unknown) => {
          if (!signal.aborted) context.log.warn({ err: error }, "rebuild: could not look for one that was cut off");
        })
        .finally(() => (watching = null));
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await watching;
    },
  };
}
