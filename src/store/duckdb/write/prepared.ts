import type { DuckDBDataChunk } from "@duckdb/node-api";

import type { StoredEvent } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import type { PreparedEvents } from "../../store.ts";
import { Rows } from "./chunks.ts";
import type { ChunkPool } from "./chunks.ts";
import { chunkEventIds } from "./rows.ts";
import type { ColumnRow } from "./rows.ts";
import type { Blocks } from "../blocks/no-blocks.ts";
import type { TokenList, TokenListPool } from "../blocks/token-list.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

/** The reason why an event has no row. */
type Fault = { readonly id: EventId; readonly reason: string };

/** Events encoded as data chunks of DuckDB. */
export class DuckdbEvents implements PreparedEvents {
  /** Faults by the position of their events. */
  readonly faults = new Map<number, Fault>();
  /** Whether the ids of the rows ascend. `first` and `last` are "" if there are no rows. */
  isAscending = true;
  first: EventId | "" = "";
  last: EventId | "" = "";
  readonly #pool: ChunkPool<StoredEvent, ColumnRow>;
  readonly #blocks: Pick<Blocks, "addTokens">;
  readonly #tokenLists: TokenListPool;
  readonly #tokens: TokenList;
  /** Events share their tokens with events picked from them, and either may outlive the other. */
  #sharesTokens: boolean;
  /** null once the events are written. */
  #rows: Rows<StoredEvent, ColumnRow> | null;
  #length = 0;

  constructor(
    pool: ChunkPool<StoredEvent, ColumnRow>,
    blocks: Pick<Blocks, "addTokens">,
    tokenLists: TokenListPool,
    picked: { readonly rows: Rows<StoredEvent, ColumnRow>; readonly tokens: TokenList } | null = null,
  ) {
    this.#pool = pool;
    this.#blocks = blocks;
    this.#tokenLists = tokenLists;
    this.#rows = picked?.rows ?? new Rows(pool);
    this.#tokens = picked?.tokens ?? tokenLists.take();
    this.#sharesTokens = picked !== null;
  }

  get scheduler(): Scheduler {
    return this.#pool.scheduler;
  }

  /** The tokens of all events added; picked events have those of their origin. */
  get tokens(): TokenList {
    return this.#tokens;
  }

  get length(): number {
    return this.#length;
  }

  /** @throws Error if the events were already written */
  get chunks(): readonly DuckDBDataChunk[] {
    return this.#unwritten.chunks;
  }

  /** Returns the ids, read back from the rows. Rarely needed. */
  ids(): EventId[] {
    const ofRows = this.chunks.flatMap(chunkEventIds).values();
    return Array.from({ length: this.length }, (_, index) => this.faults.get(index)?.id ?? ofRows.next().value!);
  }

  async add(events: readonly StoredEvent[]): Promise<void> {
    for (let done = 0; done < events.length;) {
      const { id, created } = events[done]!;
      let count = 1;
      if (Number.isSafeInteger(created)) {
        const odd = events.findIndex((event, i) => i > done && !Number.isSafeInteger(event.created));
        const rows = await this.#unwritten.addSome(events.slice(done, odd === -1 ? undefined : odd));
        count = rows.length;
        await this.scheduler.yieldToRequests();
        for (const { event, spread } of rows) {
          this.#noteId(event.id);
          this.#blocks.addTokens(event, spread?.values ?? [], this.#tokens);
        }
      } else {
        this.faults.set(this.length, { id, reason: `created is ${created}; it must be an integer below 2^53` });
      }
      done += count;
      this.#length += count;
    }
  }

  async pick(indexes: readonly number[]): Promise<DuckdbEvents> {
    let among = 0;
    const rowOf = Array.from({ length: this.length }, (_, index) => (this.faults.has(index) ? null : among++));
    const rows = indexes.flatMap((index) => rowOf[index] ?? []);
    this.#sharesTokens = true;
    const picked = new DuckdbEvents(this.#pool, this.#blocks, this.#tokenLists, {
      rows: await this.#unwritten.pick(rows),
      tokens: this.#tokens,
    });
    for (const id of picked.chunks.flatMap(chunkEventIds)) picked.#noteId(id);
    for (const [i, index] of indexes.entries()) {
      const fault = this.faults.get(index);
      if (fault !== undefined) picked.faults.set(i, fault);
    }
    picked.#length = indexes.length;
    return picked;
  }

  /** @throws Error if the events were already written */
  assertUnwritten(): void {
    void this.#unwritten;
  }

  /** Releases the memory for reuse, once the events are written. */
  release(): void {
    if (this.#rows === null) return;
    this.#rows.release();
    this.#rows = null;
    if (!this.#sharesTokens) this.#tokenLists.giveBack(this.#tokens);
  }

  #noteId(id: EventId): void {
    if (this.first === "") this.first = id;
    this.isAscending &&= id > this.last;
    this.last = id;
  }

  get #unwritten(): Rows<StoredEvent, ColumnRow> {
    if (this.#rows === null) throw new Error("these events have been written");
    return this.#rows;
  }
}
