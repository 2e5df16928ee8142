import type { Logger } from "pino";

import type { Journal } from "../../../bus/bus.ts";
import type { Summary } from "./key-segment.ts";
import { baseOfSummary, encodeSummary } from "./key-summary.ts";

/** Default of {@link SummaryWriterOptions.summaryWait_ms}. */
const MOST_WAIT_MS = 10_000;
/** Brokers refuse larger records. The records of such a segment are read one by one instead. */
const MOST_BYTES = 1_000_000;
const READ_BYTES = 1024 * 1024;
const HOUR_MS = 3_600_000;

export type SummaryWriterOptions = {
  readonly index: Journal;
  readonly log: Logger;
  /**
   * All processes have the same summaries. Each waits for a random time up to this one, and writes
   * those that no other has written by then. Default: 10 s
   */
  readonly summaryWait_ms?: number;
};

/** Writes the summaries of segments that have ended. One that is missing only delays starts. */
export class SummaryWriter {
  readonly #index: Journal;
  readonly #log: Logger;
  readonly #wait_ms: number;
  readonly #waiting: Summary[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor({ index, log, summaryWait_ms = MOST_WAIT_MS }: SummaryWriterOptions) {
    this.#index = index;
    this.#log = log;
    this.#wait_ms = summaryWait_ms;
  }

  add(summary: Summary): void {
    this.#waiting.push(summary);
    this.#timer ??= setTimeout(() => void this.#write(), Math.random() * this.#wait_ms).unref();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #write(): Promise<void> {
    const waiting = this.#waiting.splice(0);
    try {
      const hours = waiting.map(({ segment }) => segment.hour);
      const written = await this.#basesSince(Math.min(...hours) * HOUR_MS);
      for (const summary of waiting) {
        if (written.has(summary.segment.base)) continue;
        const value = encodeSummary(summary);
        if (value.length <= MOST_BYTES) await this.#index.append([value]);
      }
    } catch (error) {
      this.#log.debug({ err: error }, "a summary of keys could not be written");
    }
    this.#timer = null;
    for (const summary of this.#waiting.splice(0)) this.add(summary);
  }

  /** Returns the first offsets of the summaries written since a time. */
  async #basesSince(since_ms: number): Promise<ReadonlySet<number>> {
    const bases = new Set<number>();
    const { end } = await this.#index.bounds();
    for (let at = await this.#index.offsetAt(since_ms); at < end;) {
      const records = await this.#index.read({ from: at, maxBytes: READ_BYTES });
      if (records.length === 0) break;
      at = records.at(-1)!.offset + 1;
      for (const { value } of records) bases.add(baseOfSummary(value) ?? -1);
    }
    return bases;
  }
}
