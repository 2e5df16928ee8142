import { createSerialQueue } from "./serial-queue.ts";
import { WorkKind, Yielder } from "./yielding.ts";

/** Ratio of idle time to work between slices while requests arrive. */
const IDLE_RATIO = 2;
/**
 * Target length of a slice. Shorter steps are combined, as each turn of the event loop has a cost.
 */
const SLICE_MS = 1;
/** Target length while requests arrive. */
const SHORT_SLICE_MS = 0.4;
/** How long after a request more requests are expected. */
const REQUESTS_LAST_MS = 20;
/** Longest turn of the event loop that counts as idle. A single request takes longer. */
const EMPTY_TURN_MS = 0.01;

/**
 * Shares the thread between requests and other work. A process has one event loop, so the
 * start of a service creates one scheduler and passes it to every part that takes the thread. Parts
 * with schedulers of their own would run their slices in the same turns.
 */
export class Scheduler {
  /** Queries, which people wait for. Long ones must not delay what producers post. */
  readonly querying = new WorkKind(5, () => this.isUnderLoad());
  /** Decoding of what producers send, beside which many short requests are answered. */
  readonly decoding = new WorkKind(1);
  /** Heads of requests, also of strangers, which must not delay what is decoded. */
  readonly heads = new WorkKind(1);
  /** Writes long answers one after the other. */
  readonly writeInTurn = createSerialQueue();

  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;
  /** Times of the last slice. */
  #began_ms = 0;
  #ended_ms = 0;
  #isInSlice = false;
  /** Whether a request has arrived since this was last read. */
  #hasRequest = false;
  /** When `#hasRequest` was last found true. */
  #lastRequest_ms = -Infinity;
  /** Number of callers that wait for background work. */
  #prioritized = 0;
  #busyPolled_ms = 0;

  readonly #begin = (): void => {
    const now_ms = performance.now();
    this.#readRequests(now_ms);
    if (this.#lastRequest_ms > this.#began_ms) {
      const owed_ms = IDLE_RATIO * (this.#ended_ms - this.#began_ms) - (now_ms - this.#ended_ms);
      if (owed_ms > 0 && this.#prioritized === 0) {
        setTimeout(this.#nextTurn, owed_ms);
        return;
      }
    }
    this.#began_ms = now_ms;
    this.#isInSlice = true;
    this.#waiting.shift()!();
  };

  readonly #end = (): void => {
    if (!this.#isInSlice) return;
    this.#isInSlice = false;
    this.#ended_ms = performance.now();
    this.#isScheduled = this.#waiting.length > 0;
    if (this.#isScheduled) this.#nextTurn();
  };

  readonly #nextTurn = (): void => {
    // Both run in the same turn. The slice runs in between, until its work waits for something else.
    setImmediate(this.#begin);
    setImmediate(this.#end);
  };

  /**
   * Yields between two steps of background work on the thread that answers requests; each step
   * should take some tenths of a millisecond. Steps are combined into slices, and one slice runs at
   * a time, with a turn of the event loop in between.
   *
   * A request needs several turns of the event loop. With a slice in each of them, clients with few
   * connections would be slow and their data would pile up. So while requests arrive, they get more
   * than one turn between slices.
   */
  readonly yieldToRequests = (): Promise<void> => {
    if (this.#isInSlice && this.#mayContinue(performance.now())) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      this.#nextTurn();
    });
  };

  /** Notes that a request has arrived. */
  readonly noteRequest = (): void => {
    this.#hasRequest = true;
  };

  /**
   * Begins to decode what a producer sent. Each turn counts as a request, so that background work
   * leaves room until the end of it.
   */
  beginDecoding(): Yielder {
    return new Yielder(this.decoding, this.noteRequest);
  }

  /**
   * Speeds up background work that a caller waits for, until `waited` settles: slices are then only
   * a turn apart, even while requests arrive.
   */
  prioritizeUntil(waited: Promise<unknown>): void {
    this.#prioritized += 1;
    void waited
      .catch(() => {})
      .finally(() => {
        this.#prioritized -= 1;
      });
  }

  /** Whether requests are arriving. Steps of variable size should then be small. */
  isUnderLoad(): boolean {
    const now_ms = performance.now();
    this.#readRequests(now_ms);
    return now_ms - this.#lastRequest_ms < REQUESTS_LAST_MS;
  }

  /**
   * Keeps the thread awake while `isWanted` returns true. If work is about to arrive, sleeping and
   * waking take longer than the wait, also for the thread that would wake this one.
   */
  readonly busyPoll = (isWanted: () => boolean): void => {
    const before_ms = performance.now();
    setImmediate(() => {
      const turn_ms = performance.now() - before_ms;
      if (turn_ms < EMPTY_TURN_MS) this.#busyPolled_ms += turn_ms;
      if (isWanted()) this.busyPoll(isWanted);
    });
  };

  /**
   * Returns the total time for which the thread was awake and idle, which the event loop's
   * utilization counts as work.
   */
  get busyPolled_ms(): number {
    return this.#busyPolled_ms;
  }

  #readRequests(now_ms: number): void {
    if (!this.#hasRequest) return;
    this.#hasRequest = false;
    this.#lastRequest_ms = now_ms;
  }

  /** Whether the current slice may continue. */
  #mayContinue(now_ms: number): boolean {
    const isShort = this.#prioritized === 0 && now_ms - this.#lastRequest_ms < REQUESTS_LAST_MS;
    return now_ms - this.#began_ms < (isShort ? SHORT_SLICE_MS : SLICE_MS);
  }
}
