import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Bus } from "../../src/bus/bus.ts";
import { openKafkaBus } from "../../src/bus/kafka.ts";
import { openSqliteBus } from "../../src/bus/sqlite.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { createCatalog } from "../../src/catalog/create.ts";
import { openElasticsearchDocuments } from "../../src/catalog/documents/elasticsearch.ts";
import { openSqliteDocuments } from "../../src/catalog/documents/sqlite.ts";
import { openDuckdbStore } from "../../src/store/duckdb/store.ts";
import { openElasticsearchStore } from "../../src/store/elasticsearch/store.ts";
import type { Store } from "../../src/store/store.ts";
import { openDataset } from "./datasets.ts";
import type { Dataset } from "./datasets.ts";
import { openCluster, SILENT } from "./engines.ts";
import type { Cluster } from "./engines.ts";
import { LOG } from "./events.ts";
import { startGenerator } from "./load.ts";
import type { Generator } from "./load.ts";
import { startLimitServer, startServiceProcess } from "./processes.ts";
import type { ServiceProcess } from "./processes.ts";

export type Kind = "embedded" | "cluster";

/** Where one service keeps its things, empty at first. */
export type Place =
  | { readonly kind: "embedded"; readonly folder: string }
  | { readonly kind: "cluster"; readonly namespace: string; readonly cluster: Cluster };

export const API_KEY = "key-of-the-benchmarks";
const FIRST = { LOGGIA_ADMIN: "bench@localhost:a long password", LOGGIA_LOG: `${LOG}:${API_KEY}` };

/** What benchmarks share: engines, data sets and helping processes, each made when first asked for and gone at the end. */
export class World implements AsyncDisposable {
  readonly kinds: readonly Kind[];
  readonly #say: (line: string) => void;
  readonly #closing = new AsyncDisposableStack();
  readonly #datasets = new Map<string, Promise<Dataset>>();
  #cluster: Promise<Cluster> | null = null;
  #generator: Promise<Generator> | null = null;
  #limitServer: Promise<{ readonly port: number }> | null = null;

  constructor(options: { kinds: readonly Kind[]; say: (line: string) => void }) {
    this.kinds = options.kinds;
    this.#say = options.say;
  }

  cluster(): Promise<Cluster> {
    return (this.#cluster ??= openCluster(this.#say).then((cluster) => this.#closing.use(cluster)));
  }

  generator(): Promise<Generator> {
    return (this.#generator ??= startGenerator().then((generator) => this.#closing.use(generator)));
  }

  /** `node:http` that answers forms. */
  limitServer(): Promise<{ readonly port: number }> {
    return (this.#limitServer ??= startLimitServer().then((server) => this.#closing.use(server)));
  }

  /** An empty place; its folder goes when the world does. */
  async place(kind: Kind): Promise<Place> {
    if (kind === "embedded") return { kind, folder: this.folder() };
    const cluster = await this.cluster();
    return { kind, namespace: cluster.namespace(), cluster };
  }

  /** So many events over 30 days, a service that answers for them, and the bare engine beside it. */
  dataset(kind: Kind, count: number): Promise<Dataset> {
    const name = `${kind} ${count}`;
    let dataset = this.#datasets.get(name);
    if (dataset === undefined) {
      dataset = this.place(kind)
        .then((place) => openDataset(place, count, this.#say, () => this.folder()))
        .then((dataset) => this.#closing.use(dataset));
      this.#datasets.set(name, dataset);
    }
    return dataset;
  }

  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "loggia-bench-"));
    this.#closing.defer(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closing.disposeAsync();
  }
}

/** Removes what a place holds, once nothing runs there any more. */
export async function clearPlace(place: Place): Promise<void> {
  if (place.kind === "embedded") rmSync(place.folder, { recursive: true, force: true });
  else await place.cluster.clear(place.namespace);
}

/** The settings of a service in a place, whose first start makes the log {@link LOG} with the key {@link API_KEY}. */
function environmentOf(place: Place): Record<string, string> {
  if (place.kind === "embedded") return { ...FIRST, LOGGIA_DATA: place.folder };
  const { cluster, namespace } = place;
  return {
    ...FIRST,
    KAFKA_BROKERS: cluster.brokers.join(","),
    ELASTICSEARCH_URL: cluster.url,
    LOGGIA_NAMESPACE: namespace,
  };
}

/** @param options.roles all unless given; on a cluster each can be a process of its own */
export function startService(
  place: Place,
  options: { roles?: string; flags?: readonly string[] } = {},
): Promise<ServiceProcess> {
  const { roles, flags = [] } = options;
  return startServiceProcess(
    { ...environmentOf(place), ...(roles === undefined ? {} : { LOGGIA_ROLES: roles }) },
    flags,
  );
}

/** The ports of a place within this process, to fill it before a service starts there. */
export async function openPorts(
  place: Place,
): Promise<AsyncDisposable & { readonly bus: Bus; readonly store: Store; readonly catalog: Catalog }> {
  await using closing = new AsyncDisposableStack();
  const bus = closing.use(await openBus(place));
  const documents =
    place.kind === "embedded"
      ? await openSqliteDocuments({ file: join(place.folder, "catalog.sqlite") })
      : await openElasticsearchDocuments({ client: place.cluster.client, namespace: place.namespace });
  const catalog = closing.use(await createCatalog({ documents, log: SILENT }));
  const store = closing.use(await openStore(place));
  const open = closing.move();
  return { bus, store, catalog, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

export function openBus(place: Place): Promise<Bus> {
  return place.kind === "embedded"
    ? openSqliteBus({ file: join(place.folder, "bus.sqlite"), log: SILENT })
    : openKafkaBus({ brokers: place.cluster.brokers, namespace: place.namespace, log: SILENT });
}

export function openStore(place: Place): Promise<Store> {
  return place.kind === "embedded"
    ? openDuckdbStore({ file: join(place.folder, "events.duckdb"), log: SILENT })
    : openElasticsearchStore({ client: place.cluster.client, namespace: place.namespace, log: SILENT });
}
