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

  test("the engine of these tests is of release 8.19", async (t) => {
    const client = elasticsearchClient(undefined, url);
    t.teardown(() => client.close());
    const { nodes } = await client.nodes.info({ filter_path: "nodes.*.version" });
    t.regex(Object.values(nodes)[0]?.version ?? "", /^8\.19\./);
  });

  storeContract(elasticsearchAdapter(url, 2));
  documentsContract(test, "elasticsearch", elasticsearchStorage(url));
  // The service starts before the tests, which would keep a new engine from answering within 2 s.
  await declareScenarios(clusterEngine(url));

  // In the order of their declaration: the service of the scenarios closes first.
  test.serial.after.always("stop Elasticsearch", () => engine.stop());
} else {
  test.skip("suites on Elasticsearch 8.19", () => {});
}
