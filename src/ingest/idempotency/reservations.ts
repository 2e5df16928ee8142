import type { LogKey } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";

/** A batch with an idempotency key. `hash` covers everything that determines what is stored. */
export type KeyedBatch = {
  readonly log: LogKey;
  /** Id of the API key that the batch was posted with. The idempotency key is scoped to it. */
  readonly apiKey: string;
  readonly key: string;
  readonly hash: string;
  readonly count: number;
  /** Latest time the batch may have been read at. Its events' times are checked against it. */
  readonly read_ms: number;
  /** Time at which the batch was read, by the trusted clock. */
  readonly trusted_ms: number;
};

/** The ids reserved for a batch. `created` applies to events without a creation time of their own. */
export type KeyReservation = Pick<KeyedBatch, "hash" | "count" | "read_ms" | "trusted_ms"> & {
  readonly first: EventId;
  readonly created: number;
  /** Whether the batch is known to be on the bus. */
  readonly done: boolean;
};

/** A reservation that stands under a key. */
export type Standing = {
  /** null if it has expired, or the ids were never used. */
  readonly reservation: KeyReservation | null;
  /** Identifies it for {@link Reservations.reserve}. */
  readonly version: string;
  /** Notes that its batch is on the bus. It saves repeats a search; nothing awaits it. */
  readonly markDone: () => void;
};

/** An attempt to reserve. */
export type Attempt = {
  /** Resolves once the reservation stands, with whether it does: false if the key is in use. */
  readonly isReserved: Promise<boolean>;
  /** See {@link Standing.markDone}. */
  readonly markDone: () => void;
  /** Frees the key: the ids are never used. Also if the attempt seems to have failed. */
  readonly free: () => void;
};

/**
 * Reservations of ids under keys, shared by all posting processes. Adapters:
 * `document-reservations.ts` (embedded) and `keys/journal-reservations.ts` (cluster).
 */
export type Reservations = {
  /**
   * Reserves ids under a key, in place of the reservation `replaced`. Of several attempts, in any
   * processes, one succeeds.
   * @param name of the key: a SHA-256 in base64url
   */
  reserve(name: string, reservation: KeyReservation, replaced: string | null): Attempt;
  /** Returns the reservation that stands; null if there is none any more. */
  find(name: string): Promise<Standing | null>;
};
