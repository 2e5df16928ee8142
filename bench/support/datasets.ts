import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { estypes } from "@elastic/elasticsearch";
import { copyFileSync, readdirSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

import type { StoredEvent } from "../../src/events/event.ts";
import type { Store } from "../../src/store/store.ts";
import { storedEvents } from "./events.ts";
import { get } from "./client.ts";
import { startPlainProxy } from "./processes.ts";
import type { ServiceProcess } from "./processes.ts";
import { openStore, startService } from "./places.ts";
import type { Place } from "./places.ts";
import { atRest } from "./rest.ts";

/** Events in a store, a service over them, and the bare engine with the same rows. */
export type Dataset = AsyncDisposable & {
  readonly count: number;
  readonly place: Place;
  readonly service: ServiceProcess;
  readonly bare: Bare;
  /** What the store takes on the disk, in bytes. */
  size(): Promise<number>;
};

/** The engine as one would ask it without Loggia. */
export type Bare = {
  /** Rows of DuckDB, from a copy of the events, with the memory and the threads that the service's own has. */
  duckdb(sql: string, values?: readonly (string | number)[]): Promise<readonly (readonly unknown[])[]>;
  /** A search over the very indices of the service. */
  elasticsearch(request: estypes.SearchRequest): Promise<estypes.SearchResponse>;
  /** The same through a server that does nothing but hand it on. */
  elasticsearchByProxy(request: estypes.SearchRequest): Promise<estypes.SearchResponse>;
};

const BATCH = 5_000;
const IN_FLIGHT = 3;

export async function openDataset(
  place: Place,
  count: number,
  say: (line: string) => void,
  folder: () => string,
): Promise<Dataset> {
  await using closing = new AsyncDisposableStack();
  const start_ms = performance.now();
  await fill(place, storedEvents(count));
  const bare = await openBare(place, folder, closing);
  const service = closing.use(await startService(place));
  await atRest();
  const took_s = (performance.now() - start_ms) / 1000;
  say(`  (${count.toLocaleString("en-US")} events ready on ${place.kind} engines after ${took_s.toFixed(0)} s)`);
  const open = closing.move();
  return {
    count,
    place,
    service,
    bare,
    size: () => sizeOf(place),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Writes events by the store port, a few requests at a time. */
async function fill(place: Place, events: Iterable<StoredEvent>): Promise<void> {
  await using store = await openStore(place);
  const writing = new Set<Promise<void>>();
  let batch: StoredEvent[] = [];
  const write = async (): Promise<void> => {
    if (writing.size >= (place.kind === "embedded" ? 1 : IN_FLIGHT)) await Promise.race(writing);
    const written: Promise<void> = writeAll(store, batch).finally(() => writing.delete(written));
    writing.add(written);
    batch = [];
  };
  for (const event of events) if (batch.push(event) === BATCH) await write();
  await write();
  await Promise.all(writing);
  await store.refresh();
  // Otherwise a question that is asked twice is answered from memory, which measures nothing.
  if (place.kind === "cluster") {
    const index = `${place.namespace}-events*`;
    await place.cluster.client.indices.putSettings({ index, settings: { "index.requests.cache.enable": false } });
  }
}

async function writeAll(store: Store, events: readonly StoredEvent[]): Promise<void> {
  const prepared = store.prepareEvents();
  await prepared.add(events);
  const outcomes = await store.writeEvents(prepared);
  const failure = outcomes.find((outcome) => outcome.kind !== "done");
  if (failure !== undefined) throw new Error(`The data set could not be written: ${failure.reason}`);
}

/** Makes of our table of events one as it would be without Loggia: tags in lists, no forms to compare by. */
export const PLAIN_TABLE: readonly string[] = [
  "create table plain as select * exclude (folded, log_number) replace (if(tags = '', [], string_split(trim(tags, chr(10)), chr(10))) as tags) from events",
  "drop table events",
  "alter table plain rename to events",
  "checkpoint",
];

async function openBare(place: Place, folder: () => string, closing: AsyncDisposableStack): Promise<Bare> {
  if (place.kind === "embedded") {
    // Two processes cannot share a file of DuckDB.
    const file = join(folder(), "events.duckdb");
    copyFileSync(join(place.folder, "events.duckdb"), file);
    const connection = await openBareDuckdb(file, closing);
    for (const statement of PLAIN_TABLE) await connection.run(statement);
    return {
      duckdb: async (sql, values = []) => (await connection.runAndReadAll(sql, [...values])).getRowsJS(),
      elasticsearch: () => Promise.reject(new TypeError("These are embedded engines")),
      elasticsearchByProxy: () => Promise.reject(new TypeError("These are embedded engines")),
    };
  }
  const { client, url } = place.cluster;
  const index = `${place.namespace}-events`;
  const { port } = closing.use(await startPlainProxy(`${url}/${index}/_search`));
  return {
    duckdb: () => Promise.reject(new TypeError("This is a cluster")),
    elasticsearch: (request) => client.search({ index, ...request }),
    elasticsearchByProxy: async (request) =>
      JSON.parse((await get(port, "/", { search: JSON.stringify(request) })).body) as estypes.SearchResponse,
  };
}

/** DuckDB with what the service gives it. */
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

/** What the store of a place takes on the disk, in bytes. */
export async function sizeOf(place: Place): Promise<number> {
  if (place.kind === "embedded") {
    const files = readdirSync(place.folder).filter((name) => name.startsWith("events.duckdb"));
    return files.reduce((sum, name) => sum + statSync(join(place.folder, name)).size, 0);
  }
  const { client } = place.cluster;
  const index = `${place.namespace}-events`;
  await client.indices.forcemerge({ index, max_num_segments: 1 });
  const { indices = {} } = await client.indices.stats({ index, metric: "store" });
  return Object.values(indices).reduce((sum, { total }) => sum + (total?.store?.size_in_bytes ?? 0), 0);
}
