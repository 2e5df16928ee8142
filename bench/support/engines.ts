import type { Client } from "@elastic/elasticsearch";
import { randomBytes } from "node:crypto";
import { pino } from "pino";

import { startEngines } from "../../infra/engines/start.ts";
import type { Engines } from "../../infra/engines/start.ts";
import { readSettings } from "../../infra/engines/settings.ts";
import { readState } from "../../infra/engines/state.ts";
import { createKafkaClient } from "../../src/bus/kafka/client.ts";
import { createElasticsearchClient } from "../../src/elasticsearch/client.ts";

export const SILENT = pino({ level: "silent" });

/** A Kafka and an Elasticsearch. What the benchmarks create there is removed at the end. */
export type Cluster = AsyncDisposable & {
  readonly brokers: readonly string[];
  readonly url: string;
  readonly client: Client;
  /** Returns a unique prefix of topics and indices. */
  namespace(): string;
  /** Removes everything of a namespace. */
  clear(namespace: string): Promise<void>;
};

/** Uses the engines of `make up` if they run, otherwise starts a pair for this run. */
export async function openCluster(say: (line: string) => void): Promise<Cluster> {
  const engines = await startEngines({ say, env: { ...runningEngines(), ...process.env } });
  const client = createElasticsearchClient({ nodes: [engines.elasticsearchUrl], log: SILENT });
  const prefix = `bench-${randomBytes(4).toString("hex")}`;
  let count = 0;
  return {
    brokers: engines.kafkaBrokers,
    url: engines.elasticsearchUrl,
    client,
    namespace: () => `${prefix}-${(count += 1)}`,
    clear: (namespace) => clear(engines, client, namespace),
    async [Symbol.asyncDispose]() {
      try {
        await clear(engines, client, prefix);
      } finally {
        await client.close();
        await engines.close();
      }
    },
  };
}

/** Returns the addresses of the engines of `make up`, as variables for `startEngines`. */
function runningEngines(): Record<string, string> {
  const state = readState(readSettings().folder);
  if (!state?.kafka?.ready || !state.elasticsearch?.ready) return {};
  return { TEST_KAFKA_BROKERS: state.kafka.brokers.join(","), TEST_ELASTICSEARCH_URL: state.elasticsearch.url };
}

async function clear(engines: Engines, client: Client, prefix: string): Promise<void> {
  const indices = Object.keys(await client.indices.get({ index: `${prefix}*`, allow_no_indices: true }));
  for (const index of indices) await client.indices.delete({ index, ignore_unavailable: true });
  const { index_templates: templates } = await client.indices.getIndexTemplate(
    { name: `${prefix}*` },
    { ignore: [404] },
  );
  for (const { name } of templates ?? []) await client.indices.deleteIndexTemplate({ name });
  const { kafka, dropAllConnections } = createKafkaClient({ brokers: engines.kafkaBrokers, log: SILENT });
  const admin = kafka.admin();
  await admin.connect();
  try {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    if (topics.length > 0) await admin.deleteTopics({ topics });
    const { groups } = await admin.listGroups();
    const own = groups.map(({ groupId }) => groupId).filter((group) => group.startsWith(prefix));
    // A group whose members have just left is not empty yet; Kafka removes it by itself.
    if (own.length > 0) await admin.deleteGroups(own).catch(() => {});
  } finally {
    await admin.disconnect();
    dropAllConnections();
  }
}

/** Returns Elasticsearch's processor time so far, in milliseconds. */
export async function processorTimeOf({ client }: Cluster): Promise<number> {
  const { nodes } = await client.nodes.stats({ metric: "process" });
  return Object.values(nodes).reduce((sum, { process }) => sum + (process?.cpu?.total_in_millis ?? NaN), 0);
}
