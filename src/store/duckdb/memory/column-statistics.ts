import type { DuckDBConnection } from "@duckdb/node-api";

import type { StoredEvent } from "../../../events/event.ts";
import type { EventExtent } from "../../within-time.ts";
import type { AttributeColumns } from "../database/attributes.ts";
import type { Blocks } from "../blocks/no-blocks.ts";
import type { LogNumbers } from "../database/logs.ts";
import type { AnnotatedLogs } from "./annotated-logs.ts";
import type { ListTimesCache } from "./list-times-cache.ts";
import type { TimeSums } from "./time-sums.ts";
import type { Statistic, QuerySchema } from "./query-schema.ts";
import { EARLY_MS, STATISTICS } from "./query-schema.ts";

/** Characters that `lower` may change. */
const UPPER = /[A-Z\u0080-\uffff]/;

/** How long the extent of events stays valid. Events expire, the oldest first. */
const EXTENT_TTL_MS = 60_000;

/**
 * Statistics about all stored events.
 *
 * Invariant: a statistic is recorded before an event with it becomes visible. Statistics are never
 * removed.
 */
export class ColumnStatistics {
  readonly logs: LogNumbers;
  readonly attributes: AttributeColumns;
  readonly blocks: Blocks;
  readonly annotatedLogs: AnnotatedLogs;
  /** null: no list is cached. */
  readonly listTimes: ListTimesCache | null;
  /** null: groups are computed from rows. */
  readonly sums: TimeSums | null;
  readonly #known: Set<Statistic>;
  #storedRead: Promise<void> | null;
  #extent: EventExtent = { count: 0, first: Infinity, last: -Infinity };
  #extentExpires_ms = -Infinity;
  #extentRead: Promise<void> = Promise.resolve();

  /** @param assumesAll whether every statistic is taken as recorded, so that none is searched */
  constructor(
    parts: Pick<ColumnStatistics, "logs" | "attributes" | "blocks" | "annotatedLogs" | "listTimes" | "sums">,
    { assumesAll = false }: { readonly assumesAll?: boolean } = {},
  ) {
    this.#known = new Set(assumesAll ? STATISTICS : []);
    this.#storedRead = assumesAll ? Promise.resolve() : null;
    this.logs = parts.logs;
    this.attributes = parts.attributes;
    this.blocks = parts.blocks;
    this.annotatedLogs = parts.annotatedLogs;
    this.listTimes = parts.listTimes;
    this.sums = parts.sums;
  }

  /** Records a statistic. Called when an event is prepared for writing. */
  add(statistic: Statistic): void {
    this.#known.add(statistic);
  }

  /** Records a statistic about users. Called as {@link add} is. */
  addUsers(events: readonly StoredEvent[]): void {
    if (!this.#known.has("upper-user") && events.some(({ user }) => UPPER.test(user))) this.add("upper-user");
  }

  /** Updates the extent of events. Called as {@link add} is. */
  addTimes(events: readonly StoredEvent[]): void {
    let { count, first, last } = this.#extent;
    for (const { created } of events) {
      count += 1;
      if (created < first) first = created;
      if (created > last) last = created;
    }
    if (first < EARLY_MS) this.add("early");
    this.#extent = { count, first, last };
  }

  /**
   * Runs a query that depends on the recorded statistics. If some are added meanwhile, they may hold
   * for rows that the query saw, so the query runs again.
   */
  async runQuery<T>(connection: DuckDBConnection, work: (schema: QuerySchema) => Promise<T>): Promise<T> {
    await (this.#storedRead ??= this.#readStored(connection));
    let useBlocks = true;
    for (;;) {
      const before = this.#version();
      const { lateInserts } = this.blocks;
      let isNarrowed = false;
      const rangesOf: Blocks["rangesOf"] = (where) => {
        const ranges = useBlocks ? this.blocks.rangesOf(where) : null;
        isNarrowed ||= ranges !== null;
        return ranges;
      };
      const { logs, attributes } = this;
      const answer = await work({ statistics: this.#known, logs, attributes, blocks: { rangesOf } });
      const isMissed = isNarrowed && this.blocks.lateInserts !== lateInserts;
      if (this.#version() === before && !isMissed) return answer;
      // If events keep arriving late, the query runs without blocks rather than forever.
      useBlocks &&= !isMissed;
    }
  }

  #version(): number {
    return this.#known.size + this.attributes.version;
  }

  /**
   * Returns the approximate extent of events. Those of the last minute may be missing, or included
   * although they are gone or were not written.
   */
  async extent(connection: DuckDBConnection): Promise<EventExtent> {
    if (performance.now() > this.#extentExpires_ms) {
      this.#extentExpires_ms = performance.now() + EXTENT_TTL_MS;
      this.#extentRead = this.#readExtent(connection);
    }
    // Concurrent callers wait too: without the extent, a list would be counted in slices of
    // milliseconds.
    await this.#extentRead;
    return this.#extent;
  }

  async #readExtent(connection: DuckDBConnection): Promise<void> {
    try {
      const sql = "select count(*), min(created), max(created) from events";
      const [row] = (await connection.runAndReadAll(sql)).getRows();
      const [count, first, last] = row as [bigint, bigint | null, bigint | null];
      if (first === null || last === null) return;
      this.#extent = { count: Number(count), first: Number(first), last: Number(last) };
    } catch (error) {
      this.#extentExpires_ms = -Infinity;
      throw error;
    }
  }

  /**
   * Finds the statistics about events written by earlier processes. Zone maps answer most of it; the
   * column `user` is read as a whole, unless an upper-case user is found.
   */
  async #readStored(connection: DuckDBConnection): Promise<void> {
    try {
      const questions = STATISTICS.map((statistic) => `exists(from events where ${testOf(statistic)})`);
      const [row] = (await connection.runAndReadAll(`select ${questions.join(", ")}`)).getRows();
      STATISTICS.forEach((statistic, i) => row?.[i] === true && this.#known.add(statistic));
    } catch (error) {
      this.#storedRead = null;
      throw error;
    }
  }
}

function testOf(statistic: Statistic): string {
  if (statistic === "early") return `created < ${EARLY_MS}`;
  if (statistic === "upper-user") return 'lower("user") <> "user"';
  return `folded."${statistic}" is not null`;
}
