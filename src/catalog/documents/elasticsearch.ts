import type { Client } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { randomBytes } from "node:crypto";

import { outlastSilence, translateElasticsearchError } from "../../elasticsearch/client.ts";
import { NEW_INDEX_DELAYS_MS, retryWhile } from "../../elasticsearch/retry.ts";
import { LoggiaError, StartError } from "../../errors.ts";
import type { Body, Cursor, Document, Documents, Version, WriteResult } from "./documents.ts";

const LAYOUT_VERSION = 1;

/**
 * How long, and how far back at most, the feed reads changes again. Where writes run at the same
 * time, a later sequence number can become searchable before an earlier one, on a replica by the
 * time that replication takes.
 */
const OVERLAP_MS = 10_000;
const OVERLAP_CHANGES = 1000;

const PAGE_SIZE = 2000;

/** Somebody may be waiting for what a read tells; the client's own limits are for bulk writes. */
const READ_LIMITS = { requestTimeout: 10_000, maxRetries: 1 } as const;
const PING_LIMITS = { requestTimeout: 3000, maxRetries: 1 } as const;

/**
 * What is stored. `write` names the attempt, so that a write whose answer was lost recognises
 * itself; `body` is kept, never indexed.
 */
type Stored = { removed: boolean; write: string; body?: Body };

/**
 * `settled`: what is not above it is not read again. `latest`: the largest sequence number that was
 * seen at `since_ms`.
 */
type FeedPosition = { settled: number; latest: number; since_ms: number };

/** Documents of a cluster, and what marks tell of the index that holds them. */
export type ElasticsearchDocuments = Documents & {
  /** `id` tells the index from one made anew; `count` includes removed documents: it never falls. */
  readonly state: () => Promise<{ readonly id: string; readonly count: number }>;
};

/**
 * Documents in one index of one shard, `<namespace>-catalog`: its sequence numbers order all
 * writes. A removed document stays as a marker without a body.
 *
 * Requests name the index by an alias that belongs to this one alone. By its name, the first write
 * after a loss would create an empty index, and a process would go on with what it remembers.
 * docs/decisions/0038-an-index-by-an-alias-of-its-own.md
 *
 * @param options.name the end of the index's name, where it is not the catalog's
 * @param options.overlap_ms how long the feed tells a change again, for changes that become
 * searchable out of order (10 s)
 * @param options.lost called where a lost index was created anew; without it requests go on to fail
 * @throws StartError where the index has a layout of a later release; LoggiaError
 * `store_unavailable` where the engine cannot be reached
 */
export async function openElasticsearchDocuments(options: {
  client: Client;
  namespace: string;
  name?: string;
  overlap_ms?: number;
  lost?: (index: string) => void;
}): Promise<ElasticsearchDocuments> {
  const { client, name = "catalog", overlap_ms = OVERLAP_MS, lost } = options;
  const index = `${options.namespace}-${name}`;
  const prepare = (): Promise<string> => translated(index, () => outlastSilence(() => prepareIndex(client, index)));
  let alias = await prepare();
  const run = async <T>(work: (alias: string) => Promise<T>): Promise<T> => {
    const used = alias;
    try {
      return await translated(index, () => work(used));
    } catch (error) {
      if (!(error instanceof IndexGone) || lost === undefined) throw error;
      const found = await prepare();
      if (found !== alias) lost(index);
      alias = found;
      return await translated(index, () => work(found));
    }
  };
  return {
    create: (id, body) => run((alias) => create(client, alias, id, body)),
    replace: (id, body, expected) =>
      run((alias) => write(client, alias, id, { removed: false, write: nameAttempt(), body }, expected)),
    remove: (id, expected) =>
      run((alias) => write(client, alias, id, { removed: true, write: nameAttempt() }, expected)),
    read: (id) => run(async (alias) => (await get(client, alias, id))?.document ?? null),
    changes: (since) => run((alias) => changes(client, alias, since, overlap_ms)),
    forget: (upTo) => run((alias) => forget(client, alias, (JSON.parse(upTo) as FeedPosition).settled)),
    // A search, not a cluster call: it fails when the catalog's own shard is away.
    ping: () =>
      run(async (alias) => {
        await client.search({ index: alias, size: 0, allow_partial_search_results: false }, PING_LIMITS);
      }),
    state: () =>
      translated(index, async () => {
        // Else a copy of the shard that was refreshed earlier would tell fewer.
        await client.indices.refresh({ index }, READ_LIMITS);
        const { count } = await client.count({ index }, READ_LIMITS);
        return { id: await identityOf(client, index), count };
      }),
    async [Symbol.asyncDispose]() {},
  };
}

/** @returns the alias of this one index */
async function prepareIndex(client: Client, index: string): Promise<string> {
  try {
    await client.indices.create({
      index,
      settings: { number_of_shards: 1, auto_expand_replicas: "0-1" },
      mappings: { dynamic: false, _meta: { layout: LAYOUT_VERSION }, properties: { removed: { type: "boolean" } } },
    });
  } catch (error) {
    if (!(error instanceof errors.ResponseError) || !error.message.includes("resource_already_exists_exception"))
      throw error;
  }
  const mappings = await client.indices.getMapping({ index });
  const { _meta: meta } = mappings[index]?.mappings ?? {};
  const layout: unknown = meta?.["layout"];
  if (layout !== LAYOUT_VERSION) {
    throw new StartError(
      `The index ${index} has layout ${JSON.stringify(layout ?? null)}; this release reads layout ${LAYOUT_VERSION}: ` +
        "start the release that wrote it, or choose another namespace",
    );
  }
  const alias = `${index}.${await identityOf(client, index)}`;
  await client.indices.putAlias({ index, name: alias });
  return alias;
}

async function identityOf(client: Client, index: string): Promise<string> {
  const { [index]: found } = await client.indices.getSettings({ index });
  const { uuid } = found?.settings?.index ?? {};
  if (uuid === undefined) throw new Error(`Elasticsearch told no UUID of ${index}`);
  return uuid;
}

async function create(client: Client, index: string, id: string, body: Body): Promise<WriteResult> {
  const stored: Stored = { removed: false, write: nameAttempt(), body };
  const first = await settle(client, index, id, stored, () =>
    client.create({ index, id, document: stored, require_alias: true }),
  );
  if (first.kind === "done") return first;
  const found = await get(client, index, id);
  if (found === null || found.document.body !== null) return first;
  return write(client, index, id, stored, found.document.version);
}

function write(client: Client, index: string, id: string, stored: Stored, expected: Version): Promise<WriteResult> {
  const { term, seq } = parseVersion(expected);
  return settle(client, index, id, stored, () =>
    client.index({ index, id, document: stored, if_seq_no: seq, if_primary_term: term, require_alias: true }),
  );
}

type WriteAnswer = { _seq_no?: number; _primary_term?: number };

/**
 * What became of one write. A conflict with itself, after an answer was lost and the client tried
 * again, is success.
 */
async function settle(
  client: Client,
  index: string,
  id: string,
  stored: Stored,
  send: () => Promise<WriteAnswer>,
): Promise<WriteResult> {
  try {
    const answer = await send();
    return { kind: "done", version: versionOf(answer) };
  } catch (error) {
    if (!(error instanceof errors.ResponseError) || error.statusCode !== 409) throw error;
    const found = await get(client, index, id);
    return found?.write === stored.write ? { kind: "done", version: found.document.version } : { kind: "conflict" };
  }
}

/**
 * The shard of an index that was made just now, maybe by another process, takes a moment until it
 * can be read.
 */
function isNotReadableYet(error: unknown): boolean {
  return error instanceof errors.ResponseError && error.message.includes("no_shard_available");
}

/** Reads by id, which shows the newest write whether it is searchable yet or not. */
async function get(client: Client, index: string, id: string): Promise<{ document: Document; write: string } | null> {
  const read = () => client.get<Stored>({ index, id }, { ...READ_LIMITS, ignore: [404] });
  const answer = await retryWhile(isNotReadableYet, NEW_INDEX_DELAYS_MS, read);
  // An answer of 404 without `found` does not say "no such document" but "no such index".
  if (answer.found === undefined) throw new IndexGone(index);
  const { found, _source: stored } = answer;
  if (!found || stored === undefined) return null;
  return { document: { id, version: versionOf(answer), body: stored.body ?? null }, write: stored.write };
}

/**
 * Everything above the cursor's settled sequence number, oldest first. Refreshes first, which costs
 * next to nothing where nothing was written: so writes need not wait for one, and what was answered
 * before is found.
 */
async function changes(
  client: Client,
  index: string,
  since: Cursor | null,
  overlap_ms: number,
): Promise<{ documents: Document[]; cursor: Cursor }> {
  const position = since === null ? null : (JSON.parse(since) as FeedPosition);
  const now_ms = Date.now();
  await client.indices.refresh({ index }, READ_LIMITS);
  const documents: Document[] = [];
  let last = position?.settled ?? -1;
  for (;;) {
    const answer = await client.search<Stored>(
      {
        index,
        size: PAGE_SIZE,
        query: {
          bool: {
            filter: [
              { range: { _seq_no: { gt: last } } },
              ...(position === null ? [{ term: { removed: false } }] : []),
            ],
          },
        },
        sort: [{ _seq_no: "asc" }],
        seq_no_primary_term: true,
        track_total_hits: false,
        // Half an answer would look like a quiet feed.
        allow_partial_search_results: false,
      },
      READ_LIMITS,
    );
    for (const { _id, _source, _seq_no, _primary_term } of answer.hits.hits) {
      if (_id === undefined || _source === undefined) continue;
      documents.push({ id: _id, version: versionOf({ _seq_no, _primary_term }), body: _source.body ?? null });
      last = Math.max(last, _seq_no ?? last);
    }
    if (answer.hits.hits.length < PAGE_SIZE) break;
  }
  const next = advance(position, last, now_ms, overlap_ms);
  return { documents: newestOfEach(documents), cursor: JSON.stringify(next) as Cursor };
}

/**
 * Deletes, in steps, what was last written with a sequence number up to `settled`, unless somebody
 * writes it anew meanwhile.
 */
async function forget(client: Client, index: string, settled: number): Promise<number> {
  await client.indices.refresh({ index }, READ_LIMITS);
  let forgotten = 0;
  for (let last = -1; ;) {
    const { hits } = await client.search({
      index,
      size: PAGE_SIZE,
      query: { range: { _seq_no: { gt: last, lte: settled } } },
      sort: [{ _seq_no: "asc" }],
      seq_no_primary_term: true,
      track_total_hits: false,
      allow_partial_search_results: false,
      _source: false,
    });
    if (hits.hits.length === 0) return forgotten;
    last = Math.max(...hits.hits.map(({ _seq_no }) => _seq_no ?? settled));
    const operations = hits.hits.map(({ _id, _seq_no, _primary_term }) => ({
      delete: { _id, if_seq_no: _seq_no, if_primary_term: _primary_term },
    }));
    const { items } = await client.bulk({ index, operations });
    forgotten += items.filter(({ delete: outcome }) => outcome?.status === 200).length;
    if (hits.hits.length < PAGE_SIZE) return forgotten;
  }
}

/** Moves the settled mark once what it moves over has been read for the length of the overlap. */
function advance(position: FeedPosition | null, last: number, now_ms: number, overlap_ms: number): FeedPosition {
  const farthest = last - OVERLAP_CHANGES;
  if (position === null) return { settled: Math.max(-1, farthest), latest: last, since_ms: now_ms };
  if (now_ms - position.since_ms < overlap_ms) return { ...position, settled: Math.max(position.settled, farthest) };
  return { settled: Math.max(position.latest, farthest), latest: Math.max(position.latest, last), since_ms: now_ms };
}

/** A document written while its page was read stands on a later page too. */
function newestOfEach(documents: Document[]): Document[] {
  const newest = new Map(documents.map((document) => [document.id, document]));
  return newest.size === documents.length
    ? documents
    : documents.filter((document) => newest.get(document.id) === document);
}

function nameAttempt(): string {
  return randomBytes(12).toString("base64url");
}

/**
 * Term before sequence number: after a failover, numbers that were never acknowledged may be given
 * again, under a higher term.
 */
function versionOf(
  answer: WriteAnswer | { _seq_no?: number | undefined; _primary_term?: number | undefined },
): Version {
  const { _seq_no, _primary_term } = answer;
  if (_seq_no === undefined || _primary_term === undefined) throw new Error("Elasticsearch told no sequence number");
  return `${String(_primary_term).padStart(8, "0")}.${String(_seq_no).padStart(16, "0")}` as Version;
}

function parseVersion(version: Version): { term: number; seq: number } {
  const [term = "", seq = ""] = version.split(".");
  return { term: Number(term), seq: Number(seq) };
}

async function translated<T>(index: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    if (error instanceof IndexGone) throw new IndexGone(index, error);
    const known = translateElasticsearchError(error);
    if (error instanceof errors.ResponseError && error.statusCode === 404 && known.code === "internal_error") {
      throw new IndexGone(index, error);
    }
    throw known;
  }
}

/** The index that was opened is there no more, though another one of its name may be. */
class IndexGone extends LoggiaError {
  constructor(index: string, cause?: unknown) {
    super("store_unavailable", `Elasticsearch has no index ${index} any more, or one that was made anew`, { cause });
  }
}
