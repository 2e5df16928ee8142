import type { ExecutionContext } from "ava";
import { openKafkaBus } from "../../src/bus/kafka/kafka.ts";
import { createCatalog } from "../../src/catalog/create.ts";
import { openElasticsearchDocuments } from "../../src/catalog/documents/elasticsearch.ts";
import { createElasticsearchClient } from "../../src/elasticsearch/client.ts";
import { openElasticsearchStore } from "../../src/store/elasticsearch/store.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { elasticsearchUrl, kafkaBrokers } from "../support/engines.ts";
import { uniqueName } from "../support/temporary.ts";
import { EMBEDDED, SILENT } from "./fixture.ts";
import type { Ports, EngineKind } from "./fixture.ts";

async function openCluster(t: ExecutionContext): Promise<Ports> {
  const namespace = uniqueName("pipeline");
  const client = createElasticsearchClient({ nodes: [elasticsearchUrl()], log: SILENT });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => client.close());
  stack.defer(async () => {
    const indices = Object.keys(await client.indices.get({ index: `${namespace}-*`, expand_wildcards: "all" }));
    if (indices.length > 0) await client.indices.delete({ index: indices });
    await client.indices.deleteIndexTemplate({ name: `${namespace}-*` }, { ignore: [404] });
  });
  const documents = await openElasticsearchDocuments({ client, namespace });
  const catalog = stack.use(await createCatalog({ documents, log: SILENT }));
  const store = stack.use(await openElasticsearchStore({ client, namespace, log: SILENT }));
  const bus = stack.use(await openKafkaBus({ brokers: kafkaBrokers(), namespace, partitions: 2, log: SILENT }));
  const opened = stack.move();
  t.teardown(() => opened.disposeAsync());
  return { bus, store, catalog };
}

/** The kinds of engines that a pipeline runs on. */
export const ENGINE_KINDS: readonly EngineKind[] = [
  EMBEDDED,
  ...(realEngines ? [{ name: "cluster", open: openCluster }] : []),
];
