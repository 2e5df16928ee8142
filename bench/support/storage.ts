import { rmSync } from "node:fs";
import { join } from "node:path";

import type { Bus } from "../../src/bus/bus.ts";
import { openKafkaBus } from "../../src/bus/kafka/kafka.ts";
import { openSqliteBus } from "../../src/bus/sqlite/sqlite.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { createCatalog } from "../../src/catalog/create.ts";
import { openElasticsearchDocuments } from "../../src/catalog/documents/elasticsearch.ts";
import { openSqliteDocuments } from "../../src/catalog/documents/sqlite.ts";
import { openDuckdbStore } from "../../src/store/duckdb/store.ts";
import { openElasticsearchStore } from "../../src/store/elasticsearch/store.ts";
import type { Store } from "../../src/store/store.ts";
import { SILENT } from "./engines.ts";
import type { Cluster } from "./engines.ts";
import { API_KEY, LOG } from "./events.ts";
import { startServiceProcess } from "./processes.ts";
import type { ServiceProcess } from "./processes.ts";

export type Kind = "embedded" | "cluster";

/** Storage of a service, initially empty. */
export type ServiceStorage =
  | { readonly kind: "embedded"; readonly folder: string }
  | { readonly kind: "cluster"; readonly namespace: string; readonly cluster: Cluster };

/** Admin account of every service. */
export const ACCOUNT = { email: "bench@localhost", password: "a long password" } as const;

/** The environment may say what the embedded bus keeps, so that it can be measured with less. */
const { LOGGIA_BUS_KEEP = "" } = process.env;
const KEEP = LOGGIA_BUS_KEEP === "" ? {} : { LOGGIA_BUS_KEEP };
const BOOTSTRAP_SETTINGS = { LOGGIA_ADMIN: `${ACCOUNT.email}:${ACCOUNT.password}`, LOGGIA_LOG: `${LOG}:${API_KEY}` };

/** Removes all data of a service, which must have ended. */
export async function clearStorage(storage: ServiceStorage): Promise<void> {
  if (storage.kind === "embedded") rmSync(storage.folder, { recursive: true, force: true });
  else await storage.cluster.clear(storage.namespace);
}

/** Returns a service's settings. Its first start creates {@link LOG} with {@link API_KEY}. */
function environmentOf(storage: ServiceStorage): Record<string, string> {
  if (storage.kind === "embedded") return { ...BOOTSTRAP_SETTINGS, ...KEEP, LOGGIA_DATA: storage.folder };
  const { cluster, namespace } = storage;
  return {
    ...BOOTSTRAP_SETTINGS,
    KAFKA_BROKERS: cluster.brokers.join(","),
    ELASTICSEARCH_URL: cluster.url,
    LOGGIA_NAMESPACE: namespace,
  };
}

/**
 * @param options.roles default: all; on a cluster each can be a separate process
 * @param options.settings additional settings
 */
export function startService(
  storage: ServiceStorage,
  options: { roles?: string; flags?: readonly string[]; settings?: Readonly<Record<string, string>> } = {},
): Promise<ServiceProcess> {
  const { roles, flags = [], settings = {} } = options;
  const environment = { ...environmentOf(storage), ...settings, ...(roles !== undefined && { LOGGIA_ROLES: roles }) };
  // Without a listening address, the process would not report that it is ready.
  const listening = roles === "pipeline" ? { LOGGIA_OPS: "127.0.0.1:0" } : {};
  return startServiceProcess({ ...environment, ...listening }, flags);
}

/** Creates what a first start creates. A process that only posts creates none of it. */
export async function createFirstRecords(storage: ServiceStorage): Promise<void> {
  await using ports = await openPorts(storage);
  const { catalog } = ports;
  const { id: owner } = await catalog.createAccount({ ...ACCOUNT, admin: true });
  await catalog.createLog({ key: LOG, display: LOG, owner, apiKey: API_KEY });
}

/** Opens the ports on storage in this process, to fill it before a service starts. */
export async function openPorts(
  storage: ServiceStorage,
): Promise<AsyncDisposable & { readonly bus: Bus; readonly store: Store; readonly catalog: Catalog }> {
  await using closing = new AsyncDisposableStack();
  const bus = closing.use(await openBus(storage));
  const documents =
    storage.kind === "embedded"
      ? await openSqliteDocuments({ file: join(storage.folder, "catalog.sqlite") })
      : await openElasticsearchDocuments({ client: storage.cluster.client, namespace: storage.namespace });
  const catalog = closing.use(await createCatalog({ documents, log: SILENT }));
  const store = closing.use(await openStore(storage));
  const open = closing.move();
  return { bus, store, catalog, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

export function openBus(storage: ServiceStorage): Promise<Bus> {
  return storage.kind === "embedded"
    ? openSqliteBus({ file: join(storage.folder, "bus.sqlite"), log: SILENT })
    : openKafkaBus({ brokers: storage.cluster.brokers, namespace: storage.namespace, log: SILENT });
}

export function openStore(storage: ServiceStorage): Promise<Store> {
  return storage.kind === "embedded"
    ? openDuckdbStore({ file: join(storage.folder, "events.duckdb"), log: SILENT })
    : openElasticsearchStore({ client: storage.cluster.client, namespace: storage.namespace, log: SILENT });
}
