/**
 * The suites of the store, the documents and the scenarios on Elasticsearch 8.19. All other tests
 * run on the default release.
 */
import test from "ava";

import { startElasticsearch } from "../../infra/engines/start.ts";
import { documentsContract } from "../contract/documents.ts";
import { elasticsearchStorage } from "../contract/documents-adapters.ts";
import { elasticsearchAdapter } from "../contract/store-adapters.ts";
import { storeContract } from "../contract/store.ts";
import { declareScenarios } from "../scenarios/declare.ts";
import { clusterEngine } from "../scenarios/engines.ts";
import { elasticsearchClient } from "../support/elasticsearch.ts";
import { realEngines } from "../support/engine-kinds.ts";

if (realEngines) {
  const engine = await startElasticsearch({ env: { ...process.env, ENGINES_ELASTICSEARCH: "8.19" } });
  const url = `http://${engine.address}`;
  await warmUp(url);

  test("the engine of these tests is of release 8.19", async (t) => {
    const client = elasticsearchClient(undefined, url);
    t.teardown(() => client.close());
    const { nodes } = await client.nodes.info({ filter_path: "nodes.*.version" });
    t.regex(Object.values(nodes)[0]?.version ?? "", /^8\.19\./);
  });

  storeContract(elasticsearchAdapter(url, 2));
  documentsContract(test, "elasticsearch", elasticsearchStorage(url));
  // These run before the others, under whose load the engine may not answer the service in time.
  declareScenarios(clusterEngine(url), test.serial);

  // In the order of their declaration: the service of the scenarios closes first.
  test.serial.after.always("stop Elasticsearch", () => engine.stop());
} else {
  test.skip("suites on Elasticsearch 8.19", () => {});
}

/** Has the engine load what the creation and the search of an index need. */
async function warmUp(url: string): Promise<void> {
  const client = elasticsearchClient(undefined, url);
  await client.index({ index: "warm-up", document: { text: "any" }, refresh: true });
  await client.search({ index: "warm-up", query: { match: { text: "any" } } });
  await client.close();
}
