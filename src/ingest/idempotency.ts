import { createHash } from "node:crypto";
import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import type { DeletionLog } from "../bus/deletions.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import { acceptedAt, type EventId, firstIdAt, nthId } from "../events/id.ts";
import { decodeRecord } from "../events/record.ts";
import type { IdempotencyStore } from "./idempotency-store.ts";
import { KEY_LIFE_MS } from "./idempotency-store.ts";
import type { Store } from "../store/store.ts";
import type { Reserve } from "./post-ids.ts";
import { UnusedReservations } from "./unused-reservations.ts";

export type IdempotencyOptions = {
  readonly documents: Pick<IdempotencyStore, "create" | "replace" | "remove" | "read">;
  readonly bus: Pick<Bus, "read">;
  readonly store: Pick<Store, "deletionsAmong" | "rows">;
  readonly deletions: DeletionLog;
  /**
   * Time in milliseconds after the assignment of ids in which an append may still reach the bus,
   * even if the process that sent it has stopped. A batch that is not found counts as absent only
   * later. 0 if no other process appends and a failed append is known to be undone.
   */
  readonly settle_ms: number;
  readonly log: Logger;
  /** The trusted clock. Default: the host's clock */
  readonly now?: () => number;
};

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

/** Position of the batch on the bus, with the times of the attempt that stored it. */
export type Posted = Pick<KeyedBatch, "read_ms" | "trusted_ms"> & { readonly first: EventId };

/**
 * Appends a batch with new ids, which are reserved first, or with ids assigned earlier. Resolves
 * with the first id.
 */
export type Append = (
  ids:
    { readonly reserve: Reserve; readonly release: () => void } | { readonly first: EventId; readonly created: number },
) => Promise<EventId>;

/** Stores a batch once, however often it is posted under its key. */
export type Idempotency = {
  /**
   * Stores the batch, or returns where an earlier attempt stored it.
   * @throws LoggiaError `conflict` if the key was used for another body; `bus_unavailable` if an
   * earlier attempt may still be running; any error of `append`
   */
  post(batch: KeyedBatch, append: Append): Promise<Posted>;
};

/** The document of a key. `created` applies to events without a creation time of their own. */
type Reservation = Posted & {
  readonly created: number;
  readonly hash: string;
  readonly count: number;
  readonly done: boolean;
};

/** Largest difference between the clocks of brokers and posting processes, in milliseconds. */
const SKEW_MS = 10_000;
const SEARCH_TIMEOUT_MS = 20_000;
const SEARCH_RECORDS = 500;
const SEARCH_BYTES = 4 * 1024 * 1024;
/** Most rows of one read of the store. */
const MOST_ROWS = 10_000;
const RETRY_AFTER_S = 5;

/**
 * Creates the idempotency check. A batch's ids are reserved under its key before it is appended,
 * and the reservation is marked as done once the batch is on the bus. A repeated batch
 *
 * - waits for the first one, if that is running in this process;
 * - is answered from the reservation, if that is done;
 * - is searched by its ids otherwise: on the bus, and in the store for events that the bus has
 *   removed. If they are absent and can no longer arrive, the batch gets new ids: pollers have passed
 *   the old ones and would miss its events.
 */
export function createIdempotency(options: IdempotencyOptions): Idempotency {
  const { documents, bus, store, deletions, settle_ms, log, now = Date.now } = options;
  const unused = new UnusedReservations(documents);
  const inProgress = new Map<string, { readonly hash: string; readonly posted: Promise<Posted> }>();

  async function attempt(name: string, batch: KeyedBatch, append: Append): Promise<Posted> {
    const earlier = await repeatOfEarlierRelease(batch, append);
    if (earlier !== null) return earlier;
    try {
      return await appendNew(name, batch, append, null);
    } catch (error) {
      if (!(error instanceof KeyInUse)) throw error;
    }
    const found = await documents.read(name);
    // The reservation was removed meanwhile.
    if (found === null || found.body === null) throw stillInProgress(1);
    const known = reservationOf(found.body);
    if (isExpired(known)) return await appendReplacing(name, batch, append, found.version);
    if (known.hash !== batch.hash) throw keyReused();
    const posted = await completeEarlier(name, { known, version: found.version }, batch, append);
    return posted ?? (await appendReplacing(name, batch, append, found.version));
  }

  /**
   * Returns the batch that an earlier release stored under this key; null if there is none. Those
   * releases scoped keys to logs, not API keys; theirs are found for a day after the upgrade.
   * Another body under such a key is another producer's. Delete this in the release after next.
   */
  async function repeatOfEarlierRelease(batch: KeyedBatch, append: Append): Promise<Posted | null> {
    const name = nameOf(`${batch.log}\n${batch.key}`);
    const found = await documents.read(name);
    if (found === null || found.body === null) return null;
    const known = reservationOf(found.body);
    if (isExpired(known) || known.hash !== batch.hash) return null;
    return await completeEarlier(name, { known, version: found.version }, batch, append);
  }

  function isExpired({ trusted_ms }: Reservation): boolean {
    return now() - trusted_ms > KEY_LIFE_MS;
  }

  /**
   * Returns the position of a batch that an earlier attempt appended, in whole or in part; null if
   * it appended nothing.
   */
  async function completeEarlier(
    name: string,
    { known, version }: { readonly known: Reservation; readonly version: string },
    batch: KeyedBatch,
    append: Append,
  ): Promise<Posted | null> {
    if (known.done) return postedOf(known);
    if (unused.has(known.first)) return null;
    const found = await idsOnBus(bus, batch.log, known, settle_ms);
    if (found.size < known.count) for (const id of await idsInStore(store, batch.log, known)) found.add(id);
    if (found.size < known.count) {
      const left_ms = acceptedAt(known.first) + settle_ms - now();
      if (settle_ms > 0 && left_ms > 0) throw stillInProgress(Math.ceil(left_ms / 1000));
      if (found.size === 0) return null;
      // A batch that took several requests may be there in part; what is there is not stored again.
      await append({ first: known.first, created: known.created });
      // Deletions made since are appended again: a deletion must outlive, and so follow, its event.
      const ids = Array.from({ length: known.count }, (_, n) => nthId(known.first, n));
      await deletions.append(await store.deletionsAmong(batch.log, ids));
    }
    void markDone(name, known, version);
    return postedOf(known);
  }

  async function appendNew(name: string, batch: KeyedBatch, append: Append, replaced: string | null): Promise<Posted> {
    const { hash, count, read_ms, trusted_ms } = batch;
    let reservation: Reservation | null = null;
    let written: Promise<string | null> = Promise.resolve(null);
    const first = await append({
      reserve: async (first, created) => {
        reservation = { hash, first, created, count, read_ms, trusted_ms, done: false };
        const document = documentOf(reservation);
        written = (
          replaced === null ? documents.create(name, document) : documents.replace(name, document, replaced)
        ).then((result) => (result.kind === "done" ? result.version : null));
        if ((await written) === null) throw new KeyInUse();
      },
      release: () => {
        if (reservation !== null && settle_ms > 0) void unused.free(name, reservation.first, written);
      },
    });
    const version = await written;
    if (reservation !== null && version !== null) void markDone(name, reservation, version);
    return { first, read_ms, trusted_ms };
  }

  /**
   * Appends the batch under new ids and replaces a reservation that cannot be completed. If another
   * process replaced it first, that attempt is still running.
   */
  async function appendReplacing(name: string, batch: KeyedBatch, append: Append, version: string): Promise<Posted> {
    try {
      return await appendNew(name, batch, append, version);
    } catch (error) {
      throw error instanceof KeyInUse ? stillInProgress(RETRY_AFTER_S) : error;
    }
  }

  /** Marks a reservation as done. It saves repeats the search on the bus; nothing awaits it. */
  async function markDone(name: string, reservation: Reservation, version: string): Promise<void> {
    try {
      await documents.replace(name, documentOf({ ...reservation, done: true }), version);
    } catch (error) {
      log.debug({ err: error }, "an idempotency key could not be marked as done");
    }
  }

  return {
    post(batch, append) {
      const name = nameOf(`${batch.log}\n${batch.apiKey}\n${batch.key}`);
      const running = inProgress.get(name);
      if (running !== undefined) return running.hash === batch.hash ? running.posted : Promise.reject(keyReused());
      const posted = attempt(name, batch, append).finally(() => inProgress.delete(name));
      inProgress.set(name, { hash: batch.hash, posted });
      return posted;
    },
  };
}

/** Returns the name of the document of a key. */
function nameOf(key: string): string {
  return createHash("sha256").update(key).digest("base64url");
}

/** The key is in use. */
class KeyInUse extends Error {}

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

function postedOf({ first, read_ms, trusted_ms }: Reservation): Posted {
  return { first, read_ms, trusted_ms };
}

/** Finds the ids of a reservation that are on the bus. */
async function idsOnBus(
  bus: Pick<Bus, "read">,
  log: LogKey,
  { first, count, created }: Reservation,
  settle_ms: number,
): Promise<Set<EventId>> {
  // The bus has its own clock: the host's, a broker's, or the clock that ids are made from.
  const [earliest_ms, latest_ms] = [Math.min(acceptedAt(first), created), Math.max(acceptedAt(first), created)];
  const isOfBatch = rangeOf(first, count);
  const found = new Set<EventId>();
  const bounds = { maxRecords: SEARCH_RECORDS, maxBytes: SEARCH_BYTES, signal: AbortSignal.timeout(SEARCH_TIMEOUT_MS) };
  try {
    for await (const records of bus.read({ topic: "events", since: earliest_ms - SKEW_MS, ...bounds })) {
      for (const { key, value, appended } of records) {
        if (key !== log) continue;
        // Records of a log are in one partition, in order.
        if (appended > latest_ms + settle_ms + SKEW_MS) return found;
        // Ids assigned together share their time prefix, so most records need not be decoded.
        if (!value.includes(first.slice(0, 11))) continue;
        for (const line of decodeRecord(value))
          if (line.kind === "event" && isOfBatch(line.event.id)) found.add(line.event.id);
      }
      if (found.size === count) break;
    }
  } catch (error) {
    if (!bounds.signal.aborted) throw error;
    throw stillInProgress(RETRY_AFTER_S, error);
  }
  return found;
}

/**
 * Finds the ids of a reservation that are in the store, at most 10,000. The bus may have removed
 * events that the store holds. Expired and refused events are in neither, and are posted again.
 */
async function idsInStore(
  store: Pick<Store, "deletionsAmong" | "rows">,
  log: LogKey,
  { first, count }: Reservation,
): Promise<EventId[]> {
  const rows = await store.rows({
    kind: "list",
    from: { kind: "events" },
    logs: [log],
    where: {
      kind: "and",
      conditions: [
        { kind: "accepted-after", id: firstIdAt(acceptedAt(first) - 1) },
        { kind: "not", condition: { kind: "accepted-after", id: nthId(first, count - 1) } },
      ],
    },
    sort: [],
    skip: 0,
    take: MOST_ROWS,
    columns: ["id"],
  });
  const ids = Array.from({ length: count }, (_, n) => nthId(first, n));
  const deleted = await store.deletionsAmong(log, ids);
  return [
    ...rows.map(({ id }) => id).filter(rangeOf(first, count)),
    ...deleted.flatMap(({ event, alertOf }) => (alertOf === null ? event : [])),
  ];
}

function rangeOf(first: EventId, count: number): (id: EventId) => boolean {
  const last = nthId(first, count - 1);
  const process = first.slice(16);
  return (id) => id.endsWith(process) && id >= first && id <= last;
}

function keyReused(): LoggiaError {
  return new LoggiaError(
    "conflict",
    "The Idempotency-Key was already used with this API key for a different body; each batch needs its own key",
  );
}

/** @param retryAfter_s when the outcome of the earlier request is known, as far as this can tell */
function stillInProgress(retryAfter_s: number, cause?: unknown): LoggiaError {
  return new LoggiaError(
    "bus_unavailable",
    `An earlier request with this Idempotency-Key may still be in progress; try again in ${retryAfter_s} s`,
    { retryAfter_s, cause },
  );
}
