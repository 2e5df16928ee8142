import type { ClassFilter } from "../../src/catalog/catalog.ts";
import type { LogKey } from "../../src/events/event.ts";
import type { Matcher } from "./matcher.ts";
import type { Patch } from "./patch.ts";

/** Maximum size of all matchers, and of those of one owner, in units of {@link CachedMatcher.size}. */
export type CacheSizes = { readonly all: number; readonly owner: number };

export type CachedMatcher = {
  readonly log: LogKey;
  readonly owner: string;
  /** The array that the matcher was built from, compared by identity. */
  readonly filters: readonly ClassFilter[];
  readonly match: Matcher;
  readonly size: number;
  /** Matcher for the log's current filters, if they differ from `filters`. */
  patch: Patch | null;
};

/** Matchers of logs, one each, in bounded memory. The least recently used are dropped. */
export class MatcherCache {
  readonly #maxSize: CacheSizes;
  /** In order of last use. */
  readonly #entries = new Map<LogKey, CachedMatcher>();
  readonly #sizeByOwner = new Map<string, number>();
  #size = 0;

  constructor(maxSize: CacheSizes) {
    this.#maxSize = maxSize;
  }

  /** Returns the matcher of a log, and counts this as its use. */
  find(log: LogKey): CachedMatcher | undefined {
    const entry = this.#entries.get(log);
    // A single entry is in order already.
    if (entry !== undefined && this.#entries.size > 1) {
      this.#entries.delete(log);
      this.#entries.set(log, entry);
    }
    return entry;
  }

  /** Replaces the matcher of a log. */
  insert(entry: CachedMatcher): void {
    const { log, owner, size } = entry;
    this.#drop(log);
    this.#entries.set(log, entry);
    this.#size += size;
    this.#sizeByOwner.set(owner, (this.#sizeByOwner.get(owner) ?? 0) + size);
    while (this.#sizeByOwner.get(owner)! > this.#maxSize.owner && this.#dropOldest(owner, log));
    while (this.#size > this.#maxSize.all && this.#dropOldest(this.#largestOwner(), log));
  }

  #drop(log: LogKey): void {
    const entry = this.#entries.get(log);
    if (entry === undefined) return;
    this.#entries.delete(log);
    this.#size -= entry.size;
    const remaining = this.#sizeByOwner.get(entry.owner)! - entry.size;
    if (remaining > 0) this.#sizeByOwner.set(entry.owner, remaining);
    else this.#sizeByOwner.delete(entry.owner);
  }

  /**
   * Drops the oldest matcher of `owner`, except that of log `except`. If the owner has no other and
   * the limit of all is exceeded, drops the oldest of any owner. Returns whether one was dropped.
   */
  #dropOldest(owner: string, except: LogKey): boolean {
    const others = [...this.#entries.values()].filter(({ log }) => log !== except);
    const isFull = this.#size > this.#maxSize.all;
    const oldest = others.find((entry) => entry.owner === owner) ?? (isFull ? others[0] : undefined);
    if (oldest === undefined) return false;
    this.#drop(oldest.log);
    return true;
  }

  #largestOwner(): string {
    let largest = "";
    for (const [owner, size] of this.#sizeByOwner) if (size > (this.#sizeByOwner.get(largest) ?? 0)) largest = owner;
    return largest;
  }
}
