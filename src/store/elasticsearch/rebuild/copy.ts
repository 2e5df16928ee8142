import type { Client } from "@elastic/elasticsearch";
import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../../errors.ts";
import type { Query } from "../client/queries.ts";
import type { LogKey, StoredEvent } from "../../../events/event.ts";
import { encodeCopy, encodeDocument, MARKER, NO_COLUMNS, toRow } from "../documents/document.ts";
import type { Document } from "../documents/document.ts";
import type { Names } from "../documents/mapping.ts";
import { ANY_ORDER, retryTransient, scan, withPointInTimeOnce } from "../client/scan.ts";
import type { Hit } from "../client/scan.ts";
import { encodeVisit, visitFromDocument } from "../documents/visit.ts";
import type { VisitDocument } from "../documents/visit.ts";
import { createOperation, deleteOperation, indexOperation, writeBulk } from "../client/bulk.ts";
import type { EncodedOperation } from "../client/bulk-encoding.ts";
import { refresh } from "../client/indices.ts";

const BATCH = 1000;
const ATTEMPTS = 8;
const BACK_OFF_MS = 100;

export type CopyOptions = {
  readonly client: Client;
  readonly from: string;
  readonly to: string;
  /** Encodes a document for the new index. */
  readonly encode: (document: unknown) => string | Promise<string>;
  readonly signal: AbortSignal;
  /** Whether a document replaces an existing one, because it may have changed since. */
  readonly overwrites?: boolean;
  /** Whether to pause after each step, for as long as it took, to leave the cluster to others. */
  readonly pauses: boolean;
  /** Called after each step. */
  readonly step?: (counts: Copied) => void;
};

/** Numbers of documents read, and of documents that were replaced by markers. */
export type Copied = { readonly compared: number; readonly overwritten: number };

/**
 * Copies the writes to an index after a sequence number. Unless it overwrites, documents are
 * created, so that existing ones stay; markers replace existing documents. Repeating it changes
 * nothing.
 * @returns the number of documents read
 */
export async function copyAfter(options: CopyOptions, after: number): Promise<number> {
  const { client, from, signal, step } = options;
  let compared = 0;
  await refresh(client, from);
  await withPointInTimeOnce(client, from, async (search) => {
    const query: Query = { range: { _seq_no: { gt: after } } };
    let start_ms = performance.now();
    for await (const hits of scan(search, { query, sort: ANY_ORDER, batch: BATCH, source: true })) {
      signal.throwIfAborted();
      const overwritten = await copyHits(options, hits);
      compared += hits.length;
      step?.({ compared: hits.length, overwritten });
      if (options.pauses) await sleep(performance.now() - start_ms, undefined, { signal });
      start_ms = performance.now();
    }
  });
  return compared;
}

/** Copies hits. @returns the number of documents replaced by markers */
async function copyHits(
  { client, to, encode, signal, overwrites = false }: CopyOptions,
  hits: readonly Hit[],
): Promise<number> {
  const markers: string[] = [];
  const operations: ReturnType<typeof createOperation>[] = [];
  for (const { _id: id = "", _source: source } of hits) {
    if ("log" in (source as object)) {
      const encoded = encode(source);
      const write = overwrites ? indexOperation : createOperation;
      operations.push(write(to, id, typeof encoded === "string" ? encoded : await encoded));
      continue;
    }
    markers.push(id);
    operations.push(indexOperation(to, id, MARKER));
  }
  const overwritten = markers.length === 0 ? 0 : (await idsAmong(client, to, markers, "documents")).size;
  await writeAll(client, operations, signal);
  return overwritten;
}

/** Returns which of these ids an index has, as documents only or including markers. */
async function idsAmong(
  client: Client,
  index: string,
  ids: readonly string[],
  which: "documents" | "all",
): Promise<ReadonlySet<string>> {
  const docs = ids.map((id) => ({ _index: index, _id: id }));
  const answer = await retryTransient(() => client.mget<{ log?: string }>({ docs, _source: ["log"] }));
  const found = new Set<string>();
  for (const doc of answer.docs) {
    if ("error" in doc) throw new LoggiaError("store_unavailable", `Elasticsearch could not read ${index}`);
    const { _id: id, _source: source } = doc;
    if (doc.found && (which === "all" || source?.log !== undefined)) found.add(id);
  }
  return found;
}

/** Returns the encoder of a kind, see {@link encodeDocument} and {@link encodeVisit}. */
export function recordEncoder(
  names: Names,
  kind: string,
  columns: (log: LogKey) => Promise<(key: string) => boolean>,
  revise: (event: StoredEvent) => StoredEvent | Promise<StoredEvent>,
): CopyOptions["encode"] {
  switch (kind) {
    case names.visits:
      return (document) => encodeVisit(visitFromDocument(document as VisitDocument));
    case names.events:
      return async (document) => {
        const event = await revise(eventOf(document as Document));
        return encodeDocument(event, event.attributes === null ? NO_COLUMNS : await columns(event.log));
      };
    default:
      // A user's copy keeps the content that it was created with.
      return (document) => encodeCopy(eventOf(document as Document), document as Document);
  }
}

function eventOf(document: Document): StoredEvent {
  return { ...toRow(document), data: document.data ?? null };
}

/** Deletes documents from a copy that the original no longer has. */
export async function prune({ client, from, to, signal }: Omit<CopyOptions, "encode">): Promise<void> {
  await refresh(client, to);
  await withPointInTimeOnce(client, to, async (search) => {
    const query: Query = { match_all: {} };
    for await (const hits of scan(search, { query, sort: ANY_ORDER, batch: BATCH, source: false })) {
      const ids = hits.map(({ _id: id }) => id ?? "");
      const kept = await idsAmong(client, from, ids, "all");
      await writeAll(
        client,
        ids.filter((id) => !kept.has(id)).map((id) => deleteOperation(to, id)),
        signal,
      );
    }
  });
}

/** Writes operations. @throws LoggiaError `store_unavailable` if one is rejected or retries fail */
async function writeAll(client: Client, operations: readonly EncodedOperation[], signal: AbortSignal): Promise<void> {
  let left = operations;
  for (let attempt = 1; left.length > 0; attempt++) {
    const outcomes = await writeBulk(client, left);
    const failure = outcomes.find((outcome) => outcome.kind !== "done");
    if (failure === undefined) return;
    if (failure.kind === "rejected" || attempt === ATTEMPTS) {
      throw new LoggiaError("store_unavailable", `Elasticsearch did not accept all of a copy: ${failure.reason}`);
    }
    left = left.filter((_, i) => outcomes[i]?.kind !== "done");
    await sleep(BACK_OFF_MS * 2 ** attempt, undefined, { signal });
  }
}
