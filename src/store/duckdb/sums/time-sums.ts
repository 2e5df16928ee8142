import type { Database } from "../database/database.ts";

/** Clocks of all zones differ by multiples of this, but for some of the first half of the last century. */
export const SLICE_MS = 900_000;

/** Slices of all logs together: about as many as a log of a year and a half has, and 8 MB. */
export const MOST_SLICES = 50_000;

/** What the events of a log come to that were created in one slice of time. */
export type Slice = {
  /** From 1970 on, by number. */
  readonly slice: number;
  readonly count: number;
  /** Of those that have a value. */
  readonly numbers: number;
  /** The sum is both of these: `error` is what rounding took from `sum`. */
  readonly sum: number;
  readonly error: number;
  readonly min: number;
  readonly max: number;
};

/** The slices of a log. Invariant: they hold all of its events whose ids are not beyond `upTo`. */
export type LogSums = {
  readonly settled: number;
  readonly upTo: bigint;
  /** See {@link Database.stillness}: since then nothing was written. */
  readonly stillness: number | null;
  /** By number; null where there are too many. */
  readonly slices: ReadonlyMap<number, Slice> | null;
};

/**
 * Sums of the events of each log for each quarter of an hour, of which groups by time are made that
 * look at all events. They are kept in memory, made by the first such question, and completed by
 * each with what has come since.
 *
 * Invariant: what is kept was read while no write was under way, or waited, that may do anything
 * else than add events with greater ids, and goes with the next one.
 */
export class TimeSums {
  readonly #database: Pick<Database, "settled" | "stillness">;
  /** A store of no more events is looked through as fast. */
  readonly leastEvents: number;
  /** By the number of the log; what was longest not asked for stands first. */
  readonly #logs = new Map<number, LogSums>();
  /** By the number of the log, {@link settled} when it was asked before. */
  readonly #asked = new Map<number, number>();

  constructor(database: Pick<Database, "settled" | "stillness">, leastEvents: number) {
    this.#database = database;
    this.leastEvents = leastEvents;
  }

  /** See {@link Database.settled}. */
  get settled(): number | null {
    return this.#database.settled;
  }

  /** See {@link Database.stillness}. */
  get stillness(): number | null {
    return this.#database.stillness;
  }

  /** Undefined where nothing is known of a log. */
  of(log: number): LogSums | undefined {
    const found = this.#logs.get(log);
    if (found === undefined) return undefined;
    this.#logs.delete(log);
    if (found.settled !== this.#database.settled) return undefined;
    this.#logs.set(log, found);
    return found;
  }

  /** Whether a log was asked before, and nothing has come since that sums would not have outlived. */
  isAskedAgain(log: number): boolean {
    const { settled } = this.#database;
    const before = this.#asked.get(log);
    if (settled !== null) this.#asked.set(log, settled);
    return settled !== null && settled === before;
  }

  /** @param sums read while {@link settled} was the same from before to now */
  note(log: number, sums: LogSums): void {
    const known = this.of(log);
    if (sums.settled !== this.#database.settled || (known !== undefined && known.upTo > sums.upTo)) return;
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

/** Events of both together, of the same slice or for a group that holds both. */
export function added(a: Slice, b: Slice): Slice {
  if (a.numbers === 0 || b.numbers === 0) {
    const numbers = a.numbers === 0 ? b : a;
    return { ...numbers, slice: a.slice, count: a.count + b.count };
  }
  const sum = a.sum + b.sum;
  // What rounding took, after Neumaier: the smaller of both lost it.
  const lost = Math.abs(a.sum) >= Math.abs(b.sum) ? a.sum - sum + b.sum : b.sum - sum + a.sum;
  return {
    slice: a.slice,
    count: a.count + b.count,
    numbers: a.numbers + b.numbers,
    sum,
    error: a.error + b.error + lost,
    min: b.min < a.min ? b.min : a.min,
    max: b.max > a.max ? b.max : a.max,
  };
}
