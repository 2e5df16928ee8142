import type { ListPlan } from "../../../query/plan.ts";
import type { Database } from "../database/database.ts";

/** The times of all records that a plan finds, in its order, among those with ids up to `upTo`. */
type Found = { readonly moments: BigInt64Array; readonly upTo: bigint };
export type Remembered = Found & { readonly changeVersion: number; readonly writeVersion: number };

/** Most lists remembered, of up to about 10,000 times of 8 bytes. */
const MOST = 32;
const MOST_KEY_LENGTH = 4_000;

/**
 * Remembers the times of completely counted lists, so that the next page, or the same one later,
 * need only scan events with greater ids.
 *
 * Invariant: times are read while nothing is written, and are dropped at the next write that may do
 * more than add events with greater ids.
 */
export class RememberedMoments {
  readonly #database: Pick<Database, "changeVersion" | "writeVersion">;
  readonly #found = new Map<string, Remembered>();

  constructor(database: Pick<Database, "changeVersion" | "writeVersion">) {
    this.#database = database;
  }

  /** See {@link Database.writeVersion}. */
  get writeVersion(): number | null {
    return this.#database.writeVersion;
  }

  /**
   * Returns what is remembered for a plan, or null. The least recently used plan is dropped first.
   */
  of(plan: ListPlan): Remembered | null {
    const key = keyOf(plan);
    const found = this.#found.get(key);
    if (found === undefined) return null;
    this.#found.delete(key);
    if (!this.holds(found)) return null;
    this.#found.set(key, found);
    return found;
  }

  /** Returns whether the times still hold for the events that they cover. */
  holds({ changeVersion }: Remembered): boolean {
    return changeVersion === this.#database.changeVersion;
  }

  /** @param writeVersion its value before the transaction that read the times */
  note(plan: ListPlan, writeVersion: number | null, found: Found): void {
    const key = keyOf(plan);
    if (writeVersion === null || writeVersion !== this.#database.writeVersion || key.length > MOST_KEY_LENGTH) return;
    this.#found.delete(key);
    this.#found.set(key, { ...found, writeVersion, changeVersion: this.#database.changeVersion });
    for (const eldest of this.#found.keys()) {
      if (this.#found.size <= MOST) break;
      this.#found.delete(eldest);
    }
  }
}

function keyOf({ from, logs, where, sort }: ListPlan): string {
  return JSON.stringify([from, logs, where, sort]);
}
