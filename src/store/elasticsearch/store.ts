import type { Client } from "@elastic/elasticsearch";
import type { Logger } from "pino";

import { callerGone } from "../../caller-context.ts";
import {
  OperationTooSlow,
  withTimeout,
  withoutFailFast,
  pingElasticsearch,
  translated,
  translateElasticsearchError,
} from "../../elasticsearch/client.ts";
import { StartError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import type { GroupPlan, ListPlan } from "../../query/plan.ts";
import { MAX_LISTED_ATTRIBUTES } from "../store.ts";
import type { Store, StorePart, WriteOutcome } from "../store.ts";
import { runWithinTime } from "../within-time.ts";
import { ColumnsOfLogs } from "./write/columns.ts";
import { DistinctHints } from "./read/groups/distinct.ts";
import { deletionsAmong, deletionsOfAlerts, writeDeletions } from "./write/deletions.ts";
import { attributeNames, fields } from "./read/fields.ts";
import { group } from "./read/groups/group.ts";
import { list, rows } from "./read/list.ts";
import { recordIndex, namesIn } from "./documents/mapping.ts";
import { putTemplates } from "./templates.ts";
import type { IndexOptions } from "./templates.ts";
import { addBookmark, deleteAlert, deleteBookmark, deleteEvent } from "./write/annotations.ts";
import { markAlertsSeen, setAlertSeen, unmarkAlertsSeen } from "./write/seen.ts";
import { createRecovery } from "./rebuild/recovery.ts";
import type { Recovery } from "./rebuild/recovery.ts";
import { ElasticsearchEvents, bulkOperations } from "./write/prepared.ts";
import { rebuild } from "./rebuild/rebuild.ts";
import { reclassify } from "./write/reclassify.ts";
import { deleteExpired } from "./write/retention.ts";
import { BLOCK_EXCEPTION, newSearcher } from "./client/scan.ts";
import { readEventExtent } from "./read/seek.ts";
import { encodeVisit } from "./documents/visit.ts";
import { users } from "./read/users.ts";
import { createOperation, writeBulk, writeEncodedBulk } from "./client/bulk.ts";
import { readParts, refresh } from "./client/indices.ts";
import { data, find } from "./read/find.ts";
import { annotations } from "./read/annotations.ts";
import { writeAlerts } from "./write/alerts.ts";

export type ElasticsearchStoreOptions = IndexOptions & {
  readonly client: Client;
  /**
   * Prefix of all index names, so that several services can share a cluster: lower-case letters,
   * digits and hyphens.
   */
  readonly namespace: string;
  readonly log: Logger;
  /** Called and awaited before retention removes a part, which may then be kept after all. */
  readonly beforeRemoval?: (part: StorePart) => Promise<void>;
  /** Returns the user to whom a log is charged. Default: each log by itself. */
  readonly ownerOf?: (log: LogKey) => string;
  /** Timeout of a query, for all its requests together. 30 s by default. */
  readonly queryTimeout_ms?: number;
  /** Most attributes that are listed of a log. {@link MAX_LISTED_ATTRIBUTES} by default. */
  readonly listedAttributes?: number | undefined;
};

const QUERY_TIMEOUT_MS = 30_000;
/** Timeout of the question for the range of events that a query was too slow for. */
const EXTENT_TIMEOUT_MS = 5_000;

/**
 * Opens the store in Elasticsearch: plain monthly indices, created from templates, for any number
 * of processes. The bus keeps the offsets. The caller owns the client and closes it after the
 * store.
 *
 * @throws StartError if a later release has changed the layout; LoggiaError `store_unavailable`
 */
export async function openElasticsearchStore(options: ElasticsearchStoreOptions): Promise<Store> {
  const { client, namespace, log, beforeRemoval = async () => {}, ownerOf = (key) => key } = options;
  const { queryTimeout_ms = QUERY_TIMEOUT_MS, listedAttributes = MAX_LISTED_ATTRIBUTES } = options;
  if (!/^[a-z0-9][a-z0-9-]{0,99}$/.test(namespace)) {
    throw new StartError(
      `The namespace "${namespace}" cannot be a prefix of index names: use lower-case letters, digits and hyphens`,
    );
  }
  const names = namesIn(namespace);
  try {
    await withoutFailFast(() => putTemplates(client, names, options));
  } catch (error) {
    throw error instanceof StartError ? error : translateElasticsearchError(error);
  }
  log.info({ namespace }, "elasticsearch: index templates are installed");
  const columns = new ColumnsOfLogs(client, names, ownerOf);
  const hints = new DistinctHints();
  const recovery = createRecovery({ client, names, columns, log });
  recovery.check();
  const { written, changed } = withRecovery(recovery);
  const runQuery = <T>(query: () => Promise<T>): Promise<T> =>
    translated(() => withTimeout(queryTimeout_ms, query, callerGone()));
  const runPlan = <T>(plan: ListPlan | GroupPlan, query: () => Promise<T>): Promise<T> =>
    runWithinTime(plan, {
      run: () => runQuery(query),
      isTooSlow: (error) => error instanceof OperationTooSlow,
      // A cluster that does not answer this either is away, and the query may be repeated.
      extentOf: () =>
        withTimeout(EXTENT_TIMEOUT_MS, () =>
          readEventExtent(newSearcher(client, recordIndex(names, plan.from)), plan),
        ).catch(() => null),
    });
  return {
    prepareEvents: () => new ElasticsearchEvents(names.eventsOf, columns),
    writeEvents: (events) => written(writeEncodedBulk(client, bulkOperations(events))),
    writeAlerts: (alerts) => written(writeAlerts(client, names, alerts)),
    writeVisits: (visits) =>
      written(
        writeBulk(
          client,
          visits.map((visit) => createOperation(names.visitsOf(visit.id), visit.id, encodeVisit(visit))),
        ),
      ),
    writeDeletions: (deletions) => written(writeDeletions(client, names, deletions)),
    nextOffset: async () => null,

    list: (plan, { countUpTo = Infinity } = {}) => runPlan(plan, () => list(client, names, plan, countUpTo)),
    rows: (plan) => runPlan(plan, () => rows(client, names, plan)),
    group: (plan) => runPlan(plan, () => group(client, names, plan, hints)),
    users: (plan) => runQuery(() => users(client, names, plan)),
    fields: (query) => runQuery(() => fields(client, names, query, { most: listedAttributes })),
    attributeNames: (key) => runQuery(() => attributeNames(client, names, key, listedAttributes)),
    find: (from, key, id) => translated(() => find(client, names, from, key, id)),
    data: (key, id) => translated(() => data(client, names, key, id)),
    annotations: (ids) => translated(() => annotations(client, names, ids)),

    deleteEvent: (key, id) => changed(() => deleteEvent(client, names, key, id)),
    addBookmark: (user, key, id) => changed(() => addBookmark(client, names, user, key, id)),
    deleteBookmark: (user, key, id) => changed(() => deleteBookmark(client, names, user, key, id)),
    deleteAlert: (user, key, id) => changed(() => deleteAlert(client, names, user, key, id)),
    setAlertSeen: (alert, seen) => changed(() => setAlertSeen(client, names, alert, seen)),
    markAlertsSeen: (alerts) => changed(() => markAlertsSeen(client, names, alerts)),
    unmarkAlertsSeen: (alerts) => changed(() => unmarkAlertsSeen(client, names, alerts)),
    deletionsOfAlerts: (user) => translated(() => deletionsOfAlerts(client, names, user)),
    deletionsAmong: (key, ids) => translated(() => deletionsAmong(client, names, key, ids)),

    deleteExpired: (expiry, signal) => {
      recovery.check();
      return translated(() => withoutFailFast(() => deleteExpired({ client, names, beforeRemoval }, expiry, signal)));
    },
    reclassify: (piece) => changed(() => withoutFailFast(() => reclassify(client, names, piece))),
    rebuild: (options) =>
      translated(() => withoutFailFast(() => rebuild({ client, names, columns, log }, options))).catch(
        (error: unknown) => {
          recovery.check();
          throw options.signal.aborted ? options.signal.reason : error;
        },
      ),

    parts: () => translated(() => readParts(client, names)),
    refresh: () =>
      translated(() => refresh(client, [names.events, names.alerts, names.bookmarks, names.visits].join())),
    ping: () => pingElasticsearch(client),
    [Symbol.asyncDispose]: () => recovery[Symbol.asyncDispose](),
  };
}

/** Wraps writes to start a recovery if an index is blocked by a rebuild, alive or interrupted. */
function withRecovery(recovery: Recovery) {
  return {
    written: async (outcomes: Promise<WriteOutcome[]>): Promise<WriteOutcome[]> => {
      const settled = await outcomes;
      if (settled.some((outcome) => outcome.kind === "retry" && outcome.reason.includes(BLOCK_EXCEPTION)))
        recovery.check();
      return settled;
    },
    changed: async <T>(change: () => Promise<T>): Promise<T> => {
      try {
        return await translated(change);
      } catch (error) {
        if (String(error).includes(BLOCK_EXCEPTION)) recovery.check();
        throw error;
      }
    },
  };
}
