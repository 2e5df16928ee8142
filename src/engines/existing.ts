import type { Client } from "@elastic/elasticsearch";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";

import { StartError } from "../errors.ts";
import type { Settings } from "../settings.ts";

/**
 * Returns the path of a file that a service has created in the data folder.
 * @throws StartError if it is missing, such as after a wrong setting
 */
export function existingFile({ data }: Settings, name: string): string {
  const file = join(data, name);
  if (existsSync(file)) return file;
  throw new StartError(`LOGGIA_DATA is ${JSON.stringify(data)}, where no service has run: there is no ${file}`);
}

/**
 * Creates a client for a cluster on which a service has created an index.
 * @throws StartError if it is missing, such as after a wrong setting
 */
export async function clientOfExisting(
  { namespace }: Settings,
  { elasticsearch }: Extract<Settings["engines"], { kind: "cluster" }>,
  name: string,
  log: Logger,
  closing: AsyncDisposableStack,
): Promise<Client> {
  const { createElasticsearchClient } = await import("../elasticsearch/client.ts");
  const client = createElasticsearchClient({ ...elasticsearch, log });
  closing.defer(() => client.close());
  const index = `${namespace}-${name}`;
  if (await indexExists(client, index)) return client;
  throw new StartError(
    `LOGGIA_NAMESPACE is ${JSON.stringify(namespace)}, where no service has run: there is no index ${index}`,
  );
}

/** @throws LoggiaError `store_unavailable` */
async function indexExists(client: Client, index: string): Promise<boolean> {
  const { translateElasticsearchError } = await import("../elasticsearch/client.ts");
  return await client.indices.exists({ index }).catch((error: unknown) => {
    throw translateElasticsearchError(error);
  });
}
