import { setTimeout as sleep } from "node:timers/promises";
import { page, type Reader, type Row } from "./oracle.ts";

const PAGE_SIZE = 500;
const PAUSE_MS = 20;

/** A client that polls a log for new events, passing the last id it has seen. */
export class Poller implements AsyncDisposable {
  readonly #reader: Reader;
  readonly #log: string;
  /** How often each id was shown. */
  readonly seen = new Map<string, number>();
  #last: string;
  #stopped = false;
  #running: Promise<void>;

  /** @param after - starts after this event */
  constructor(reader: Reader, log: string, after = "0".repeat(24)) {
    this.#reader = reader;
    this.#log = log;
    this.#last = after;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const path = `/1/logs/${this.#log}/events?pagesize=${PAGE_SIZE}&sinceid=${this.#last}`;
      const answer = await page(this.#reader, path).catch(() => null);
      for (const { id } of answer?.rows ?? []) this.#see(id);
      if ((answer?.rows.length ?? 0) < PAGE_SIZE) await sleep(PAUSE_MS);
    }
  }

  #see(id: string): void {
    this.seen.set(id, (this.seen.get(id) ?? 0) + 1);
    this.#last = id;
  }

  /**
   * Polls until all of `rows` were seen, or for `timeout_ms`; returns how many were never seen, and
   * how many more than once.
   */
  async finish(rows: readonly Row[], timeout_ms: number): Promise<{ missed: Row[]; twice: number }> {
    const deadline_ms = performance.now() + timeout_ms;
    const missed = (): Row[] => rows.filter(({ id }) => !this.seen.has(id));
    while (missed().length > 0 && performance.now() < deadline_ms) await sleep(100);
    await this[Symbol.asyncDispose]();
    return { missed: missed(), twice: [...this.seen.values()].filter((times) => times > 1).length };
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }
}
