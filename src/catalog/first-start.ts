import { setTimeout as sleep } from "node:timers/promises";

import type { Catalog } from "./catalog.ts";
import { documentId } from "./model.ts";
import type { Entity, FirstStartEntity } from "./model.ts";
import { generateId } from "../auth/secrets.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

const POLL_MS = 50;

/**
 * Implements {@link Catalog.firstStart}. A document is the claim of the process that performs the
 * first start. It is removed once all records exist, so a claim found later means that a first
 * start was interrupted.
 */
export function createFirstStart(parts: {
  snapshot: Snapshot;
  writer: Writer;
  refresh: () => Promise<void>;
}): Catalog["firstStart"] {
  const { snapshot, writer, refresh } = parts;
  const by = generateId();
  const release = (): Promise<unknown> =>
    writer.write(documentId.firstStart(), (current) => (isClaim(current) && current.by === by ? null : current));

  return async (work, { takeOver_ms }) => {
    await refresh();
    const found = snapshot.entry(documentId.firstStart())?.entity ?? null;
    if (found === null && snapshot.accounts().length > 0) return null;
    const isResumed = await claim(takeOver_ms);
    await refresh();
    // Another process may have finished the first start between the read and the claim.
    if (!isResumed && snapshot.accounts().length > 0) {
      await release();
      return null;
    }
    try {
      const made = await work({ isResumed });
      await release();
      return made;
    } catch (error) {
      // Without accounts nothing is half done, so the next start need not wait for the claim.
      if (snapshot.accounts().length === 0) await release().catch(() => {});
      throw error;
    }
  };

  /**
   * Resolves once this process holds the claim. True if it was taken over from another process that
   * made no progress for `takeOver_ms`.
   */
  async function claim(takeOver_ms: number): Promise<boolean> {
    let other: string | null = null;
    let since_ms = performance.now();
    for (;;) {
      const claimed = await writer.write(documentId.firstStart(), (current): FirstStartEntity => {
        if (!isClaim(current)) {
          other = null;
          return { kind: "first-start", by };
        }
        if (current.by !== other) [other, since_ms] = [current.by, performance.now()];
        return performance.now() - since_ms < takeOver_ms ? current : { kind: "first-start", by };
      });
      if (claimed.by === by) return other !== null;
      await sleep(POLL_MS);
      await refresh();
    }
  }
}

function isClaim(entity: Entity | null): entity is FirstStartEntity {
  return entity?.kind === "first-start";
}
