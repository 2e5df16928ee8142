import { JournalCut, type Journal, type JournalRecord } from "../../src/bus/bus.ts";
import { settledWithin } from "../../src/bus/wait.ts";

/** A journal in memory, for tests whose processes share this one. It passes the journal contract. */
export class MemoryJournal implements Journal {
  readonly records: JournalRecord[] = [];
  readonly #now: () => number;
  #appended = Promise.withResolvers<void>();
  /** Thrown by reads and appends while set. */
  fault: Error | null = null;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async append(values: readonly Buffer[]): Promise<void> {
    await new Promise(setImmediate);
    if (this.fault !== null) throw this.fault;
    for (const value of values) this.records.push({ offset: this.#end, value, appended: this.#now() });
    this.#appended.resolve();
    this.#appended = Promise.withResolvers();
  }

  async read({ from, maxBytes, wait_ms = 0 }: Parameters<Journal["read"]>[0]): Promise<readonly JournalRecord[]> {
    if (from > this.#end) throw new JournalCut("the journal ends before");
    if (from === this.#end && wait_ms > 0) {
      await settledWithin(this.#appended.promise, wait_ms);
    }
    await new Promise(setImmediate);
    if (this.fault !== null) throw this.fault;
    const found: JournalRecord[] = [];
    let size_bytes = 0;
    for (const record of this.records.slice(Math.max(0, from - this.#first))) {
      if (found.length > 0 && size_bytes + record.value.length > maxBytes) break;
      size_bytes += record.value.length;
      found.push(record);
    }
    return found;
  }

  async bounds(): Promise<{ readonly first: number; readonly end: number }> {
    return { first: this.#first, end: this.#end };
  }

  async offsetAt(moment: number): Promise<number> {
    return this.records.find(({ appended }) => appended >= moment)?.offset ?? this.#end;
  }

  get #first(): number {
    return this.records[0]?.offset ?? 0;
  }

  get #end(): number {
    return (this.records.at(-1)?.offset ?? -1) + 1;
  }
}
