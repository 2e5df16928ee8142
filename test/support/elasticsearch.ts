import type { Client } from "@elastic/elasticsearch";
import { pino, type Logger } from "pino";

import { createElasticsearchClient } from "../../src/elasticsearch/client.ts";
import { elasticsearchUrl } from "./engines.ts";

/** Limits that are long enough for a slow machine. */
const LIMITS = { unresponsiveAfter_ms: 60_000, requestTimeout_ms: 150_000 } as const;

/**
 * Creates a client of the run's Elasticsearch whose requests do not fail because the engine is slow.
 * @throws Error with instructions if no engine is running
 */
export function elasticsearchClient(log: Logger = pino({ level: "silent" })): Client {
  return createElasticsearchClient({ nodes: [elasticsearchUrl()], log, ...LIMITS });
}
