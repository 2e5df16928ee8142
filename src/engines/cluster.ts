import type { Logger } from "pino";

import { openKafkaBus } from "../bus/kafka.ts";
import { createCatalog } from "../catalog/create.ts";
import { openElasticsearchDocuments } from "../catalog/documents/elasticsearch.ts";
import { createElasticsearchClient } from "../elasticsearch/client.ts";
import { marksInDocument } from "../operations/marks-file.ts";
import type { Settings } from "../settings.ts";
import { openElasticsearchStore } from "../store/elasticsearch/store.ts";
import { BATCHES, mailsHere, MARKS, NOTIFICATIONS } from "./engines.ts";
import type { Engines } from "./engines.ts";

/** Kafka and Elasticsearch. @throws LoggiaError that names the one that can't be reached */
export async function openCluster(
  settings: Settings,
  { kafka, elasticsearch }: Extract<Settings["engines"], { kind: "cluster" }>,
  log: Logger,
  closing: AsyncDisposableStack,
): Promise<Engines> {
  const { namespace } = settings;
  const client = createElasticsearchClient({ ...elasticsearch, log });
  closing.defer(() => client.close());
  const documents = await openElasticsearchDocuments({ client, namespace });
  const catalog = closing.use(await createCatalog({ documents, log, limits: settings.accountLimits }));
  const open = (name: string) => openElasticsearchDocuments({ client, namespace, name });
  const marks = marksInDocument(closing.use(await open(MARKS)));
  const store = closing.use(await openElasticsearchStore({ client, namespace, log, removing: marks.removing }));
  const bus = closing.use(await openKafkaBus({ ...kafka, namespace, log }));
  return {
    ports: { bus, catalog, store },
    notifications: closing.use(mailsHere(settings) ? await open(NOTIFICATIONS) : null),
    batches: () => open(BATCHES),
    marks,
    wals: new Map(),
    backup: null,
  };
}
