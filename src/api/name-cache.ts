import type { LogKey } from "../events/event.ts";

/** Memory of an entry besides its names, in characters. */
const ENTRY_LENGTH = 100;

/**
 * A cache of names of logs, bounded by the total length of the names. The logs that were least
 * recently used are dropped first.
 */
export class NameCache<Names> {
  readonly #limit: number;
  readonly #entries = new Map<LogKey, { readonly names: Names; readonly length: number }>();
  #length = 0;

  /** @param limit most characters of all names */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get(log: LogKey): Names | undefined {
    const entry = this.#entries.get(log);
    if (entry === undefined) return undefined;
    this.#entries.delete(log);
    this.#entries.set(log, entry);
    return entry.names;
  }

  /** Adds or replaces the names of a log; names longer than the limit are not kept. */
  set(log: LogKey, names: Names, length: number): void {
    this.#delete(log);
    this.#entries.set(log, { names, length: length + ENTRY_LENGTH });
    this.#length += length + ENTRY_LENGTH;
    for (const [oldest] of this.#entries) {
      if (this.#length <= this.#limit) break;
      this.#delete(oldest);
    }
  }

  #delete(log: LogKey): void {
    this.#length -= this.#entries.get(log)?.length ?? 0;
    this.#entries.delete(log);
  }
}
