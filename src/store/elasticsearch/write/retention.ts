import type { Client } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../../errors.ts";
import { CREATED_AHEAD_MS, groupExpiry } from "../../expiry.ts";
import type { Expired } from "../../expiry.ts";
import type { Expiry, StorePart } from "../../store.ts";
import type { Query } from "../client/queries.ts";
import { isHeld } from "../client/lock.ts";
import { indexKind, monthAt, placeOfIndex } from "../documents/mapping.ts";
import type { Names } from "../documents/mapping.ts";
import { ANY_ORDER, scan, newSearcher, answerTotal, withPointInTimeOnce, countDocuments } from "../client/scan.ts";
import { deleteOperation, writeBulk } from "../client/bulk.ts";
import type { EncodedOperation } from "../client/bulk-encoding.ts";
import { IS_DOCUMENT } from "../client/queries.ts";
import { block, readIndices, unblock, refresh, storePart } from "../client/indices.ts";
import type { Index } from "../client/indices.ts";

/** Number of documents deleted per request. */
const STEP = 1000;
const MAX_LOGS = 10_000;
/** Least pause after a step. The pause is as long as the step took, to limit the cluster's load. */
const MIN_PAUSE_MS = 20;
/** Maximum number of bounds in one query. With more, documents are deleted one by one. */
const MAX_GROUPS = 500;
const ATTEMPTS = 5;
const BACK_OFF_MS = 500;

/**
 * Deletes expired data: whole months if none of their documents is kept, otherwise single
 * documents. During a rebuild it does nothing and leaves the work to the next run.
 * @returns the number of events and visits deleted
 */
export async function deleteExpired(
  context: Pick<Removal, "client" | "names" | "beforeRemoval">,
  expiry: Expiry,
  signal?: AbortSignal,
): Promise<number> {
  const { client, names } = context;
  const removal: Removal = {
    ...context,
    count: 0,
    throwIfStopped: async () => {
      signal?.throwIfAborted();
      if (await isHeld(client, names.rebuild)) throw new RebuildInProgress();
    },
  };
  try {
    await removeAll(removal, expiry);
  } catch (error) {
    if (!(error instanceof RebuildInProgress)) throw error;
  }
  return removal.count;
}

type Removal = {
  readonly client: Client;
  readonly names: Names;
  /** Records durably that an index is about to be removed, so that it is not taken for lost. */
  readonly beforeRemoval: (part: StorePart) => Promise<void>;
  /** Called before each step. @throws to end the run */
  readonly throwIfStopped: () => Promise<void>;
  /** Number of events and visits deleted. */
  count: number;
};

/** Thrown during a rebuild, whose copy might restore deleted documents. */
class RebuildInProgress extends Error {}

async function removeAll(removal: Removal, expiry: Expiry): Promise<void> {
  const { client, names } = removal;
  const groups = groupExpiry(expiry, MAX_LOGS);
  await removal.throwIfStopped();
  for (const alias of [names.events, names.visits, names.alerts]) {
    await dropMonths(removal, alias, groups, expiry.markersBefore);
  }
  for (const group of groups) {
    await deleteHits(removal, names.events, isExpired(group));
    await deleteHits(removal, names.visits, isExpired(group));
    // Bookmarks are deleted after their events: adding one checks afterwards that the event still
    // exists.
    await refresh(client, names.bookmarks);
    await deleteHits(removal, names.bookmarks, isExpired(group));
    await deleteHits(removal, names.alerts, isExpired(group));
  }
}

function isExpired({ logs, before }: Expired): Query {
  return { bool: { filter: [{ terms: { log: [...logs] } }, { range: { created: { lt: before } } }] } };
}

/** Deletes everything that a query finds now, in steps with pauses. */
async function deleteHits(removal: Removal, alias: string, query: Query): Promise<void> {
  const { client, names } = removal;
  try {
    await withPointInTimeOnce(client, alias, async (search) => {
      let start_ms = performance.now();
      for await (const hits of scan(search, { query, sort: ANY_ORDER, batch: STEP, source: false })) {
        await removal.throwIfStopped();
        await deleteAll(
          client,
          hits.map(({ _index: index, _id: id }) => deleteOperation(placeOfIndex(index), id ?? "")),
        );
        if (alias === names.events || alias === names.visits) removal.count += hits.length;
        await sleep(Math.max(MIN_PAUSE_MS, performance.now() - start_ms));
        start_ms = performance.now();
      }
    });
  } catch (error) {
    // Another process dropped the month during the scan. The next run deletes the rest.
    if (!isGone(error)) throw error;
  }
}

/** Deletes documents. @throws LoggiaError `store_unavailable` if some remain after retries */
async function deleteAll(client: Client, operations: readonly EncodedOperation[]): Promise<void> {
  let left = operations;
  for (let attempt = 1; ; attempt++) {
    const outcomes = await writeBulk(client, left);
    const failed = [...left.keys()].filter((i) => {
      const outcome = outcomes[i]!;
      return outcome.kind !== "done" && !outcome.reason.includes("index_not_found_exception");
    });
    if (failed.length === 0) return;
    if (attempt === ATTEMPTS) {
      const first = outcomes[failed[0]!]!;
      const reason = first.kind === "done" ? "" : first.reason;
      throw new LoggiaError("store_unavailable", `Elasticsearch did not delete all expired documents: ${reason}`);
    }
    left = failed.map((i) => left[i]!);
    await sleep(BACK_OFF_MS * 2 ** attempt);
  }
}

/** Drops months that have ended and contain nothing to keep. */
async function dropMonths(
  removal: Removal,
  alias: string,
  groups: readonly Expired[],
  markersBefore: number | null,
): Promise<void> {
  const { client, names } = removal;
  if (groups.length > MAX_GROUPS) return;
  const latest = Math.max(...groups.map(({ before }) => before));
  const months = (await readIndices(client, names)).filter(
    // What an index without the layout contains cannot be told by a query.
    ({ isServed, lacksLayout, place }) => isServed && !lacksLayout && indexKind(names, place) === alias,
  );
  for (const index of months) {
    const month = monthAt(names, index.place);
    // A blocked index is being dropped by another process, or was when that process was
    // interrupted.
    if (month === null || (month.end > latest && !index.isBlocked)) continue;
    await removal.throwIfStopped();
    const needsMarkers = markersBefore === null || month.end + CREATED_AHEAD_MS > markersBefore;
    const staying: Query = { bool: { filter: [IS_DOCUMENT], must_not: groups.map(isExpired) } };
    const marker: Query = { bool: { must_not: [IS_DOCUMENT] } };
    const query = needsMarkers ? { bool: { should: [staying, marker], minimum_should_match: 1 } } : staying;
    const dropped = await dropUnless(removal, index, query);
    if (alias !== names.alerts) removal.count += dropped;
  }
}

/**
 * Drops an index unless a query finds something in it. A late event might be in flight, so the
 * index is blocked first, which waits for writes in flight, and checked again. A writer that is
 * blocked retries and then creates the index again.
 */
async function dropUnless(removal: Removal, found: Index, query: Query): Promise<number> {
  const { client, names } = removal;
  const { name: index, isBlocked } = found;
  try {
    if (!isBlocked && (await hasHits(client, index, query))) return 0;
    await block(client, [index]);
    let dropped = false;
    try {
      await refresh(client, index);
      if (await hasHits(client, index, query)) return 0;
      const count = await countDocuments(client, index, IS_DOCUMENT);
      await removal.throwIfStopped();
      await removal.beforeRemoval(storePart(names, found));
      await client.indices.delete({ index });
      dropped = true;
      return count;
    } finally {
      if (!dropped) await unblock(client, [index]);
    }
  } catch (error) {
    // Another process has dropped it.
    if (isGone(error)) return 0;
    throw error;
  }
}

async function hasHits(client: Client, index: string, query: Query): Promise<boolean> {
  return answerTotal(await newSearcher(client, index)({ query, size: 0, track_total_hits: 1, terminate_after: 1 })) > 0;
}

function isGone(error: unknown): boolean {
  return error instanceof errors.ResponseError && error.statusCode === 404;
}
