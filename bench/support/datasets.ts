import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { estypes } from "@elastic/elasticsearch";
import { copyFileSync, readdirSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

import type { StoredEvent } from "../../src/events/event.ts";
import type { Store } from "../../src/store/store.ts";
import { storedEvents } from "./events.ts";
import type { Shape } from "./events.ts";
import { get } from "./client.ts";
import { fillFlatIndex } from "./flat-index.ts";
import { startPlainProxy } from "./processes.ts";
import type { ServiceProcess } from "./processes.ts";
import { openStore, startService } from "./storage.ts";
import type { ServiceStorage } from "./storage.ts";
import { waitUntilIdle } from "./idle.ts";

/** Events in a store, a service on them, and the bare engine with the same rows. */
export type Dataset = AsyncDisposable & {
  readonly count: number;
  readonly storage: ServiceStorage;
  readonly service: ServiceProcess;
  readonly bare: Bare;
  /** Returns the size of the store on disk in bytes. */
  size(): Promise<number>;
};

/** The engine without Loggia. */
export type Bare = {
  /** Queries a copy of the events in DuckDB, with memory and threads as in the service. */
  duckdb(sql: string, values?: readonly (string | number)[]): Promise<readonly (readonly unknown[])[]>;
  /** Streams the rows of a query as objects, without holding all in memory. */
  duckdbRows(sql: string): AsyncIterable<readonly object[]>;
  /** Searches the service's indices; for events with attributes, an index with a field for each. */
  elasticsearch(request: estypes.SearchRequest): Promise<estypes.SearchResponse>;
  /** Searches through a server that only forwards. */
  elasticsearchByProxy(request: estypes.SearchRequest): Promise<estypes.SearchResponse>;
};

/** Number of events, and what they hold. */
type Events = { readonly count: number; readonly shape: Shape };

const BATCH = 5_000;
const IN_FLIGHT = 3;

export async function openDataset(
  storage: ServiceStorage,
  { count, shape }: Events,
  say: (line: string) => void,
  folder: () => string,
): Promise<Dataset> {
  await using closing = new AsyncDisposableStack();
  const start_ms = performance.now();
  // Creates the account and the log. A service that finds events without them assumes its catalog
  // lost.
  await (await startService(storage)).stop();
  await fill(storage, storedEvents(count, shape));
  const bare = await openBare(storage, { count, shape }, folder, closing);
  const service = closing.use(await startService(storage));
  await waitUntilIdle();
  const took_s = (performance.now() - start_ms) / 1000;
  const named = { plain: "events", attributes: "events with attributes", long: "events with long texts" }[shape];
  say(`  (${count.toLocaleString("en-US")} ${named} ready on ${storage.kind} engines after ${took_s.toFixed(0)} s)`);
  const open = closing.move();
  return {
    count,
    storage,
    service,
    bare,
    size: () => sizeOf(storage),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Writes events through the store port, a few requests at a time. */
async function fill(storage: ServiceStorage, events: Iterable<StoredEvent>): Promise<void> {
  await using store = await openStore(storage);
  const writing = new Set<Promise<void>>();
  let batch: StoredEvent[] = [];
  const write = async (): Promise<void> => {
    if (writing.size >= (storage.kind === "embedded" ? 1 : IN_FLIGHT)) await Promise.race(writing);
    const written: Promise<void> = writeAll(store, batch).finally(() => writing.delete(written));
    writing.add(written);
    batch = [];
  };
  for (const event of events) if (batch.push(event) === BATCH) await write();
  await write();
  await Promise.all(writing);
  await store.refresh();
  // Otherwise repeated queries would be answered from the cache.
  if (storage.kind === "cluster") {
    const index = `${storage.namespace}-events*`;
    await storage.cluster.client.indices.putSettings({ index, settings: { "index.requests.cache.enable": false } });
  }
}

async function writeAll(store: Store, events: readonly StoredEvent[]): Promise<void> {
  const prepared = store.prepareEvents();
  await prepared.add(events);
  const outcomes = await store.writeEvents(prepared);
  const failure = outcomes.find((outcome) => outcome.kind !== "done");
  if (failure !== undefined) throw new Error(`writing the data set failed: ${failure.reason}`);
}

/** Turns the service's table of events into a plain one: tags in lists, no folded forms. */
export const PLAIN_TABLE: readonly string[] = [
  `create table plain as select * exclude (folded, log_number, others)
   replace (if(tags = '', [], string_split(trim(tags, chr(10)), chr(10))) as tags) from events`,
  "drop table events",
  "alter table plain rename to events",
  "checkpoint",
];

/** Turns it into a plain table with each attribute in a column of its own type. */
const PLAIN_TABLE_OF_ATTRIBUTES: readonly string[] = [
  `create table plain as select id_hi, id_lo, created, log, text, link,
    if(tags = '', [], string_split(trim(tags, chr(10)), chr(10))) as tags,
    source, "user", class, value, lat, lon, ip, data, pattern,
    attributes->>'$.host' as host, attributes->>'$."http.route"' as route,
    (attributes->>'$."http.status"')::integer as status, (attributes->>'$.duration_ms')::double as duration_ms,
    attributes->>'$.trace_id' as trace_id from events`,
  ...PLAIN_TABLE.slice(1),
];

async function openBare(
  storage: ServiceStorage,
  { count, shape }: Events,
  folder: () => string,
  closing: AsyncDisposableStack,
): Promise<Bare> {
  if (storage.kind === "embedded") {
    // Two processes cannot share a DuckDB file.
    const file = join(folder(), "events.duckdb");
    copyFileSync(join(storage.folder, "events.duckdb"), file);
    const connection = await openBareDuckdb(file, closing);
    for (const statement of shape === "attributes" ? PLAIN_TABLE_OF_ATTRIBUTES : PLAIN_TABLE) {
      await connection.run(statement);
    }
    return {
      duckdbRows: (sql) => rowsOf(connection, sql),
      duckdb: async (sql, values = []) => (await connection.runAndReadAll(sql, [...values])).getRowsJS(),
      elasticsearch: () => Promise.reject(new TypeError("not available on embedded engines")),
      elasticsearchByProxy: () => Promise.reject(new TypeError("not available on embedded engines")),
    };
  }
  const { client, url } = storage.cluster;
  // Another namespace, since a service refuses one with events and without accounts.
  const isFlat = shape === "attributes";
  const index = isFlat ? `${storage.cluster.namespace()}-flat` : `${storage.namespace}-events`;
  if (isFlat) await fillFlatIndex(client, index, storedEvents(count, shape));
  const { port } = closing.use(await startPlainProxy(`${url}/${index}/_search`));
  return {
    duckdb: () => Promise.reject(new TypeError("not available on a cluster")),
    duckdbRows: () => {
      throw new TypeError("not available on a cluster");
    },
    elasticsearch: (request) => client.search({ index, ...request }),
    elasticsearchByProxy: async (request) =>
      JSON.parse((await get(port, "/", { search: JSON.stringify(request) })).body) as estypes.SearchResponse,
  };
}

async function* rowsOf(connection: DuckDBConnection, sql: string): AsyncGenerator<readonly object[]> {
  yield* (await connection.stream(sql)).yieldRowObjectJs();
}

/** Opens DuckDB with the settings of the service. */
export async function openBareDuckdb(file: string, closing: AsyncDisposableStack): Promise<DuckDBConnection> {
  const threads = String(Math.min(4, availableParallelism()));
  const instance = await DuckDBInstance.create(file, {
    memory_limit: "512MB",
    threads,
    checkpoint_threshold: "64MB",
  });
  closing.defer(() => instance.closeSync());
  const connection = await instance.connect();
  closing.defer(() => connection.closeSync());
  return connection;
}

/** Returns the size of a service's store on disk in bytes. */
export async function sizeOf(storage: ServiceStorage): Promise<number> {
  if (storage.kind === "embedded") {
    const files = readdirSync(storage.folder).filter((name) => name.startsWith("events.duckdb"));
    return files.reduce((sum, name) => sum + statSync(join(storage.folder, name)).size, 0);
  }
  const { client } = storage.cluster;
  const index = `${storage.namespace}-events`;
  await client.indices.forcemerge({ index, max_num_segments: 1 });
  const { indices = {} } = await client.indices.stats({ index, metric: "store" });
  return Object.values(indices).reduce((sum, { total }) => sum + (total?.store?.size_in_bytes ?? 0), 0);
}
