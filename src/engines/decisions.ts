import { join } from "node:path";
import type { Logger } from "pino";

import { type Decisions, decisionsInDocument, decisionsInFile } from "../operations/decisions.ts";
import { BUS_FILE } from "../operations/files.ts";
import type { Settings } from "../settings.ts";
import { DECISIONS, MARKS } from "./engines.ts";
import { clientOfExisting, existingFile } from "./existing.ts";

/**
 * Opens the decisions about holds, for a command on the service's machine. The service may be
 * running.
 * @throws StartError if no service has run there
 */
export async function openDecisions(
  settings: Settings,
  log: Logger,
  closing: AsyncDisposableStack,
): Promise<Decisions> {
  const { engines, data, namespace } = settings;
  if (engines.kind === "embedded") {
    existingFile(settings, BUS_FILE);
    return decisionsInFile(join(data, `${DECISIONS}.json`));
  }
  const { openElasticsearchDocuments } = await import("../catalog/documents/elasticsearch.ts");
  const client = await clientOfExisting(settings, engines, MARKS, log, closing);
  return decisionsInDocument(closing.use(await openElasticsearchDocuments({ client, namespace, name: MARKS })));
}
