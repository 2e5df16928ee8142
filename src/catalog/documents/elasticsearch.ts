import type { Client } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { randomBytes } from "node:crypto";

import { withoutFailFast, translateElasticsearchError } from "../../elasticsearch/client.ts";
import { replicaSettings } from "../../elasticsearch/replicas.ts";
import { NEW_INDEX_DELAYS_MS, retryWhile } from "../../elasticsearch/retry.ts";
import { LoggiaError, StartError } from "../../errors.ts";
import type { Body, DocumentCursor, Document, Documents, Version, WriteResult } from "./documents.ts";

const LAYOUT_VERSION = 1;

/**
 * How long, and over how many changes at most, the feed rereads changes. With concurrent writes a
 * later sequence number can become searchable before an earlier one; on a replica the delay is that
 * of replication.
 */
const OVERLAP_MS = 10_000;
const OVERLAP_CHANGES = 1000;

const PAGE_SIZE = 2000;

/** Limits for reads, which may block a request. The client's own are meant for bulk writes. */
const READ_LIMITS = { requestTimeout: 10_000, maxRetries: 1 } as const;
const PING_LIMITS = { requestTimeout: 3000, maxRetries: 1 } as const;

/**
 * A stored document. `write` identifies the attempt, so that a retried write recognises its own
 * result when the first response was lost. `body` is stored, never indexed.
 */
type Stored = { removed: boolean; write: string; body?: Body };

/**
 * Position in the feed. Changes up to sequence number `settled` are not read again. `latest`:
 * largest sequence number seen at `since_ms`.
 */
type FeedPosition = { settled: number; latest: number; since_ms: number };

/** Documents in Elasticsearch, with the state that `operations/marks-file.ts` compares. */
export type ElasticsearchDocuments = Documents & {
  /** `id` changes if the index is recreated. `count` includes removed documents: it never falls. */
  readonly state: () => Promise<{ readonly id: string; readonly count: number }>;
};

/**
 * Opens documents in one index of one shard, `<namespace>-catalog`, whose sequence numbers order
 * all writes. A removed document remains as a marker without a body.
 *
 * Requests address the index by an alias of this index alone. By index name, the first write after
 * a loss would create an empty index, and the process would continue with its copy in memory.
 * docs/decisions/0038-each-elasticsearch-index-is-addressed-by-its-own-alias.md
 *
 * @param options.name suffix of the index name (`catalog`)
 * @param options.replicas replicas of a new index. Default: one if the cluster has a second node
 * @param options.overlap_ms how long the feed rereads changes that become searchable out of order
 * (10 s)
 * @param options.lost called after a lost index was recreated; without it requests keep failing
 * @throws StartError if the index has the layout of a later release; LoggiaError
 * `store_unavailable` if the engine cannot be reached
 */
export async function openElasticsearchDocuments(options: {
  client: Client;
  namespace: string;
  name?: string;
  replicas?: number | undefined;
  overlap_ms?: number;
  lost?: (index: string) => void;
}): Promise<ElasticsearchDocuments> {
  const { client, name = "catalog", replicas, overlap_ms = OVERLAP_MS, lost } = options;
  const index = `${options.namespace}-${name}`;
  const prepare = (): Promise<string> =>
    translated(index, () => withoutFailFast(() => prepareIndex(client, index, replicas)));
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
    // A search rather than a cluster call, as it fails if the catalog's own shard is unavailable.
    ping: () =>
      run(async (alias) => {
        await client.search({ index: alias, size: 0, allow_partial_search_results: false }, PING_LIMITS);
      }),
    state: () =>
      translated(index, async () => {
        // Without the refresh, a shard copy refreshed earlier could report a lower count.
        await client.indices.refresh({ index }, READ_LIMITS);
        const { count } = await client.count({ index }, READ_LIMITS);
        return { id: await identityOf(client, index), count };
      }),
    async [Symbol.asyncDispose]() {},
  };
}

/** Creates the index unless it exists. @returns the alias of this one index */
async function prepareIndex(client: Client, index: string, replicas: number | undefined): Promise<string> {
  try {
    await client.indices.create({
      index,
      settings: { number_of_shards: 1, ...replicaSettings(replicas) },
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
  if (uuid === undefined) throw new Error(`Elasticsearch returned no UUID of the index ${index}`);
  return uuid;
}

async function create(client: Client, index: string, id: string, body: Body): Promise<WriteResult> {
  const stored: Stored = { removed: false, write: nameAttempt(), body };
  const first = await sendWrite(client, index, id, stored, () =>
    client.create({ index, id, document: stored, require_alias: true }),
  );
  if (first.kind === "done") return first;
  const found = await get(client, index, id);
  if (found === null || found.document.body !== null) return first;
  return write(client, index, id, stored, found.document.version);
}

function write(client: Client, index: string, id: string, stored: Stored, expected: Version): Promise<WriteResult> {
  const { term, seq } = parseVersion(expected);
  return sendWrite(client, index, id, stored, () =>
    client.index({ index, id, document: stored, if_seq_no: seq, if_primary_term: term, require_alias: true }),
  );
}

type WriteAnswer = { _seq_no?: number; _primary_term?: number };

/**
 * Sends one write and returns its outcome. A conflict with itself, when the response was lost and
 * the client retried, counts as success.
 */
async function sendWrite(
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
 * Whether the shard is not readable yet. After an index is created, maybe by another process, this
 * takes a moment.
 */
function isNotReadableYet(error: unknown): boolean {
  return error instanceof errors.ResponseError && error.message.includes("no_shard_available");
}

/** Reads a document by id, which returns the newest write even before it is searchable. */
async function get(client: Client, index: string, id: string): Promise<{ document: Document; write: string } | null> {
  const read = () => client.get<Stored>({ index, id }, { ...READ_LIMITS, ignore: [404] });
  const answer = await retryWhile(isNotReadableYet, NEW_INDEX_DELAYS_MS, read);
  // A 404 response without `found` means that the index, not the document, is missing.
  if (answer.found === undefined) throw new IndexGone(index);
  const { found, _source: stored } = answer;
  if (!found || stored === undefined) return null;
  return { document: { id, version: versionOf(answer), body: stored.body ?? null }, write: stored.write };
}

/**
 * Reads all changes above the cursor's settled sequence number, oldest first. It refreshes the
 * index first, so that writes need not wait for a refresh and every acknowledged write is found. A
 * refresh without new writes is cheap.
 */
async function changes(
  client: Client,
  index: string,
  since: DocumentCursor | null,
  overlap_ms: number,
): Promise<{ documents: Document[]; cursor: DocumentCursor }> {
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
        // A partial result would look like a feed without changes.
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
  return { documents: newestOfEach(documents), cursor: JSON.stringify(next) as DocumentCursor };
}

/**
 * Deletes, in steps, documents last written with a sequence number up to `settled`. A document that
 * is rewritten meanwhile stays.
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

/** Computes the next position. `settled` moves to `latest` once the overlap has elapsed. */
function advance(position: FeedPosition | null, last: number, now_ms: number, overlap_ms: number): FeedPosition {
  const farthest = last - OVERLAP_CHANGES;
  if (position === null) return { settled: Math.max(-1, farthest), latest: last, since_ms: now_ms };
  if (now_ms - position.since_ms < overlap_ms) return { ...position, settled: Math.max(position.settled, farthest) };
  return { settled: Math.max(position.latest, farthest), latest: Math.max(position.latest, last), since_ms: now_ms };
}

/** Keeps the newest version of each document: one written during the read is on two pages. */
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
 * Formats a version. The term precedes the sequence number because after a failover unacknowledged
 * sequence numbers may be reused under a higher term.
 */
function versionOf(
  answer: WriteAnswer | { _seq_no?: number | undefined; _primary_term?: number | undefined },
): Version {
  const { _seq_no, _primary_term } = answer;
  if (_seq_no === undefined || _primary_term === undefined)
    throw new Error("Elasticsearch returned no sequence number");
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

/** The opened index no longer exists, though a new index of the same name may. */
class IndexGone extends LoggiaError {
  constructor(index: string, cause?: unknown) {
    super("store_unavailable", `The Elasticsearch index ${index} was removed or recreated`, { cause });
  }
}
