import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";

import type { Catalog } from "../catalog/catalog.ts";
import { createCatalog } from "../catalog/create.ts";
import { StartError } from "../errors.ts";
import type { Settings } from "../settings.ts";

/**
 * The catalog alone, for a command on the machine itself; the service may run meanwhile.
 * @throws StartError where no service has made one, which a wrong setting would look like
 */
export async function openCatalog(settings: Settings, log: Logger, closing: AsyncDisposableStack): Promise<Catalog> {
  const { engines, data, namespace } = settings;
  if (engines.kind === "embedded") {
    const file = join(data, "catalog.sqlite");
    if (!existsSync(file))
      throw new StartError(`LOGGIA_DATA is ${JSON.stringify(data)}, where no service has run: there is no ${file}`);
    const { openSqliteDocuments } = await import("../catalog/documents/sqlite.ts");
    return closing.use(await createCatalog({ documents: await openSqliteDocuments({ file }), log }));
  }
  const { createElasticsearchClient, translateElasticsearchError } = await import("../elasticsearch/client.ts");
  const { openElasticsearchDocuments } = await import("../catalog/documents/elasticsearch.ts");
  const client = createElasticsearchClient({ ...engines.elasticsearch, log });
  closing.defer(() => client.close());
  const index = `${namespace}-catalog`;
  const exists = await client.indices.exists({ index }).catch((error: unknown) => {
    throw translateElasticsearchError(error);
  });
  if (!exists)
    throw new StartError(
      `LOGGIA_NAMESPACE is ${JSON.stringify(namespace)}, where no service has run: there is no index ${index}`,
    );
  return closing.use(await createCatalog({ documents: await openElasticsearchDocuments({ client, namespace }), log }));
}
