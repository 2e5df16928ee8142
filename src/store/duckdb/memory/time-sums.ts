import { roundingError } from "../../number-aggregates.ts";
import type { NumberSums } from "../../number-aggregates.ts";
import type { Database } from "../database/database.ts";

/** Length of a slice. Offsets of all time zones are multiples of it, except some before 1950. */
export const SLICE_MS = 900_000;

/** Most slices of all logs together: about those of a log of a year and a half. */
export const MOST_SLICES = 50_000;

/** Sums of a log's events created in one slice of time. */
export type SumsSlice = NumberSums & {
  /** Number of the slice, from 1970 on. */
  readonly slice: number;
  readonly count: number;
  /** The sum is `sum` + `error`, the accumulated rounding error. */
  readonly error: number;
};

/** The slices of a log. Invariant: they cover all of its events with ids up to `upTo`. */
export type LogSums = {
  readonly mutationVersion: number;
  readonly upTo: bigint;
  /** See {@link Database.writeVersion}: nothing was written since. */
  readonly writeVersion: number | null;
  /** By number; null if there are too many. */
  readonly slices: ReadonlyMap<number, SumsSlice> | null;
};

/**
 * Sums of the events of each log for each quarter of an hour, in memory. Groups by time of all
 * events are computed from them. The first such query builds them; later ones add newer events.
 *
 * Invariant: sums are read while no write is running or queued that may do more than add events
 * with greater ids, and are dropped at the next such write.
 */
export class TimeSums {
  readonly #database: Pick<Database, "mutationVersion" | "writeVersion">;
  /** Stores with at most this many events are scanned just as fast. */
  readonly leastEvents: number;
  /** By the number of the log, least recently used first. */
  readonly #logs = new Map<number, LogSums>();
  /** By the number of the log, {@link mutationVersion} at its last query. */
  readonly #lastQueried = new Map<number, number>();

  constructor(database: Pick<Database, "mutationVersion" | "writeVersion">, leastEvents: number) {
    this.#database = database;
    this.leastEvents = leastEvents;
  }

  /** See {@link Database.mutationVersion}. */
  get mutationVersion(): number | null {
    return this.#database.mutationVersion;
  }

  /** See {@link Database.writeVersion}. */
  get writeVersion(): number | null {
    return this.#database.writeVersion;
  }

  /** Returns undefined if nothing is known about a log. */
  get(log: number): LogSums | undefined {
    const found = this.#logs.get(log);
    if (found === undefined) return undefined;
    this.#logs.delete(log);
    if (found.mutationVersion !== this.#database.mutationVersion) return undefined;
    this.#logs.set(log, found);
    return found;
  }

  /** Returns whether a log was queried before and its sums would still be valid. */
  isQueriedAgain(log: number): boolean {
    const { mutationVersion } = this.#database;
    const before = this.#lastQueried.get(log);
    if (mutationVersion !== null) this.#lastQueried.set(log, mutationVersion);
    return mutationVersion !== null && mutationVersion === before;
  }

  /** @param sums read while {@link mutationVersion} did not change */
  set(log: number, sums: LogSums): void {
    const known = this.get(log);
    if (sums.mutationVersion !== this.#database.mutationVersion || (known !== undefined && known.upTo > sums.upTo))
      return;
    const isLarge = sums.slices !== null && sums.slices.size > MOST_SLICES;
    this.#logs.delete(log);
    this.#logs.set(log, isLarge ? { ...sums, slices: null } : sums);
    let size = this.#logs.values().reduce((sum, { slices }) => sum + (slices?.size ?? 0), 0);
    for (const [eldest, { slices }] of this.#logs) {
      if (size <= MOST_SLICES) break;
      this.#logs.delete(eldest);
      size -= slices?.size ?? 0;
    }
  }
}

/** Adds two slices, of the same time or for a group that contains both. */
export function added(a: SumsSlice, b: SumsSlice): SumsSlice {
  if (a.numbers === 0 || b.numbers === 0) {
    const numbers = a.numbers === 0 ? b : a;
    return { ...numbers, slice: a.slice, count: a.count + b.count };
  }
  return {
    slice: a.slice,
    count: a.count + b.count,
    numbers: a.numbers + b.numbers,
    sum: a.sum + b.sum,
    error: a.error + b.error + roundingError(a.sum, b.sum),
    min: b.min < a.min ? b.min : a.min,
    max: b.max > a.max ? b.max : a.max,
  };
}
