import type { Client } from "@elastic/elasticsearch";

import { withTimeout } from "../../../elasticsearch/client.ts";
import type { UserId } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import type { Annotations } from "../../store.ts";
import type { Query } from "../client/queries.ts";
import { scan, newSearcher, answerTotal, WITHOUT_PRE_FILTER } from "../client/scan.ts";
import type { Hit } from "../client/scan.ts";
import { placeOfIndex } from "../documents/mapping.ts";
import type { Names } from "../documents/mapping.ts";

const BATCH = 1000;

/** Returns the annotations of events, by one search unless they exceed a batch. */
export async function annotations(
  client: Client,
  names: Names,
  ids: readonly EventId[],
): Promise<ReadonlyMap<EventId, Annotations>> {
  const found: OwnersByEvent = new Map();
  if (ids.length === 0) return found;
  const indices = [names.bookmarks, ...new Set(ids.map(names.alertsOf))].join();
  const search = newSearcher(client, indices);
  const options = {
    query: { terms: { id: [...ids] } },
    sort: [{ id: "asc" as const }, { owner: "asc" as const }, { _index: "asc" as const }],
    batch: BATCH,
    source: { includes: ["id", "owner"] },
  };
  for await (const hits of scan(search, options)) for (const hit of hits) addOwner(found, names, hit);
  return found;
}

type OwnersByEvent = Map<EventId, { bookmarks: UserId[]; alerts: UserId[] }>;

function addOwner(found: OwnersByEvent, names: Names, { _index: index, _source: source }: Hit): void {
  const { id, owner } = source as { id: EventId; owner: UserId };
  const entry = found.get(id) ?? { bookmarks: [], alerts: [] };
  found.set(id, entry);
  entry[placeOfIndex(index) === names.bookmarks ? "bookmarks" : "alerts"].push(owner);
}

/** Maximum number of annotations that are read together with a page. */
const MAX_ANNOTATIONS = 200;
/** Longest wait of a page for its annotations. With many copies, a request by ids is faster. */
const LOOKUP_TIMEOUT_MS = 250;

/**
 * Returns the annotations of the events that a query finds. A copy has all fields of its event
 * except the current class, so the same query finds it, concurrently and without waiting for the
 * ids. Returns null if there are too many copies or the request failed; then {@link annotations} is
 * used.
 */
export async function annotationsByQuery(
  client: Client,
  names: Names,
  query: Query,
): Promise<ReadonlyMap<EventId, Annotations> | null> {
  try {
    const search = newSearcher(client, `${names.bookmarks},${names.alerts}`);
    const answer = await withTimeout(LOOKUP_TIMEOUT_MS, () =>
      search({
        query,
        size: MAX_ANNOTATIONS,
        ...WITHOUT_PRE_FILTER,
        sort: [{ owner: "asc" }],
        track_total_hits: MAX_ANNOTATIONS + 1,
        _source: { includes: ["id", "owner"] },
      }),
    );
    const { hits } = answer.hits;
    if (hits.length < answerTotal(answer)) return null;
    const found: OwnersByEvent = new Map();
    for (const hit of hits) addOwner(found, names, hit);
    return found;
  } catch {
    return null;
  }
}
