import type { ExecutionContext } from "ava";
import { join } from "node:path";

import type { Documents } from "../../src/catalog/documents/documents.ts";
import { openElasticsearchDocuments } from "../../src/catalog/documents/elasticsearch.ts";
import { openSqliteDocuments } from "../../src/catalog/documents/sqlite.ts";
import { elasticsearchClient } from "../support/elasticsearch.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";

/**
 * An empty store for one test. Each call of `connect` stands for another process; its connection
 * closes with the test.
 */
export type DocumentsStorage = { connect(): Promise<Documents> };

/** Every adapter of the document store, with a function that creates an empty one. */
export const DOCUMENTS_ADAPTERS: readonly {
  readonly name: string;
  readonly openStorage: (t: ExecutionContext) => Promise<DocumentsStorage>;
}[] = [
  {
    name: "sqlite",
    openStorage: async (t) => {
      const file = join(temporaryFolder(t), "catalog.sqlite");
      return { connect: () => closing(t, openSqliteDocuments({ file })) };
    },
  },
  ...(realEngines ? [{ name: "elasticsearch", openStorage: elasticsearchStorage() }] : []),
];

/**
 * Returns a function that opens documents in Elasticsearch.
 * @param url default: the run's
 */
export function elasticsearchStorage(url?: string): (t: ExecutionContext) => Promise<DocumentsStorage> {
  return async (t) => {
    const client = elasticsearchClient(undefined, url);
    const namespace = uniqueName("test");
    t.teardown(async () => {
      await client.indices.delete({ index: `${namespace}-catalog`, ignore_unavailable: true });
      await client.close();
    });
    return { connect: () => closing(t, openElasticsearchDocuments({ client, namespace })) };
  };
}

async function closing(t: ExecutionContext, opening: Promise<Documents>): Promise<Documents> {
  const documents = await opening;
  t.teardown(() => documents[Symbol.asyncDispose]());
  return documents;
}
