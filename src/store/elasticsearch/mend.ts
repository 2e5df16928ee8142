import { claimLease, fateOf } from "./lease.ts";
import { clearAway } from "./rebuild.ts";
import type { RebuildContext } from "./rebuild.ts";

/** Clears away what a rebuilding that was cut off has left behind. */
export type Mender = AsyncDisposable & {
  /** Something looks as if there were one. Returns at once; while one is alive, it is watched until it has ended. */
  notice(): void;
};

/**
 * Of a process that is killed while it rebuilds, half-built indices may stay and, for the worse,
 * indices that take no writes: so every process that is held up by one looks whether the one who is
 * at it still lives, and each looks once as it starts.
 */
export function createMender(context: RebuildContext): Mender {
  const closing = new AbortController();
  const { signal } = closing;
  let watching: Promise<void> | null = null;

  async function watch(): Promise<void> {
    const { client, names, log } = context;
    for (;;) {
      const fate = await fateOf(client, names.rebuild, signal);
      if (fate.kind === "free") return;
      const lease = fate.kind === "alive" ? null : await claimLease(client, names.rebuild, fate, 0);
      if (lease === null) continue;
      let cleared = false;
      try {
        await clearAway(context, lease);
        cleared = true;
      } finally {
        await lease.end(cleared).catch((error: unknown) => log.warn({ err: error }, "rebuild: the lease stays behind"));
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
