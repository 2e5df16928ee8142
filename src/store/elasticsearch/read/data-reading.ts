import { isNearlyOver } from "../../../elasticsearch/client.ts";
import type { LoggiaError } from "../../../errors.ts";
import type { Condition } from "../../../query/plan.ts";
import { conditionTimeRange } from "../../../query/time-range.ts";
import { MAX_READ_EVENTS, tooWide } from "../../too-wide.ts";
import type { Document } from "../documents/document.ts";
import { TESTED_SOURCE } from "../documents/document.ts";
import type { Query, Sort } from "../client/queries.ts";
import { scan, answerTotal } from "../client/scan.ts";
import type { Hit, Searcher } from "../client/scan.ts";
import { startOfNewest } from "./seek.ts";

type Source = typeof TESTED_SOURCE | { readonly includes: string[] };

/**
 * Documents read at once: few at first, then by their length, so that a response holds about a
 * million characters. Those of a batch may be longer than those before.
 */
export const FIRST_BATCH = 16;
const MOST_BATCH = 200;
const BATCH_LENGTH = 1_000_000;
/** The same if all are as long as the longest of the last batch. */
const LONGEST_BATCH_LENGTH = 2_000_000;

/** Reads events with their data, within the bounds of one query. */
export class DataReading {
  readonly #search: Searcher;
  readonly #query: Query;
  readonly #where: Condition;
  readonly #source: Source;
  #read = 0;
  #tested = 0;

  /**
   * @param where the condition of the plan, whose range of time is kept in errors
   * @param source which fields of the documents are read
   */
  constructor(search: Searcher, query: Query, where: Condition, source: Source = TESTED_SOURCE) {
    this.#search = search;
    this.#query = query;
    this.#where = where;
    this.#source = source;
  }

  /** Counts the events, up to one more than may be read. */
  async count(): Promise<number> {
    return answerTotal(await this.#search({ query: this.#query, size: 0, track_total_hits: MAX_READ_EVENTS + 1 }));
  }

  /** Yields the documents in order. @throws LoggiaError `too_wide` if there are too many */
  async *batches(sort: Sort): AsyncGenerator<readonly Document[]> {
    const options = { query: this.#query, sort, batch: FIRST_BATCH, nextBatch: nextOfData, source: this.#source };
    for await (const hits of scan(this.#search, options)) {
      this.#read += hits.length;
      if (this.#read > MAX_READ_EVENTS) throw await this.tooManyEvents();
      yield hits.map(documentOf);
    }
  }

  /** Counts a document as tested. @throws LoggiaError `too_wide` once most of the time is over */
  async checkTime(): Promise<void> {
    this.#tested += 1;
    if (!isNearlyOver()) return;
    const reason = `The data of ${this.#tested} events was tested in the time that a query has, and there are more`;
    throw tooWide(reason, await this.#newest(Math.floor(this.#tested / 2)));
  }

  async tooManyEvents(): Promise<LoggiaError> {
    const most = MAX_READ_EVENTS.toLocaleString("en-US");
    const reason = `This condition has to be tested on the data of more than ${most} events`;
    return tooWide(reason, await this.#newest(MAX_READ_EVENTS));
  }

  /** Returns the range of the newest events, at most so many. */
  async #newest(most: number): Promise<{ readonly from_ms: number; readonly to_ms: number } | null> {
    // Little time is left: an error without an example is better than none.
    const from_ms = await startOfNewest(this.#search, this.#query, most).catch(() => null);
    return from_ms === null ? null : { from_ms, to_ms: conditionTimeRange(this.#where).to_ms };
  }
}

function documentOf({ _source: source }: Hit): Document {
  return source as Document;
}

function nextOfData(hits: readonly Hit[]): number {
  return nextBatch(hits, MOST_BATCH);
}

/** Returns the size of the next batch after some hits, at most `most`. */
export function nextBatch(hits: readonly Hit[], most: number): number {
  const lengths = hits.map(hitDataLength);
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  const batch = Math.min(most, BATCH_LENGTH / mean, LONGEST_BATCH_LENGTH / Math.max(...lengths));
  return Math.max(1, Math.floor(batch));
}

/** Returns the approximate number of characters of a document, as it was read. */
export function hitDataLength(hit: Hit): number {
  const { data = "", text = "", pattern = "", attributes = "", folded, indexed } = documentOf(hit);
  const words = (folded?.text?.length ?? 0) + (folded?.digits?.length ?? 0) + (folded?.dataDigits?.length ?? 0);
  // Indexed attributes hold their values up to three times.
  const copies = indexed === undefined ? 0 : 3 * attributes.length;
  return data.length + text.length + pattern.length + attributes.length + words + copies + 200;
}
