import type { Client } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../errors.ts";
import { CREATED_AHEAD_MS, groupExpiry } from "../expiry.ts";
import type { Expired } from "../expiry.ts";
import type { Expiry } from "../store.ts";
import type { Query } from "./compile.ts";
import type { Names } from "./mapping.ts";
import { refresh } from "./people.ts";
import { ANY_ORDER, atOneMoment, scan, searcherOf, totalOf } from "./scan.ts";
import { deleteOperation, writeBulk } from "./write.ts";
import type { Operation } from "./write.ts";

/** Documents deleted in one request. */
const STEP = 1000;
const MAX_LOGS = 10_000;
/** After each step, the cluster has at least as long for others as the step took. */
const REST_LEAST_MS = 20;
/** With more different moments than this, what stays can't be said in one query: then documents go one by one. */
const MAX_MOMENTS = 500;
const ATTEMPTS = 5;
const BACK_OFF_MS = 500;

/**
 * Deletes what has expired: whole months of which nothing may stay, and of others document by document.
 * @returns how many events and visits went
 */
export async function deleteExpired(
  client: Client,
  names: Names,
  expiry: Expiry,
  signal?: AbortSignal,
): Promise<number> {
  const groups = groupExpiry(expiry, MAX_LOGS);
  let count = 0;
  for (const alias of [names.events, names.visits, names.alerts]) {
    signal?.throwIfAborted();
    const dropped = await dropMonths(client, alias, groups, expiry.markersBefore);
    if (alias !== names.alerts) count += dropped;
  }
  for (const group of groups) {
    count += await deleteHits(client, names.events, isExpired(group), signal);
    count += await deleteHits(client, names.visits, isExpired(group), signal);
    // After their events: whoever bookmarks one meanwhile looks once more whether it is still there.
    await refresh(client, names.bookmarks);
    await deleteHits(client, names.bookmarks, isExpired(group), signal);
    await deleteHits(client, names.alerts, isExpired(group), signal);
  }
  return count;
}

function isExpired({ logs, before }: Expired): Query {
  return { bool: { filter: [{ terms: { log: [...logs] } }, { range: { created: { lt: before } } }] } };
}

const IS_NO_MARKER: Query = { exists: { field: "log" } };

/** Deletes all that a query finds now, in steps with rests. */
async function deleteHits(client: Client, indices: string, query: Query, signal?: AbortSignal): Promise<number> {
  let count = 0;
  try {
    await atOneMoment(client, indices, async (search) => {
      let start_ms = performance.now();
      for await (const hits of scan(search, { query, sort: ANY_ORDER, batch: STEP, source: false })) {
        signal?.throwIfAborted();
        await deleteAll(
          client,
          hits.map(({ _index: index, _id: id }) => deleteOperation(index, id ?? "")),
        );
        count += hits.length;
        await sleep(Math.max(REST_LEAST_MS, performance.now() - start_ms), undefined, { signal });
        start_ms = performance.now();
      }
    });
  } catch (error) {
    // Another process has dropped a month that was being looked through: what is left is found the next time.
    if (!isGone(error)) throw error;
  }
  return count;
}

/** @throws LoggiaError `store_unavailable` where some are still there after a while */
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
      throw new LoggiaError("store_unavailable", `Elasticsearch did not delete what has expired: ${reason}`);
    }
    left = failed.map((i) => left[i]!);
    await sleep(BACK_OFF_MS * 2 ** attempt);
  }
}

/** Drops months that have ended and hold nothing that may stay. */
async function dropMonths(
  client: Client,
  alias: string,
  groups: readonly Expired[],
  markersBefore: number | null,
): Promise<number> {
  if (groups.length > MAX_MOMENTS) return 0;
  const latest = Math.max(...groups.map(({ before }) => before));
  let count = 0;
  for (const [index, isBlocked] of await monthsOf(client, alias)) {
    const end = endOfMonth(index, alias);
    if (end === null || (end > latest && !isBlocked)) continue;
    const needsMarkers = markersBefore === null || end + CREATED_AHEAD_MS > markersBefore;
    const staying: Query = { bool: { filter: [IS_NO_MARKER], must_not: groups.map(isExpired) } };
    const marker: Query = { bool: { must_not: [IS_NO_MARKER] } };
    const query = needsMarkers ? { bool: { should: [staying, marker], minimum_should_match: 1 } } : staying;
    count += await dropUnless(client, index, query, isBlocked);
  }
  return count;
}

/** The months of an alias, each with whether it takes no writes: whoever left it so was interrupted while dropping it, or is at it. */
async function monthsOf(client: Client, alias: string): Promise<Map<string, boolean>> {
  const answer = await client.indices.getSettings(
    { index: `${alias}-*`, name: "index.blocks.write", flat_settings: true, ignore_unavailable: true },
    { ignore: [404] },
  );
  const aliased = await client.indices.getAlias({ name: alias }, { ignore: [404] });
  const blocks = answer as Record<string, { settings?: Record<string, unknown> }>;
  const isBlocked = (index: string): boolean => blocks[index]?.settings?.["index.blocks.write"] === "true";
  return new Map(Object.keys(aliased).map((index) => [index, isBlocked(index)]));
}

/** The first moment after the month that an index's name tells. */
function endOfMonth(index: string, alias: string): number | null {
  const [, year, month] = /^-(\d{4})\.(\d{2})$/.exec(index.slice(alias.length)) ?? [];
  return year === undefined || !index.startsWith(alias) ? null : Date.UTC(Number(year), Number(month));
}

/**
 * Drops an index unless a query finds something in it. An event that comes late might be on its way: so the index first takes no more writes, which waits for
 * those in flight, and is looked through once more. A writer that meets it so tries again, and then makes the index anew.
 */
async function dropUnless(client: Client, index: string, query: Query, isBlocked: boolean): Promise<number> {
  try {
    if (!isBlocked && (await finds(client, index, query))) return 0;
    await client.indices.addBlock({ index, block: "write" });
    let dropped = false;
    try {
      await refresh(client, index);
      if (await finds(client, index, query)) return 0;
      const { count } = await client.count({ index, query: IS_NO_MARKER });
      await client.indices.delete({ index });
      dropped = true;
      return count;
    } finally {
      if (!dropped) await client.indices.putSettings({ index, settings: { "index.blocks.write": null } });
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
