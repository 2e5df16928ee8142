import { realEngines } from "../support/engine-kinds.ts";
import { elasticsearchUrl, kafkaBrokers } from "../support/engines.ts";
import { uniqueName } from "../support/temporary.ts";
import { EMBEDDED, engineWith } from "./engine.ts";
import type { Engine } from "./engine.ts";

/**
 * Returns the engine of a cluster on the run's Kafka.
 * @param url of Elasticsearch. Default: the run's
 */
export function clusterEngine(url?: string): Engine {
  return engineWith("cluster", () => ({
    KAFKA_BROKERS: kafkaBrokers().join(","),
    KAFKA_PARTITIONS: "2",
    ELASTICSEARCH_URL: url ?? elasticsearchUrl(),
    LOGGIA_NAMESPACE: uniqueName("scenarios"),
  }));
}

export const ENGINES: readonly Engine[] = [EMBEDDED, ...(realEngines ? [clusterEngine()] : [])];
