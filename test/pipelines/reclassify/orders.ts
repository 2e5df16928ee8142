import type { ExecutionContext } from "ava";
import { join } from "node:path";

import type { Documents } from "../../../src/catalog/documents/documents.ts";
import { openElasticsearchDocuments } from "../../../src/catalog/documents/elasticsearch.ts";
import { openSqliteDocuments } from "../../../src/catalog/documents/sqlite.ts";
import { createElasticsearchClient } from "../../../src/elasticsearch/client.ts";
import { elasticsearchUrl } from "../../support/engines.ts";
import { temporaryFolder, uniqueName } from "../../support/temporary.ts";
import { SILENT } from "../fixture.ts";

/** The part of the document store that orders need. */
export type Orders = Pick<Documents, "create" | "read" | "replace" | "changes">;

/** Opens orders for one test, on an engine kind. */
export async function openOrders(t: ExecutionContext, kind: string): Promise<Orders> {
  const stack = new AsyncDisposableStack();
  t.teardown(() => stack.disposeAsync());
  if (kind === "embedded") {
    return stack.use(await openSqliteDocuments({ file: join(temporaryFolder(t), "orders.sqlite") }));
  }
  const namespace = uniqueName("orders");
  const client = createElasticsearchClient({ nodes: [elasticsearchUrl()], log: SILENT });
  stack.defer(() => client.close());
  stack.defer(async () => void (await client.indices.delete({ index: `${namespace}-orders` })));
  return stack.use(await openElasticsearchDocuments({ client, namespace, name: "orders" }));
}
