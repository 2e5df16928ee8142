import type { Client } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../../errors.ts";
import { CREATED_AHEAD_MS, groupExpiry } from "../../expiry.ts";
import type { Expired } from "../../expiry.ts";
import type { Expiry, StorePart } from "../../store.ts";
import type { Query } from "../search/compile.ts";
import { countOf, IS_DOCUMENT } from "../rebuild/copy.ts";
import { block, partOf, readIndices, unblock } from "../rebuild/generations.ts";
import type { Index } from "../rebuild/generations.ts";
import { isHeld } from "../rebuild/lock.ts";
import { kindOf, monthAt, placeOfIndex } from "../mapping.ts";
import type { Names } from "../mapping.ts";
import { refresh } from "../annotations.ts";
import { ANY_ORDER, atThisMoment, scan, searcherOf, totalOf } from "../search/scan.ts";
import { deleteOperation, writeBulk } from "./write.ts";
import type { Operation } from "./bulk-encoding.ts";

/** Number of documents deleted per request. */
const STEP = 1000;
const MAX_LOGS = 10_000;
/** Least pause after a step, which is as long as the step took, to leave the cluster to others. */
const REST_LEAST_MS = 20;
/** Maximum number of bounds in one query. With more, documents are deleted one by one. */
const MAX_MOMENTS = 500;
const ATTEMPTS = 5;
const BACK_OFF_MS = 500;

/**
 * Deletes what has expired: whole months if nothing of them is kept, otherwise single documents. It
 * does nothing during a rebuild and leaves the work to the next run.
 * @returns the number of events and visits deleted
 */
export async function deleteExpired(
  context: Pick<Sweep, "client" | "names" | "removing">,
  expiry: Expiry,
  signal?: AbortSignal,
): Promise<number> {
  const { client, names } = context;
  const sweep: Sweep = {
    ...context,
    count: 0,
    goOn: async () => {
      signal?.throwIfAborted();
      if (await isHeld(client, names.rebuild)) throw new StandAside();
    },
  };
  try {
    await sweepAll(sweep, expiry);
  } catch (error) {
    if (!(error instanceof StandAside)) throw error;
  }
  return sweep.count;
}

type Sweep = {
  readonly client: Client;
  readonly names: Names;
  /** Records durably that an index is about to be removed, so that it is not taken for lost. */
  readonly removing: (part: StorePart) => Promise<void>;
  /** Called before each step. @throws to end the run */
  readonly goOn: () => Promise<void>;
  /** Number of events and visits deleted. */
  count: number;
};

/** Thrown during a rebuild, whose copy might restore deleted documents. */
class StandAside extends Error {}

async function sweepAll(sweep: Sweep, expiry: Expiry): Promise<void> {
  const { client, names } = sweep;
  const groups = groupExpiry(expiry, MAX_LOGS);
  await sweep.goOn();
  for (const alias of [names.events, names.visits, names.alerts]) {
    await dropMonths(sweep, alias, groups, expiry.markersBefore);
  }
  for (const group of groups) {
    await deleteHits(sweep, names.events, isExpired(group));
    await deleteHits(sweep, names.visits, isExpired(group));
    // Bookmarks come after their events, as adding one checks afterwards that the event still
    // exists.
    await refresh(client, names.bookmarks);
    await deleteHits(sweep, names.bookmarks, isExpired(group));
    await deleteHits(sweep, names.alerts, isExpired(group));
  }
}

function isExpired({ logs, before }: Expired): Query {
  return { bool: { filter: [{ terms: { log: [...logs] } }, { range: { created: { lt: before } } }] } };
}

/** Deletes everything that a query finds now, in steps with pauses. */
async function deleteHits(sweep: Sweep, alias: string, query: Query): Promise<void> {
  const { client, names } = sweep;
  try {
    await atThisMoment(client, alias, async (search) => {
      let start_ms = performance.now();
      for await (const hits of scan(search, { query, sort: ANY_ORDER, batch: STEP, source: false })) {
        await sweep.goOn();
        await deleteAll(
          client,
          hits.map(({ _index: index, _id: id }) => deleteOperation(placeOfIndex(index), id ?? "")),
        );
        if (alias === names.events || alias === names.visits) sweep.count += hits.length;
        await sleep(Math.max(REST_LEAST_MS, performance.now() - start_ms));
        start_ms = performance.now();
      }
    });
  } catch (error) {
    // Another process dropped the month during the scan. The next run deletes the rest.
    if (!isGone(error)) throw error;
  }
}

/** Deletes documents. @throws LoggiaError `store_unavailable` if some remain after retries */
async function deleteAll(client: Client, operations: readonly Operation[]): Promise<void> {
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
  sweep: Sweep,
  alias: string,
  groups: readonly Expired[],
  markersBefore: number | null,
): Promise<void> {
  const { client, names } = sweep;
  if (groups.length > MAX_MOMENTS) return;
  const latest = Math.max(...groups.map(({ before }) => before));
  const months = (await readIndices(client, names)).filter(
    ({ isServed, place }) => isServed && kindOf(names, place) === alias,
  );
  for (const index of months) {
    const month = monthAt(names, index.place);
    // A blocked index is being dropped by another process, or was when that process was
    // interrupted.
    if (month === null || (month.end > latest && !index.isBlocked)) continue;
    await sweep.goOn();
    const needsMarkers = markersBefore === null || month.end + CREATED_AHEAD_MS > markersBefore;
    const staying: Query = { bool: { filter: [IS_DOCUMENT], must_not: groups.map(isExpired) } };
    const marker: Query = { bool: { must_not: [IS_DOCUMENT] } };
    const query = needsMarkers ? { bool: { should: [staying, marker], minimum_should_match: 1 } } : staying;
    const dropped = await dropUnless(sweep, index, query);
    if (alias !== names.alerts) sweep.count += dropped;
  }
}

/**
 * Drops an index unless a query finds something in it. A late event might be in flight, so the
 * index is blocked first, which waits for writes in flight, and checked again. A writer that meets
 * the block retries and then creates the index again.
 */
async function dropUnless(sweep: Sweep, found: Index, query: Query): Promise<number> {
  const { client, names } = sweep;
  const { name: index, isBlocked } = found;
  try {
    if (!isBlocked && (await finds(client, index, query))) return 0;
    await block(client, [index]);
    let dropped = false;
    try {
      await refresh(client, index);
      if (await finds(client, index, query)) return 0;
      const count = await countOf(client, index, IS_DOCUMENT);
      await sweep.goOn();
      await sweep.removing(partOf(names, found));
      await client.indices.delete({ index });
      dropped = true;
      return count;
    } finally {
      if (!dropped) await unblock(client, [index]);
    }
  } catch (error) {
    // Another process was faster.
    if (isGone(error)) return 0;
    throw error;
  }
}

async function finds(client: Client, index: string, query: Query): Promise<boolean> {
  return totalOf(await searcherOf(client, index)({ query, size: 0, track_total_hits: 1, terminate_after: 1 })) > 0;
}

function isGone(error: unknown): boolean {
  return error instanceof errors.ResponseError && error.statusCode === 404;
}
