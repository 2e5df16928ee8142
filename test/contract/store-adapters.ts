import { pino } from "pino";

import { openElasticsearchStore } from "../../src/store/elasticsearch/store.ts";
import { elasticsearchClient, QUERY_TIMEOUT_MS } from "../support/elasticsearch.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { uniqueName } from "../support/temporary.ts";
import { DUCKDB } from "./duckdb-adapter.ts";
import type { StoreAdapter } from "./store-fixture.ts";

const silent = pino({ level: "silent" });

/**
 * Returns the adapter of Elasticsearch. It has one namespace for all tests of a run, so that
 * templates and indices are created once.
 * @param url default: the run's
 */
export function elasticsearchAdapter(url?: string, differentialRounds = 4): StoreAdapter {
  const client = elasticsearchClient(silent, url);
  const namespace = uniqueName("test");
  const openStore = (listedAttributes?: number) =>
    openElasticsearchStore({ client, namespace, log: silent, queryTimeout_ms: QUERY_TIMEOUT_MS, listedAttributes });
  const opening = once(openStore);
  return {
    name: "Elasticsearch",
    keepsPositions: false,
    differentialRounds,
    open: (_, listedAttributes) => (listedAttributes === undefined ? opening() : openStore(listedAttributes)),
    cleanUp: async () => {
      const indices = Object.keys(await client.indices.get({ index: `${namespace}-*` }));
      if (indices.length > 0) await client.indices.delete({ index: indices });
      await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
      await client.close();
    },
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}

/** The adapters of the store port that this run can reach. A new adapter takes one line. */
export const storeAdapters: readonly StoreAdapter[] = [DUCKDB, ...(realEngines ? [elasticsearchAdapter()] : [])];
