import type { ListPlan } from "../../../query/plan.ts";
import type { Database } from "../database/database.ts";

/**
 * The moments of all records that a plan finds, in its order, among those whose ids are not beyond
 * `upTo`.
 */
type Found = { readonly moments: BigInt64Array; readonly upTo: bigint };
export type Remembered = Found & { readonly changes: number; readonly stillness: number };

/** Each has at most some 10,000 moments, of 8 bytes. */
const MOST = 32;
const MOST_KEY_LENGTH = 4_000;

/**
 * What lists found that were counted to their end, so that their next page, or the same one later,
 * need not look at all events again: those that came since have greater ids.
 *
 * Invariant: what is remembered was read while nothing was written, and goes with the next write
 * that may do anything else than add events with greater ids.
 */
export class RememberedMoments {
  readonly #database: Pick<Database, "changes" | "stillness">;
  readonly #found = new Map<string, Remembered>();

  constructor(database: Pick<Database, "changes" | "stillness">) {
    this.#database = database;
  }

  /** See {@link Database.stillness}. */
  get stillness(): number | null {
    return this.#database.stillness;
  }

  /**
   * Null where nothing is remembered of such a plan; one that was longest not asked for is
   * forgotten first.
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

  /** Whether it is still true of events that are not newer. */
  holds({ changes }: Remembered): boolean {
    return changes === this.#database.changes;
  }

  /** @param stillness before the transaction began in which it was found */
  note(plan: ListPlan, stillness: number | null, found: Found): void {
    const key = keyOf(plan);
    if (stillness === null || stillness !== this.#database.stillness || key.length > MOST_KEY_LENGTH) return;
    this.#found.delete(key);
    this.#found.set(key, { ...found, stillness, changes: this.#database.changes });
    for (const eldest of this.#found.keys()) {
      if (this.#found.size <= MOST) break;
      this.#found.delete(eldest);
    }
  }
}

function keyOf({ from, logs, where, sort }: ListPlan): string {
  return JSON.stringify([from, logs, where, sort]);
}
