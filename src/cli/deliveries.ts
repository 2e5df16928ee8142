import { type GivenUp, readBatchItems, postBatch, type Posting } from "./post-batch.ts";
import { CommandError } from "./request.ts";
import type { ShippedLine } from "./ship/item.ts";
import type { PendingBatch, ShipState } from "./ship/state.ts";

type DeliveriesOptions = {
  readonly state: ShipState;
  readonly posting: Posting;
  /** Aborted if the service takes no more batches. */
  readonly stop: AbortController;
  readonly note: (text: string) => void;
};

/** The batches in flight, and those that the run has given up. */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #faults: CommandError[] = [];
  /** What the run has given up, by the keys of the batches. */
  readonly #givenUp = new Map<string, GivenUp>();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  add(items: readonly ShippedLine[], store: () => PendingBatch): Promise<void> {
    const post = this.#deliver(items, store).finally(() => this.#running.delete(post));
    this.#running.add(post);
    return post;
  }

  /** Resolves once fewer than `limit` are in flight. */
  async untilFewerThan(limit: number): Promise<void> {
    while (this.#running.size >= limit) await Promise.race(this.#running);
  }

  /** Reports the lines without an answer: the state keeps them, or they fail. */
  async reportUnsent(): Promise<void> {
    const { state, posting, note } = this.#options;
    const { counts, fail, outage } = posting;
    const isOver = !posting.interrupted.aborted;
    const [last] = this.#givenUp.values();
    if (last !== undefined && isOver)
      note(`loggia: gave up after ${last.waited_s} s; the last attempt at ${outage.where}: ${last.why}`);
    if (state.file === null) {
      for (const { unsent, why } of this.#givenUp.values()) for (const { line } of unsent) fail(line, why);
      if (last !== undefined && isOver) note("loggia: lines that were not read yet are not posted");
      return;
    }
    for (const batch of state.pending())
      counts.kept += (this.#givenUp.get(batch.key)?.unsent ?? (await readBatchItems(batch))).length;
    if (counts.kept === 0) return;
    const lines = counts.kept === 1 ? "1 line is" : `${counts.kept} lines are`;
    note(
      `loggia: ${lines} kept in ${state.file}; the next run with the same words sends them first, and goes on there`,
    );
  }

  throwFault(): void {
    if (this.#faults[0] !== undefined) throw this.#faults[0];
  }

  async #deliver(items: readonly ShippedLine[], store: () => PendingBatch): Promise<void> {
    const { state, posting, stop } = this.#options;
    try {
      const batch = store();
      const givenUp = await postBatch(items, batch, posting);
      if (givenUp === null) {
        state.removeBatch(batch.key);
        return;
      }
      this.#givenUp.set(batch.key, givenUp);
    } catch (error) {
      this.#faults.push(error instanceof CommandError ? error : new CommandError("Shipping failed", { cause: error }));
    }
    stop.abort();
  }
}
