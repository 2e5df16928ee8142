import { createHash } from "node:crypto";
import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import type { DeletionLog } from "../bus/deletions.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import { acceptedAt, type EventId, nthId } from "../events/id.ts";
import { decodeRecord } from "../events/record.ts";
import type { IdempotencyStore } from "./idempotency-store.ts";
import { KEY_LIFE_MS } from "./idempotency-store.ts";
import type { Store } from "../store/store.ts";
import type { Reserve } from "./write-coalescer.ts";

export type IdempotencyOptions = {
  readonly documents: Pick<IdempotencyStore, "create" | "replace" | "read">;
  readonly bus: Pick<Bus, "read">;
  readonly store: Pick<Store, "deletionsAmong">;
  readonly deletions: DeletionLog;
  /**
   * How long after its ids were given an append may still reach the bus, whatever became of whoever
   * sent it: only then "it is not there" is an answer. 0 where no other process appends, and an
   * append that failed is known to be undone.
   */
  readonly settle_ms: number;
  readonly log: Logger;
  /** The time that is believed. Default: the host's clock */
  readonly now?: () => number;
};

/** A batch under a key. `hash` is of all that decides what it becomes. */
export type KeyedBatch = {
  readonly log: LogKey;
  /** The id of the API key that it came with, to which the key belongs. */
  readonly apiKey: string;
  readonly key: string;
  readonly hash: string;
  readonly count: number;
  /** The latest moment that it may have been read at, by which its times are judged. */
  readonly read_ms: number;
  /** The same moment by the time that the service believes. */
  readonly believed_ms: number;
};

/** Where the batch stands on the bus. Its moments are of the attempt that brought it there. */
export type Posted = Pick<KeyedBatch, "read_ms" | "believed_ms"> & { readonly first: EventId };

/**
 * How a batch is appended: with new ids, which are reserved first, or with those it was given
 * before. Resolves with the first id.
 */
export type Append = (
  ids: { readonly reserve: Reserve } | { readonly first: EventId; readonly created: number },
) => Promise<EventId>;

/** Sees to it that a batch which comes again under its key is stored once. */
export type Idempotency = {
  /**
   * @throws LoggiaError `conflict` where the key was used for another body; `bus_unavailable` where
   * an earlier attempt may still be under way; and what `append` throws
   */
  post(batch: KeyedBatch, append: Append): Promise<Posted>;
};

/** What lies under a key. `created` is the moment of its events that have none of their own. */
type Reservation = Posted & {
  readonly created: number;
  readonly hash: string;
  readonly count: number;
  readonly done: boolean;
};

/** How far the clocks of brokers and posting processes may differ. */
const SKEW_MS = 10_000;
const LOOK_TIMEOUT_MS = 20_000;
const LOOK_RECORDS = 500;
const LOOK_BYTES = 4 * 1024 * 1024;
const RETRY_AFTER_S = 5;

/**
 * A batch's ids are reserved under its key before it is appended, and the reservation is marked as
 * done once it is on the bus. A repeat
 *
 * - of one that is under way in this process waits for it;
 * - of one that is done is answered from the reservation;
 * - of any other looks on the bus for the ids. Where they are not, and can't come any more, the
 *   batch gets new ids: events with ids of long ago would appear behind pollers that have gone on.
 */
export function createIdempotency(options: IdempotencyOptions): Idempotency {
  const { documents, bus, store, deletions, settle_ms, log, now = Date.now } = options;
  const underWay = new Map<string, { readonly hash: string; readonly posted: Promise<Posted> }>();

  async function attempt(name: string, batch: KeyedBatch, append: Append): Promise<Posted> {
    const earlier = await repeatOfEarlierRelease(batch, append);
    if (earlier !== null) return earlier;
    try {
      return await appendNew(name, batch, append, null);
    } catch (error) {
      if (!(error instanceof Taken)) throw error;
    }
    const found = await documents.read(name);
    if (found === null || found.body === null) throw unsettled();
    const known = reservationOf(found.body);
    if (isOver(known)) return await replaced(name, batch, append, found.version);
    if (known.hash !== batch.hash) throw otherBody();
    const posted = await postedBefore(name, { known, version: found.version }, batch, append);
    return posted ?? (await replaced(name, batch, append, found.version));
  }

  /**
   * Earlier releases kept a key for its log, not for the API key: what they stored is found there
   * for a day after the upgrade. Another body under that key is another producer's, and no
   * conflict. Delete this in the release after next.
   */
  async function repeatOfEarlierRelease(batch: KeyedBatch, append: Append): Promise<Posted | null> {
    const name = nameOf(`${batch.log}\n${batch.key}`);
    const found = await documents.read(name);
    if (found === null || found.body === null) return null;
    const known = reservationOf(found.body);
    if (isOver(known) || known.hash !== batch.hash) return null;
    return await postedBefore(name, { known, version: found.version }, batch, append);
  }

  function isOver({ believed_ms }: Reservation): boolean {
    return now() - believed_ms > KEY_LIFE_MS;
  }

  /**
   * Where the batch stands that an earlier attempt brought to the bus, in whole or in part; null
   * where it did not.
   */
  async function postedBefore(
    name: string,
    { known, version }: { readonly known: Reservation; readonly version: string },
    batch: KeyedBatch,
    append: Append,
  ): Promise<Posted | null> {
    if (known.done) return postedOf(known);
    const onBus = await countOnBus(bus, batch.log, known, settle_ms);
    if (onBus < known.count) {
      if (settle_ms > 0 && now() < acceptedAt(known.first) + settle_ms) throw unsettled();
      if (onBus === 0) return null;
      // Part of it: a batch that took the bus more than one request. What is there already is not stored again.
      await append({ first: known.first, created: known.created });
      // Those of them that were deleted since: a deletion must live as long as what it deletes, and
      // so lie behind it.
      const ids = Array.from({ length: known.count }, (_, n) => nthId(known.first, n));
      await deletions.append(await store.deletionsAmong(batch.log, ids));
    }
    void mark(name, known, version);
    return postedOf(known);
  }

  async function appendNew(name: string, batch: KeyedBatch, append: Append, over: string | null): Promise<Posted> {
    const { hash, count, read_ms, believed_ms } = batch;
    let reservation: Reservation | null = null;
    let version = "";
    const first = await append({
      reserve: async (first, created) => {
        reservation = { hash, first, created, count, read_ms, believed_ms, done: false };
        const written =
          over === null ? documents.create(name, reservation) : documents.replace(name, reservation, over);
        const result = await written;
        if (result.kind === "conflict") throw new Taken();
        version = result.version;
      },
    });
    if (reservation !== null) void mark(name, reservation, version);
    return { first, read_ms, believed_ms };
  }

  /**
   * Under new ids, in place of a reservation that leads nowhere. Where another process was faster,
   * its attempt is under way.
   */
  async function replaced(name: string, batch: KeyedBatch, append: Append, version: string): Promise<Posted> {
    try {
      return await appendNew(name, batch, append, version);
    } catch (error) {
      throw error instanceof Taken ? unsettled() : error;
    }
  }

  /** Only spares later repeats the look on the bus: so nobody waits for it. */
  async function mark(name: string, reservation: Reservation, version: string): Promise<void> {
    try {
      await documents.replace(name, { ...reservation, done: true }, version);
    } catch (error) {
      log.debug({ err: error }, "a batch's key could not be marked as done");
    }
  }

  return {
    post(batch, append) {
      const name = nameOf(`${batch.log}\n${batch.apiKey}\n${batch.key}`);
      const running = underWay.get(name);
      if (running !== undefined) return running.hash === batch.hash ? running.posted : Promise.reject(otherBody());
      const posted = attempt(name, batch, append).finally(() => underWay.delete(name));
      underWay.set(name, { hash: batch.hash, posted });
      return posted;
    },
  };
}

/** The name of the document that stands for a key. */
function nameOf(key: string): string {
  return createHash("sha256").update(key).digest("base64url");
}

/** The key is in use. */
class Taken extends Error {}

/** Reservations of releases before this one have one moment for all. */
function reservationOf(body: Readonly<Record<string, unknown>>): Reservation {
  const known = body as Omit<Reservation, "created" | "believed_ms"> & Partial<Reservation>;
  return { created: acceptedAt(known.first), believed_ms: known.read_ms, ...known };
}

function postedOf({ first, read_ms, believed_ms }: Reservation): Posted {
  return { first, read_ms, believed_ms };
}

/** How many of a reservation's ids are on the bus. */
async function countOnBus(
  bus: Pick<Bus, "read">,
  log: LogKey,
  { first, count, created }: Reservation,
  settle_ms: number,
): Promise<number> {
  // A bus has a clock of its own: that of the host, of a broker, or the one that ids go by.
  const [earliest_ms, latest_ms] = [Math.min(acceptedAt(first), created), Math.max(acceptedAt(first), created)];
  const isOurs = rangeOf(first, count);
  const found = new Set<EventId>();
  const bounds = { maxRecords: LOOK_RECORDS, maxBytes: LOOK_BYTES, signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) };
  try {
    for await (const records of bus.read({ topic: "events", since: earliest_ms - SKEW_MS, ...bounds })) {
      for (const { key, value, appended } of records) {
        if (key !== log) continue;
        // A log's records lie in one partition, in order.
        if (appended > latest_ms + settle_ms + SKEW_MS) return found.size;
        // Ids given at once agree in their moment: most records need not be decoded.
        if (!value.includes(first.slice(0, 11))) continue;
        for (const line of decodeRecord(value))
          if (line.kind === "event" && isOurs(line.event.id)) found.add(line.event.id);
      }
      if (found.size === count) break;
    }
  } catch (error) {
    if (!bounds.signal.aborted) throw error;
    throw unsettled(error);
  }
  return found.size;
}

function rangeOf(first: EventId, count: number): (id: EventId) => boolean {
  const last = nthId(first, count - 1);
  const process = first.slice(16);
  return (id) => id.endsWith(process) && id >= first && id <= last;
}

function otherBody(): LoggiaError {
  return new LoggiaError(
    "conflict",
    "This API key used the Idempotency-Key for another body; each batch needs a key of its own",
  );
}

function unsettled(cause?: unknown): LoggiaError {
  return new LoggiaError(
    "bus_unavailable",
    "An earlier attempt with this Idempotency-Key may still be under way; try again in a few seconds",
    { retryAfter_s: RETRY_AFTER_S, cause },
  );
}
