import type { Client } from "@elastic/elasticsearch";
import { pino, type Logger } from "pino";

import { createElasticsearchClient } from "../../src/elasticsearch/client.ts";
import { elasticsearchUrl } from "./engines.ts";

/** Timeout of queries for tests that run at once, on a machine that may be slow. */
export const QUERY_TIMEOUT_MS = 150_000;
/** Limits that are long enough for a slow machine. */
const LIMITS = { unresponsiveAfter_ms: 60_000, requestTimeout_ms: QUERY_TIMEOUT_MS } as const;

/**
 * Creates a client of an Elasticsearch whose requests do not fail because the engine is slow.
 * @param url default: the run's
 * @throws Error with instructions if no engine is running
 */
export function elasticsearchClient(log: Logger = pino({ level: "silent" }), url: string = elasticsearchUrl()): Client {
  return createElasticsearchClient({ nodes: [url], log, ...LIMITS });
}
