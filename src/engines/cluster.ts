import { openKafkaBus } from "../bus/kafka/kafka.ts";
import { openClock } from "../clock/persistent-clock.ts";
import { sharedMarks } from "../clock/marks.ts";
import { createCatalog } from "../catalog/create.ts";
import { openElasticsearchDocuments } from "../catalog/documents/elasticsearch.ts";
import { createElasticsearchClient } from "../elasticsearch/client.ts";
import { readClusterTime } from "../elasticsearch/time.ts";
import { quotaOwner } from "../ratelimit/quota-owner.ts";
import { decisionsInDocument } from "../operations/decisions.ts";
import { marksInDocument } from "../operations/marks-file.ts";
import type { Settings } from "../settings.ts";
import { openElasticsearchStore } from "../store/elasticsearch/store.ts";
import { CLOCK, notifiesHere, MARKS, NOTIFICATIONS, RECLASSIFICATIONS, WATERMARKS } from "./engines.ts";
import type { EngineParts, Engines } from "./engines.ts";

/** Opens Kafka and Elasticsearch. @throws LoggiaError that names the one that can't be reached */
export async function openCluster(
  settings: Settings,
  { kafka, elasticsearch }: Extract<Settings["engines"], { kind: "cluster" }>,
  { holds, scheduler, log }: EngineParts,
  closing: AsyncDisposableStack,
): Promise<Engines> {
  const { namespace } = settings;
  const client = createElasticsearchClient({ ...elasticsearch, scheduler, log });
  closing.defer(() => client.close());
  const lost = (index: string): void =>
    log.error({ index }, "an index was lost and is recreated: the state that the service stored in it is gone");
  const { shards, replicas } = elasticsearch;
  const open = (name: string) => openElasticsearchDocuments({ client, namespace, name, replicas, lost });
  const clockMarks = sharedMarks(closing.use(await open(CLOCK)));
  const clock = closing.use(
    await openClock({ marks: clockMarks, shared: true, holds, log, reference: () => readClusterTime(client) }),
  );
  const documents = await openElasticsearchDocuments({ client, namespace, replicas });
  const catalog = closing.use(
    await createCatalog({ documents, log, limits: settings.accountLimits, now: clock.trusted, scheduler }),
  );
  const markDocuments = closing.use(await open(MARKS));
  const marks = marksInDocument(markDocuments, documents);
  const store = closing.use(
    await openElasticsearchStore({
      client,
      namespace,
      scheduler,
      log,
      shards,
      replicas,
      beforeRemoval: marks.beforeRemoval,
      ownerOf: (key) => quotaOwner(catalog, key),
    }),
  );
  const bus = closing.use(await openKafkaBus({ ...kafka, namespace, log }));
  return {
    ports: { bus, catalog, store },
    clock,
    notifications: closing.use(notifiesHere(settings) ? await open(NOTIFICATIONS) : null),
    batches: null,
    watermarks: () => open(WATERMARKS),
    reclassifications: closing.use(await open(RECLASSIFICATIONS)),
    marks,
    decisions: decisionsInDocument(markDocuments),
    wals: new Map(),
    backup: null,
  };
}
