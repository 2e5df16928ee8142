import type { Client } from "@elastic/elasticsearch";

import { LoggiaError } from "../../../errors.ts";
import type { LogKey, UserId } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import type { AlertsSeen } from "../../store.ts";
import type { Query } from "../client/queries.ts";
import { SEEN, copyId } from "../documents/document.ts";
import type { Document, SeenBy } from "../documents/document.ts";
import { placeOfIndex } from "../documents/mapping.ts";
import type { Names } from "../documents/mapping.ts";
import type { EncodedOperation } from "../client/bulk-encoding.ts";
import { matchAnyValue } from "../client/queries.ts";
import { ANY_ORDER, retryTransient, scan, newSearcher, answerTotal, withPointInTime } from "../client/scan.ts";
import type { Hit } from "../client/scan.ts";
import { updateOperation, writeNow } from "../client/bulk.ts";
import { readIn } from "../client/stored.ts";
import { refresh } from "../client/indices.ts";

const BATCH = 1000;
/** Number of attempts if documents change concurrently. */
const ROUNDS = 10;

type Flags = readonly string[];

/** Marks one alert as seen or unseen. Returns false if there is no such alert. */
export async function setAlertSeen(
  client: Client,
  names: Names,
  { user, log, id: event }: { readonly user: UserId; readonly log: LogKey; readonly id: EventId },
  seen: boolean,
): Promise<boolean> {
  const [index, id] = [names.alertsOf(event), copyId(event, user)];
  for (let round = 0; round < ROUNDS; round++) {
    const stored = await readIn(client, index, id, log, { includes: ["log", "has"] });
    if (stored === null) return false;
    const has = stored.document.has ?? [];
    if (has.includes(SEEN) === seen) return true;
    const version = { if_seq_no: stored.seqNo, if_primary_term: stored.primaryTerm };
    const doc = { has: seen ? [...has, SEEN] : withoutSeen(has) };
    const update = () => client.update({ index, id, doc, ...version, refresh: true }, { ignore: [404, 409] });
    if ((await retryTransient(update)).result !== undefined) return true;
  }
  throw concurrentChanges();
}

/** Marks all unseen alerts of some logs. @returns the number of alerts marked */
export async function markAlertsSeen(
  client: Client,
  names: Names,
  { until, ...alerts }: AlertsSeen & { readonly until: EventId | null },
): Promise<number> {
  const upTo: Query[] = until === null ? [] : [{ range: { id: { lte: until } } }];
  const query: Query = { bool: { filter: [...ownedBy(alerts), ...upTo], must_not: [{ term: { has: SEEN } }] } };
  await changeAll(client, names, query, (has) => [...has, SEEN, markedBy(alerts.mark)]);
  const marked = { query: { bool: { filter: isMarked(alerts) } }, size: 0, track_total_hits: true };
  return answerTotal(await newSearcher(client, names.alerts)(marked));
}

/** Undoes {@link markAlertsSeen}. @returns the number of alerts changed */
export function unmarkAlertsSeen(client: Client, names: Names, alerts: AlertsSeen): Promise<number> {
  return changeAll(client, names, { bool: { filter: isMarked(alerts) } }, withoutSeen);
}

function isMarked(alerts: AlertsSeen): Query[] {
  return [...ownedBy(alerts), { term: { has: markedBy(alerts.mark) } }];
}

function ownedBy({ user, logs }: AlertsSeen): Query[] {
  return [{ term: { owner: user } }, matchAnyValue("log", logs)];
}

function markedBy(mark: string): SeenBy {
  return `${SEEN}:${mark}`;
}

function withoutSeen(has: Flags): Flags {
  return has.filter((mark) => mark !== SEEN && !mark.startsWith(`${SEEN}:`));
}

/** Changes a query's hits until it has none, as concurrent changes may conflict. */
async function changeAll(client: Client, names: Names, query: Query, change: (has: Flags) => Flags): Promise<number> {
  const changed = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    await refresh(client, names.alerts);
    let found = 0;
    await withPointInTime(client, names.alerts, async (search) => {
      const page = { query, sort: ANY_ORDER, batch: BATCH, source: { includes: ["has"] }, versions: true };
      for await (const hits of scan(search, page)) {
        await writeNow(
          client,
          hits.map((hit) => changeOf(hit, change)),
        );
        for (const { _id: id = "" } of hits) changed.add(id);
        found += hits.length;
      }
    });
    if (found === 0) return changed.size;
  }
  throw concurrentChanges();
}

function changeOf(hit: Hit, change: (has: Flags) => Flags): EncodedOperation {
  const { _index: index, _id: id = "", _source: source, _seq_no: seqNo = 0, _primary_term: primaryTerm = 0 } = hit;
  const { has = [] } = (source ?? {}) as Pick<Document, "has">;
  return updateOperation(placeOfIndex(index), id, { seqNo, primaryTerm }, { has: change(has) });
}

function concurrentChanges(): LoggiaError {
  return new LoggiaError("overloaded", "The same alerts are changed by other requests: try again");
}
