import type { DuckDBConnection } from "@duckdb/node-api";

import type { StoredEvent } from "../../events/event.ts";
import type { AttributeColumns } from "./attributes.ts";
import type { BlockIndex } from "./blocks/block-index.ts";
import type { LogNumbers } from "./logs.ts";
import type { MarkedLogs } from "./marked-logs.ts";
import type { RememberedMoments } from "./read/remembered-moments.ts";
import type { TimeSums } from "./sums/time-sums.ts";

/** The texts of which `events.folded` can hold a form of its own. */
export const FOLDED_FIELDS = ["text", "link", "pattern", "tags", "source", "user", "class"] as const;

/**
 * What may be true of some event, and costs time to reckon with: that a field has a folded form of
 * its own, which takes as long to read as the text itself; that its user is not as `lower` would
 * write it, which takes half as long again to look for; and that it was created before {@link
 * EARLY_MS}, which division has to be told of.
 */
export const STATISTICS = [...FOLDED_FIELDS, "early", "upper-user"] as const;
export type Statistic = (typeof STATISTICS)[number];

/** What a question reckons with. */
export type Known = {
  readonly statistics: ReadonlySet<Statistic>;
  readonly logs: Pick<LogNumbers, "get">;
  readonly attributes: Pick<AttributeColumns, "placeOf" | "namesOf" | "hasOthers">;
  readonly blocks: Pick<BlockIndex, "rangesOf">;
};

/** What `lower` may change. */
const UPPER = /[A-Z\u0080-\uffff]/;

/** The second day of 1970: from there on no time zone knows a negative time. */
const EARLY_MS = 86_400_000;

/** How far events reach is looked up again after this long: they go, and the oldest first. */
const REACH_TTL_MS = 60_000;

/**
 * How many events there are, and from when to when, about: what is of the last minute may be
 * missing here, may have gone, or may not have been written. Times are milliseconds since the Unix
 * epoch.
 */
export type Reach = { readonly count: number; readonly first: number; readonly last: number };

/**
 * What is known of all events.
 *
 * Invariant: a fact is known before an event of which it is true can be seen by anybody. None is forgotten.
 */
export class ColumnStatistics {
  readonly logs: LogNumbers;
  readonly attributes: AttributeColumns;
  readonly blocks: BlockIndex;
  readonly marked: MarkedLogs;
  readonly remembered: RememberedMoments;
  readonly sums: TimeSums;
  readonly #known = new Set<Statistic>();
  #looked: Promise<void> | null = null;
  #reach: Reach = { count: 0, first: Infinity, last: -Infinity };
  #reachIsGoodUntil_ms = -Infinity;
  #reached: Promise<void> = Promise.resolve();

  constructor(parts: Pick<ColumnStatistics, "logs" | "attributes" | "blocks" | "marked" | "remembered" | "sums">) {
    this.logs = parts.logs;
    this.attributes = parts.attributes;
    this.blocks = parts.blocks;
    this.marked = parts.marked;
    this.remembered = parts.remembered;
    this.sums = parts.sums;
  }

  /** Called when an event is made ready to be written. */
  add(fact: Statistic): void {
    this.#known.add(fact);
  }

  /** Called as {@link add} is. */
  addUsers(events: readonly StoredEvent[]): void {
    if (!this.#known.has("upper-user") && events.some(({ user }) => UPPER.test(user))) this.add("upper-user");
  }

  /** Called as {@link add} is. */
  addTimes(events: readonly StoredEvent[]): void {
    let { count, first, last } = this.#reach;
    for (const { created } of events) {
      count += 1;
      if (created < first) first = created;
      if (created > last) last = created;
    }
    if (first < EARLY_MS) this.add("early");
    this.#reach = { count, first, last };
  }

  /**
   * Answers a question that depends on what is known. What becomes known meanwhile may be true of
   * rows that the question saw: then it is asked again.
   */
  async ask<T>(connection: DuckDBConnection, work: (known: Known) => Promise<T>): Promise<T> {
    await (this.#looked ??= this.#look(connection));
    let useBlocks = true;
    for (;;) {
      const before = this.#version();
      const { lateInserts } = this.blocks;
      let isNarrowed = false;
      const rangesOf: BlockIndex["rangesOf"] = (where) => {
        const ranges = useBlocks ? this.blocks.rangesOf(where) : null;
        isNarrowed ||= ranges !== null;
        return ranges;
      };
      const { logs, attributes } = this;
      const answer = await work({ statistics: this.#known, logs, attributes, blocks: { rangesOf } });
      const isMissed = isNarrowed && this.blocks.lateInserts !== lateInserts;
      if (this.#version() === before && !isMissed) return answer;
      // Where events come late all the time, this one is answered without blocks rather than never.
      useBlocks &&= !isMissed;
    }
  }

  #version(): number {
    return this.#known.size + this.attributes.version;
  }

  /** How far events reach, about. */
  async reach(connection: DuckDBConnection): Promise<Reach> {
    if (performance.now() > this.#reachIsGoodUntil_ms) {
      this.#reachIsGoodUntil_ms = performance.now() + REACH_TTL_MS;
      this.#reached = this.#lookFar(connection);
    }
    // Also for who asks meanwhile: with no idea how far events reach, a list would be counted by milliseconds.
    await this.#reached;
    return this.#reach;
  }

  async #lookFar(connection: DuckDBConnection): Promise<void> {
    try {
      const sql = "select count(*), min(created), max(created) from events";
      const [row] = (await connection.runAndReadAll(sql)).getRows();
      const [count, first, last] = row as [bigint, bigint | null, bigint | null];
      if (first === null || last === null) return;
      this.#reach = { count: Number(count), first: Number(first), last: Number(last) };
    } catch (error) {
      this.#reachIsGoodUntil_ms = -Infinity;
      throw error;
    }
  }

  /**
   * Looks at what earlier processes wrote. The least and greatest value of row groups tell most of
   * it; all users are looked at, where none is in upper case.
   */
  async #look(connection: DuckDBConnection): Promise<void> {
    try {
      const questions = STATISTICS.map((fact) => `exists(from events where ${testOf(fact)})`);
      const [row] = (await connection.runAndReadAll(`select ${questions.join(", ")}`)).getRows();
      STATISTICS.forEach((fact, i) => row?.[i] === true && this.#known.add(fact));
    } catch (error) {
      this.#looked = null;
      throw error;
    }
  }
}

function testOf(fact: Statistic): string {
  switch (fact) {
    case "early":
      return `created < ${EARLY_MS}`;
    case "upper-user":
      return 'lower("user") <> "user"';
    case "text":
    case "link":
    case "pattern":
    case "tags":
    case "source":
    case "user":
    case "class":
      return `folded."${fact}" is not null`;
  }
  throw fact satisfies never;
}
