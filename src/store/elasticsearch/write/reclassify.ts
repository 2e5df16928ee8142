import type { Client, estypes } from "@elastic/elasticsearch";

import { LoggiaError } from "../../../errors.ts";
import type { EventId } from "../../../events/id.ts";
import type { Classifiable, ReclassifyPiece, Reclassified } from "../../store.ts";
import type { Query, Sort } from "../client/queries.ts";
import type { Document } from "../documents/document.ts";
import { isHeld } from "../client/lock.ts";
import { placeOfIndex } from "../documents/mapping.ts";
import type { Names } from "../documents/mapping.ts";
import { retryTransient, scan, newSearcher } from "../client/scan.ts";
import type { Hit } from "../client/scan.ts";
import { updateOperation } from "../client/bulk.ts";

/** Number of events per piece. */
const PIECE = 1000;
/** How often documents are read again that change concurrently. */
const ATTEMPTS = 8;
const REQUEST_TIMEOUT_MS = 60_000;

/** Fields that determine a class, and none that may be large. */
const SOURCE = { includes: ["id", "log", "created", "text", "link", "tags", "source", "class"] };
const IN_ORDER: Sort = [{ created: "asc" }, { id: "asc" }];
const BY_EVENT: Sort = [{ id: "asc" }, { owner: "asc" }, { _index: "asc" }];

/** A document in the version that was read. */
type Target = {
  readonly place: string;
  readonly documentId: string;
  readonly seqNo: number;
  readonly primaryTerm: number;
  readonly id: EventId;
  readonly event: Classifiable;
};

/** Returns a class for each of the documents, in order. */
type ClassesOf = (targets: readonly Target[]) => Promise<readonly (string | null)[]>;

/**
 * Implements {@link Store.reclassify}. A document is changed only in the version that was read:
 * after a concurrent change or deletion the engine refuses the update, and the document is read
 * again. Copies get the class of their event.
 */
export async function reclassify(client: Client, names: Names, piece: ReclassifyPiece): Promise<Reclassified> {
  // A rebuild does not copy later changes of a document, and applies the current filters itself.
  if (await isHeld(client, names.rebuild)) {
    throw new LoggiaError(
      "store_unavailable",
      "The store is being rebuilt: reclassification continues after the rebuild",
    );
  }
  const { hits } = (await newSearcher(client, names.events)(requestOf(piece))).hits;
  const targets = hits.map(targetOf);
  const classes = new Map<EventId, string | null>();
  const changed = await update(client, targets, async (some) => {
    const found = await piece.classOf(some.map(({ event }) => event));
    for (const [i, { id }] of some.entries()) classes.set(id, found[i] ?? null);
    return found;
  });
  if (targets.length > 0) await updateCopies(client, names, piece, classes);
  const [created, id] = (hits.at(-1)?.sort ?? []) as [number, EventId];
  return { examined: hits.length, changed, last: hits.length < PIECE ? null : { created, id } };
}

function requestOf({ log, from, after }: ReclassifyPiece): estypes.SearchRequest {
  const filter: Query[] = [{ term: { log } }];
  const least = Math.max(from ?? -Infinity, after?.created ?? -Infinity);
  if (least !== -Infinity) filter.push({ range: { created: { gte: least } } });
  return {
    query: { bool: { filter } },
    sort: IN_ORDER,
    size: PIECE,
    _source: SOURCE,
    seq_no_primary_term: true,
    track_total_hits: false,
    ...(after !== null && { search_after: [after.created, after.id] }),
  };
}

/** Updates the copies of events that were just classified. */
async function updateCopies(
  client: Client,
  names: Names,
  { log }: ReclassifyPiece,
  classes: ReadonlyMap<EventId, string | null>,
): Promise<void> {
  const search = newSearcher(client, `${names.alerts},${names.bookmarks}`);
  const query: Query = { bool: { filter: [{ term: { log } }, { terms: { id: [...classes.keys()] } }] } };
  const options = { query, sort: BY_EVENT, batch: PIECE, source: { includes: ["id", "log", "class"] }, versions: true };
  for await (const hits of scan(search, options)) {
    await update(client, hits.map(targetOf), async (copies) => copies.map(({ id }) => classes.get(id) ?? null));
  }
}

function targetOf({ _index: index, _id: documentId = "", _source: source, ...version }: Hit): Target {
  const { _seq_no: seqNo = -1, _primary_term: primaryTerm = -1 } = version;
  return { place: placeOfIndex(index), documentId, seqNo, primaryTerm, ...eventOf(source as Document) };
}

function eventOf({ id, log, text, link, tags, source, class: cls }: Document): Pick<Target, "id" | "event"> {
  const event = { log, text: text ?? "", link: link ?? "", tags: tags ?? [], source: source ?? "", class: cls ?? null };
  return { id, event };
}

/** Updates classes. @returns the number of documents changed */
async function update(client: Client, targets: readonly Target[], classesOf: ClassesOf): Promise<number> {
  let changed = 0;
  let left = targets;
  for (let attempt = 1; left.length > 0; attempt++) {
    if (attempt > ATTEMPTS) {
      throw new LoggiaError("store_unavailable", "Events changed concurrently each time their class was set");
    }
    const classes = await classesOf(left);
    const due = left.flatMap((target, i) => {
      const found = classes[i] ?? null;
      return found === target.event.class ? [] : [{ target, class: found }];
    });
    const { done, conflicts } = await send(client, due);
    changed += done;
    left = await readAgain(client, conflicts);
  }
  return changed;
}

type Due = { readonly target: Target; readonly class: string | null };

/** Sends updates. Documents deleted meanwhile count neither as done nor as conflicts. */
async function send(client: Client, due: readonly Due[]): Promise<{ done: number; conflicts: Target[] }> {
  if (due.length === 0) return { done: 0, conflicts: [] };
  const operations = due.map(({ target, class: cls }) => {
    const { place, documentId, ...version } = target;
    return updateOperation(place, documentId, version, { class: cls, folded: { class: cls } });
  });
  const answer = await client.bulk(
    {
      // Encoded lines: the client sends a buffer as it is.
      operations: Buffer.from(operations.join("")) as unknown as never[],
      filter_path: ["items.*.status", "items.*.error.type", "items.*.error.reason"],
    },
    { maxRetries: 0, requestTimeout: REQUEST_TIMEOUT_MS },
  );
  let done = 0;
  const conflicts: Target[] = [];
  for (const [i, item] of answer.items.entries()) {
    const { status = 500, error } = Object.values(item)[0] ?? {};
    if (status < 300) done += 1;
    else if (status === 409) conflicts.push(due[i]!.target);
    else if (status !== 404) throw refusal(status, `${error?.type ?? "error"}: ${error?.reason ?? "no reason given"}`);
  }
  return { done, conflicts };
}

function refusal(status: number, reason: string): LoggiaError {
  const isInternal = status === 400;
  return new LoggiaError(
    isInternal ? "internal_error" : "store_unavailable",
    `Elasticsearch did not accept the class of an event: ${status} ${reason.slice(0, 300)}`,
  );
}

/** Reads the current documents, without those deleted meanwhile. */
async function readAgain(client: Client, targets: readonly Target[]): Promise<Target[]> {
  if (targets.length === 0) return [];
  const docs = targets.map(({ place, documentId }) => ({ _index: place, _id: documentId }));
  const answer = await retryTransient(() => client.mget<Document>({ docs, _source: SOURCE.includes }));
  return answer.docs.flatMap((doc, i): Target[] => {
    if ("error" in doc) throw new LoggiaError("store_unavailable", `Elasticsearch could not read ${targets[i]!.place}`);
    const { _source: source, _seq_no: seqNo = -1, _primary_term: primaryTerm = -1 } = doc;
    if (!doc.found || source?.log === undefined) return [];
    const { place, documentId } = targets[i]!;
    return [{ place, documentId, seqNo, primaryTerm, ...eventOf(source) }];
  });
}
