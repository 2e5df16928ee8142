import type { Logger } from "pino";

import type { IdempotencyStore } from "./idempotency-store.ts";
import type { Attempt, KeyReservation, Reservations, Standing } from "./reservations.ts";

/** Storage of keys that reservations use. */
type KeyDocuments = Pick<IdempotencyStore, "create" | "replace" | "read">;

/** Reservations in small documents, one for each key, of a process that alone appends to its bus. */
export class DocumentReservations implements Reservations {
  readonly #documents: KeyDocuments;
  readonly #log: Logger;

  constructor(documents: KeyDocuments, { log }: { readonly log: Logger }) {
    this.#documents = documents;
    this.#log = log;
  }

  reserve(name: string, reservation: KeyReservation, replaced: string | null): Attempt {
    const written = (
      replaced === null
        ? this.#documents.create(name, reservation)
        : this.#documents.replace(name, reservation, replaced)
    ).then((result) => (result.kind === "done" ? result.version : null));
    return {
      isReserved: written.then((version) => version !== null),
      markDone: () => void this.#markWritten(name, reservation, written),
      // A repeat finds at once that nothing of the batch is on the bus.
      free: () => {},
    };
  }

  async find(name: string): Promise<Standing | null> {
    const found = await this.#documents.read(name);
    if (found === null || found.body === null) return null;
    const { version } = found;
    const reservation = found.body as KeyReservation;
    return { reservation, version, markDone: () => void this.#markDone(name, reservation, version) };
  }

  async #markWritten(name: string, reservation: KeyReservation, written: Promise<string | null>): Promise<void> {
    const version = await written;
    if (version !== null) await this.#markDone(name, reservation, version);
  }

  async #markDone(name: string, reservation: KeyReservation, version: string): Promise<void> {
    try {
      await this.#documents.replace(name, { ...reservation, done: true }, version);
    } catch (error) {
      this.#log.debug({ err: error }, "an idempotency key could not be marked as done");
    }
  }
}
