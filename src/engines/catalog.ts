import type { Logger } from "pino";

import type { Catalog } from "../catalog/catalog.ts";
import { createCatalog } from "../catalog/create.ts";
import type { Settings } from "../settings.ts";
import { clientOfExisting, existingFile } from "./existing.ts";

/**
 * Opens only the catalog, for a command on the service's machine. The service may be running.
 * @throws StartError if no service has created one
 */
export async function openCatalog(settings: Settings, log: Logger, closing: AsyncDisposableStack): Promise<Catalog> {
  const { engines, namespace } = settings;
  if (engines.kind === "embedded") {
    const file = existingFile(settings, "catalog.sqlite");
    const { openSqliteDocuments } = await import("../catalog/documents/sqlite.ts");
    return closing.use(await createCatalog({ documents: await openSqliteDocuments({ file }), log }));
  }
  const { openElasticsearchDocuments } = await import("../catalog/documents/elasticsearch.ts");
  const client = await clientOfExisting(settings, engines, "catalog", log, closing);
  return closing.use(await createCatalog({ documents: await openElasticsearchDocuments({ client, namespace }), log }));
}
