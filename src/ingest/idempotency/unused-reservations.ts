import { setTimeout as sleep } from "node:timers/promises";

import type { EventId } from "../../events/id.ts";
import type { IdempotencyStore } from "./idempotency-store.ts";

/** Most keys that are being freed at a time; further ones stay reserved until they settle. */
const MOST = 10_000;
/** Delays of the attempts to find a reservation whose write may still be on its way. */
const DELAYS_MS = [0, 1_000, 2_000, 4_000, 8_000, 16_000] as const;

/**
 * Reservations of this process whose ids are never used: their batches were not handed to the bus.
 * They are removed from the store of keys, so that any process may use the key at once. A write that
 * seemed to fail may still arrive, so this process remembers them for a while.
 */
export class UnusedReservations {
  readonly #documents: Pick<IdempotencyStore, "read" | "remove">;
  readonly #firsts = new Set<EventId>();

  constructor(documents: Pick<IdempotencyStore, "read" | "remove">) {
    this.#documents = documents;
  }

  /** Whether the reservation with this first id is known to be unused. */
  has(first: EventId): boolean {
    return this.#firsts.has(first);
  }

  /**
   * Frees a key.
   * @param written the write of its reservation: its version, or null if the key was taken
   */
  async free(name: string, first: EventId, written: Promise<string | null>): Promise<void> {
    if (this.#firsts.size >= MOST) return;
    this.#firsts.add(first);
    try {
      const version = await written.catch(() => undefined);
      if (version === null) return;
      if (version !== undefined && (await this.#remove(name, version))) return;
      for (const delay_ms of DELAYS_MS) {
        await sleep(delay_ms, undefined, { ref: false });
        if (await this.#removeIfFound(name, first)) return;
      }
    } finally {
      this.#firsts.delete(first);
    }
  }

  async #remove(name: string, version: string): Promise<boolean> {
    try {
      return (await this.#documents.remove(name, version)).kind === "done";
    } catch {
      return false;
    }
  }

  /** Resolves with whether the reservation is settled: removed, or replaced by another. */
  async #removeIfFound(name: string, first: EventId): Promise<boolean> {
    try {
      const found = await this.#documents.read(name);
      if (found === null || found.body === null) return false;
      return found.body["first"] !== first || (await this.#remove(name, found.version));
    } catch {
      return false;
    }
  }
}
