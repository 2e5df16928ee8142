import type { ListPlan } from "../../../query/plan.ts";
import type { Database } from "../database/database.ts";

/** The times of all records that a plan finds, in its order, among those with ids up to `upTo`. */
type ListTimes = { readonly times: BigInt64Array; readonly upTo: bigint };
export type CachedTimes = ListTimes & { readonly changeVersion: number; readonly writeVersion: number };

/** Most lists cached, of up to about 10,000 times of 8 bytes. */
const MAX_LISTS = 32;
const MAX_KEY_LENGTH = 4_000;

/**
 * Caches the times of completely counted lists, so that the next page, or the same one later,
 * need only scan events with greater ids.
 *
 * Invariant: times are read while nothing is written, and are dropped at the next write that may do
 * more than add events with greater ids.
 */
export class ListTimesCache {
  readonly #database: Pick<Database, "changeVersion" | "writeVersion">;
  readonly #lists = new Map<string, CachedTimes>();

  constructor(database: Pick<Database, "changeVersion" | "writeVersion">) {
    this.#database = database;
  }

  /** See {@link Database.writeVersion}. */
  get writeVersion(): number | null {
    return this.#database.writeVersion;
  }

  /**
   * Returns the cached times of a plan, or null. The least recently used plan is dropped first.
   */
  get(plan: ListPlan): CachedTimes | null {
    const key = keyOf(plan);
    const found = this.#lists.get(key);
    if (found === undefined) return null;
    this.#lists.delete(key);
    if (!this.isValid(found)) return null;
    this.#lists.set(key, found);
    return found;
  }

  /** Returns whether the times still hold for the events that they cover. */
  isValid({ changeVersion }: CachedTimes): boolean {
    return changeVersion === this.#database.changeVersion;
  }

  /** @param writeVersion its value before the transaction that read the times */
  set(plan: ListPlan, writeVersion: number | null, found: ListTimes): void {
    const key = keyOf(plan);
    if (writeVersion === null || writeVersion !== this.#database.writeVersion || key.length > MAX_KEY_LENGTH) return;
    this.#lists.delete(key);
    this.#lists.set(key, { ...found, writeVersion, changeVersion: this.#database.changeVersion });
    for (const eldest of this.#lists.keys()) {
      if (this.#lists.size <= MAX_LISTS) break;
      this.#lists.delete(eldest);
    }
  }
}

function keyOf({ from, logs, where, sort }: ListPlan): string {
  return JSON.stringify([from, logs, where, sort]);
}
