import type { Client } from "@elastic/elasticsearch";

import type { LogKey } from "../../../events/event.ts";
import type { Document } from "../documents/document.ts";
import { retryTransient } from "./scan.ts";

/** A document in the version that was read. */
export type StoredDocument = { readonly document: Document; readonly seqNo: number; readonly primaryTerm: number };
type SourceFilter = { includes: string[] } | { excludes: string[] };

/** Reads the current document, searchable or not. Returns null if there is none but a marker. */
export async function readStored(
  client: Client,
  index: string,
  id: string,
  filter: SourceFilter,
): Promise<StoredDocument | null> {
  const fields = "includes" in filter ? { _source_includes: filter.includes } : { _source_excludes: filter.excludes };
  const get = () => retryTransient(() => client.get<Partial<Document>>({ index, id, ...fields }, { ignore: [404] }));
  let response = await get();
  // The response for a missing index has no `found`. The index was never created, or a later
  // generation is replacing it and exists by the next request.
  if (response.found === undefined) response = await get();
  const { found, _source: source, _seq_no: seqNo, _primary_term: primaryTerm } = response;
  if (!found || source?.log === undefined || seqNo === undefined || primaryTerm === undefined) return null;
  return { document: source as Document, seqNo, primaryTerm };
}

/** Reads a document as {@link readStored} does, unless it belongs to another log. */
export async function readIn(
  client: Client,
  index: string,
  id: string,
  log: LogKey,
  filter: SourceFilter,
): Promise<StoredDocument | null> {
  const stored = await readStored(client, index, id, filter);
  return stored?.document.log === log ? stored : null;
}
