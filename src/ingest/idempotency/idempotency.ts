import type { Bus } from "../../bus/bus.ts";
import type { DeletionLog } from "../../bus/deletions.ts";
import { LateAppend, LoggiaError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import { acceptedAt, type EventId, firstIdAt, nthId } from "../../events/id.ts";
import { decodeRecord } from "../../events/record.ts";
import { KEY_LIFE_MS } from "./idempotency-store.ts";
import { nameOfText } from "./key-record.ts";
import type { Attempt, KeyedBatch, KeyReservation, Reservations, Standing } from "./reservations.ts";
import type { Store } from "../../store/store.ts";
import type { Reserve } from "./post-ids.ts";

export type IdempotencyOptions = {
  readonly reservations: Reservations;
  readonly bus: Pick<Bus, "read" | "offsetsAt">;
  readonly store: Pick<Store, "deletionsAmong" | "rows">;
  readonly deletions: DeletionLog;
  /**
   * Time in milliseconds after the assignment of ids in which an append may still reach the bus,
   * even if the process that sent it has stopped. A batch that is not found counts as absent only
   * later. 0 if no other process appends and a failed append is known to be undone.
   */
  readonly settle_ms: number;
  /** The trusted clock. Default: the host's clock */
  readonly now?: () => number;
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

/** Largest difference between the clocks of brokers and posting processes, in milliseconds. */
const SKEW_MS = 10_000;
const SEARCH_TIMEOUT_MS = 20_000;
const SEARCH_RECORDS = 500;
const SEARCH_BYTES = 4 * 1024 * 1024;
/** Most rows of one read of the store. */
const MOST_ROWS = 10_000;
const RETRY_AFTER_S = 5;
/** Rounds of reserving a key and reading who has it, before a post is refused. */
const MOST_ROUNDS = 4;

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
  const { reservations, bus, store, deletions, settle_ms, now = Date.now } = options;
  const inProgress = new Map<string, { readonly hash: string; readonly posted: Promise<Posted> }>();

  async function attempt(name: string, batch: KeyedBatch, append: Append): Promise<Posted> {
    let replaced: string | null = null;
    for (let round = 1; round <= MOST_ROUNDS; round++) {
      try {
        return await appendNew(name, batch, append, replaced);
      } catch (error) {
        if (!(error instanceof KeyInUse)) throw error;
      }
      const standing = await reservations.find(name);
      const posted = standing === null ? null : await answerRepeat(standing, batch, append);
      if (posted !== null) return posted;
      replaced = standing?.version ?? null;
    }
    throw stillInProgress(RETRY_AFTER_S);
  }

  /**
   * Returns the position of a batch that an earlier attempt appended, in whole or in part; null if
   * it appended nothing, or is forgotten.
   */
  async function answerRepeat(standing: Standing, batch: KeyedBatch, append: Append): Promise<Posted | null> {
    const { reservation: known } = standing;
    if (known === null || now() - known.trusted_ms > KEY_LIFE_MS) return null;
    if (known.hash !== batch.hash) throw keyReused();
    if (known.done) return postedOf(known);
    // Judged before the search, which sees what is on the bus when it begins.
    const left_ms = acceptedAt(known.first) + settle_ms - now();
    const isRunning = settle_ms > 0 && left_ms > 0;
    const found = await idsOnBus(bus, batch.log, known, settle_ms);
    if (found.size < known.count && !isRunning && !(await reachesBackTo(bus, known)))
      for (const id of await idsInStore(store, batch.log, known)) found.add(id);
    if (found.size < known.count) {
      if (isRunning) throw stillInProgress(Math.ceil(left_ms / 1000));
      if (found.size === 0) return null;
      // A batch that took several requests may be there in part; what is there is not stored again.
      await append({ first: known.first, created: known.created });
      // Deletions made since are appended again: a deletion must outlive, and so follow, its event.
      const ids = Array.from({ length: known.count }, (_, n) => nthId(known.first, n));
      await deletions.append(await store.deletionsAmong(batch.log, ids));
    }
    standing.markDone();
    return postedOf(known);
  }

  async function appendNew(name: string, batch: KeyedBatch, append: Append, replaced: string | null): Promise<Posted> {
    const { hash, count, read_ms, trusted_ms } = batch;
    let reserved: Attempt | null = null;
    const reserve: Reserve = async (first, created) => {
      const reservation: KeyReservation = { hash, first, created, count, read_ms, trusted_ms, done: false };
      reserved = reservations.reserve(name, reservation, replaced);
      if (!(await reserved.isReserved)) throw new KeyInUse();
    };
    const made = (): Attempt | null => reserved;
    const release = (): void => made()?.free();
    try {
      const first = await append({ reserve, release });
      made()?.markDone();
      return { first, read_ms, trusted_ms };
    } catch (error) {
      if (error instanceof LateAppend) void error.isStored.then((isStored) => isStored && made()?.markDone());
      throw error;
    }
  }

  return {
    post(batch, append) {
      const name = nameOfText(`${batch.log}\n${batch.apiKey}\n${batch.key}`);
      const running = inProgress.get(name);
      if (running !== undefined) return running.hash === batch.hash ? running.posted : Promise.reject(keyReused());
      const posted = attempt(name, batch, append).finally(() => inProgress.delete(name));
      inProgress.set(name, { hash: batch.hash, posted });
      return posted;
    },
  };
}

/** The key is in use. */
class KeyInUse extends Error {}

function postedOf({ first, read_ms, trusted_ms }: KeyReservation): Posted {
  return { first, read_ms, trusted_ms };
}

/**
 * Returns whether the bus still holds all that it held when the ids were assigned, so that what is
 * not on it was never there. It cannot tell on embedded engines.
 */
async function reachesBackTo(bus: Pick<Bus, "offsetsAt">, { first, created }: KeyReservation): Promise<boolean> {
  if (bus.offsetsAt === undefined) return false;
  const earliest_ms = Math.min(acceptedAt(first), created) - SKEW_MS;
  const [oldest, then] = await Promise.all([bus.offsetsAt("events", 0), bus.offsetsAt("events", earliest_ms)]);
  // A partition is whole if it holds an older record, or its very first one.
  return oldest.entries().every(([partition, offset]) => offset === 0 || (then.get(partition) ?? 0) > offset);
}

/** Finds the ids of a reservation that are on the bus. */
async function idsOnBus(
  bus: Pick<Bus, "read">,
  log: LogKey,
  { first, count, created }: KeyReservation,
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
  { first, count }: KeyReservation,
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
