import type { Logger } from "pino";

import { acceptedAt } from "../../events/id.ts";
import type { IdempotencyStore } from "./idempotency-store.ts";
import { nameOfText } from "./key-record.ts";
import type { Attempt, KeyedBatch, Reservation, Reservations, Standing } from "./reservations.ts";
import { UnusedReservations } from "./unused-reservations.ts";

/** Storage of keys that reservations use. */
export type KeyDocuments = Pick<IdempotencyStore, "create" | "replace" | "remove" | "read">;

/** Reservations in small documents, one for each key. */
export class DocumentReservations implements Reservations {
  readonly #documents: KeyDocuments;
  readonly #unused: UnusedReservations;
  readonly #log: Logger;

  constructor(documents: KeyDocuments, { log }: { readonly log: Logger }) {
    this.#documents = documents;
    this.#unused = new UnusedReservations(documents);
    this.#log = log;
  }

  reserve(name: string, reservation: Reservation, replaced: string | null): Attempt {
    const document = documentOf(reservation);
    const written = (
      replaced === null ? this.#documents.create(name, document) : this.#documents.replace(name, document, replaced)
    ).then((result) => (result.kind === "done" ? result.version : null));
    return {
      isReserved: written.then((version) => version !== null),
      markDone: () => void this.#markWritten(name, reservation, written),
      free: () => void this.#unused.free(name, reservation.first, written),
    };
  }

  async find(name: string): Promise<Standing | null> {
    const found = await this.#documents.read(name);
    if (found === null || found.body === null) return null;
    const { version } = found;
    const reservation = reservationOf(found.body);
    return {
      reservation: this.#unused.has(reservation.first) ? null : reservation,
      version,
      markDone: () => void this.#markDone(name, reservation, version),
    };
  }

  /**
   * Those releases scoped keys to logs, not API keys; theirs are found for a day after the upgrade.
   * Another body under such a key is another producer's. Delete this in the release after next.
   */
  async findEarlier({ log, key, hash }: KeyedBatch): Promise<Standing | null> {
    const standing = await this.find(nameOfText(`${log}\n${key}`));
    return standing?.reservation?.hash === hash ? standing : null;
  }

  async #markWritten(name: string, reservation: Reservation, written: Promise<string | null>): Promise<void> {
    const version = await written;
    if (version !== null) await this.#markDone(name, reservation, version);
  }

  async #markDone(name: string, reservation: Reservation, version: string): Promise<void> {
    try {
      await this.#documents.replace(name, documentOf({ ...reservation, done: true }), version);
    } catch (error) {
      this.#log.debug({ err: error }, "an idempotency key could not be marked as done");
    }
  }
}

/** Encodes a reservation. Stored documents call the trusted time `believed_ms`. */
function documentOf({ trusted_ms, ...reservation }: Reservation): Readonly<Record<string, unknown>> {
  return { ...reservation, believed_ms: trusted_ms };
}

/** Decodes a reservation. Earlier releases stored a single time, which stands for all of them. */
function reservationOf(body: Readonly<Record<string, unknown>>): Reservation {
  const { believed_ms, ...known } = body as Omit<Reservation, "created" | "trusted_ms"> & {
    readonly created?: number;
    readonly believed_ms?: number;
  };
  return { created: acceptedAt(known.first), ...known, trusted_ms: believed_ms ?? known.read_ms };
}
