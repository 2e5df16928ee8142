import type { DocumentReservations } from "../document-reservations.ts";
import { KEY_LIFE_MS } from "../idempotency-store.ts";
import type { KeyedBatch, Standing } from "../reservations.ts";

const HOUR_MS = 3_600_000;
/** Time that the store has to answer, and for which it is not asked again if it does not. */
const ANSWER_MS = 250;
const PAUSE_MS = 5_000;

/**
 * Keys that releases before the journal of keys have stored in Elasticsearch. They are read for a
 * day after the upgrade, while the store answers. Delete this in the release after next.
 */
export class EarlierKeys {
  readonly #documents: Pick<DocumentReservations, "find" | "findEarlier">;
  readonly #began_ms: () => number | null;
  readonly #now: () => number;
  #paused_ms = 0;

  /** @param options.began_ms returns when the journal began; null: longer ago than a day */
  constructor(
    documents: Pick<DocumentReservations, "find" | "findEarlier">,
    { began_ms, now }: { readonly began_ms: () => number | null; readonly now: () => number },
  ) {
    this.#documents = documents;
    this.#began_ms = began_ms;
    this.#now = now;
  }

  async find(batch: KeyedBatch, name: string): Promise<Standing | null> {
    const began_ms = this.#began_ms();
    // Processes of the earlier release may go on for a while beside the first of this one.
    if (began_ms === null || this.#now() > began_ms + KEY_LIFE_MS + HOUR_MS) return null;
    if (performance.now() < this.#paused_ms) return null;
    const { promise: isLate, resolve } = Promise.withResolvers<"late">();
    const timer = setTimeout(() => resolve("late"), ANSWER_MS);
    const found = await Promise.race([this.#read(batch, name).catch(() => "late" as const), isLate]);
    clearTimeout(timer);
    if (found !== "late") return found;
    this.#paused_ms = performance.now() + PAUSE_MS;
    return null;
  }

  async #read(batch: KeyedBatch, name: string): Promise<Standing | null> {
    return (await this.#documents.find(name)) ?? (await this.#documents.findEarlier(batch));
  }
}
