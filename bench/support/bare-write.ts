import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBDataChunk,
  LIST,
  listValue,
  UBIGINT,
  UINTEGER,
  VARCHAR,
} from "@duckdb/node-api";
import type { DuckDBConnection, DuckDBType, DuckDBValue } from "@duckdb/node-api";
import type { Client } from "@elastic/elasticsearch";
import { join } from "node:path";

import type { StoredEvent } from "../../src/events/event.ts";
import { openDuckdbStore } from "../../src/store/duckdb/store.ts";
import { splitId } from "../../src/store/duckdb/database/schema.ts";
import { encodeDocument, NO_COLUMNS, copyId } from "../../src/store/elasticsearch/documents/document.ts";
import { namesIn } from "../../src/store/elasticsearch/documents/mapping.ts";
import { createOperation } from "../../src/store/elasticsearch/client/bulk.ts";
import type { Alert } from "../../src/store/store.ts";
import type { Backlog } from "./backlog.ts";
import { batchesOf } from "./batches.ts";
import { openBareDuckdb, PLAIN_TABLE } from "./datasets.ts";
import { SILENT } from "./engines.ts";
import { openStore } from "./storage.ts";
import type { ServiceStorage } from "./storage.ts";

/** Writes a pipeline's output with the engine's client alone. Encoding is not measured. */
export type BareWriter = AsyncDisposable & {
  /** Returns events per second. */
  write(backlog: Backlog, inFlight: number): Promise<number>;
};

/** Number of events that the pipeline writes at a time. */
const BATCH = { embedded: 10_000, cluster: 5_000 } as const;
const CHUNK_ROWS = 2_048;

/** @param storage empty storage, which gets the tables or templates of the store */
export async function createBareWriter(storage: ServiceStorage, folder: string): Promise<BareWriter> {
  if (storage.kind === "embedded") return createBareAppender(join(folder, "events.duckdb"));
  await (await openStore(storage))[Symbol.asyncDispose]();
  const { client } = storage.cluster;
  const names = namesIn(storage.namespace);
  return {
    async write({ events, alerts }, inFlight) {
      const copies = Map.groupBy(alerts, ({ event }) => event.id);
      const batches = batchesOf(events, BATCH.cluster).map((batch) =>
        batch
          .flatMap((event) => [
            createOperation(names.eventsOf(event.id), event.id, encodeDocument(event, NO_COLUMNS)),
            ...(copies.get(event.id) ?? []).map(({ user }) =>
              createOperation(
                names.alertsOf(event.id),
                copyId(event.id, user),
                encodeDocument(event, NO_COLUMNS, user),
              ),
            ),
          ])
          .join(""),
      );
      const start_ms = performance.now();
      await Promise.all(Array.from({ length: inFlight }, () => sendAll(client, batches)));
      return events.length / ((performance.now() - start_ms) / 1000);
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Sends batches from `batches`, which concurrent calls share. */
async function sendAll(client: Client, batches: string[]): Promise<void> {
  for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
    const { errors } = await client.bulk({ operations: batch as unknown as never[], filter_path: "errors" });
    if (errors) throw new Error("a bare bulk request failed in part");
  }
}

type Column<T> = readonly [type: DuckDBType, value: (row: T) => DuckDBValue];
/** Columns of {@link PLAIN_TABLE}, in order. */
const EVENT_COLUMNS: readonly Column<StoredEvent>[] = [
  [BIGINT, (event) => BigInt(event.created)],
  [UBIGINT, (event) => splitId(event.id).hi],
  [UINTEGER, (event) => splitId(event.id).lo],
  [VARCHAR, (event) => event.log],
  [VARCHAR, (event) => event.text],
  [VARCHAR, (event) => event.link],
  [LIST(VARCHAR), (event) => listValue([...event.tags])],
  [VARCHAR, (event) => event.source],
  [VARCHAR, (event) => event.user],
  [VARCHAR, (event) => event.class],
  [DOUBLE, (event) => event.value],
  [DOUBLE, () => null],
  [DOUBLE, () => null],
  [VARCHAR, () => null],
  [VARCHAR, (event) => event.data],
  [VARCHAR, (event) => event.pattern],
  [VARCHAR, (event) => event.attributes],
];
const ALERT_COLUMNS: readonly Column<Alert>[] = [
  [UBIGINT, ({ event }) => splitId(event.id).hi],
  [UINTEGER, ({ event }) => splitId(event.id).lo],
  [VARCHAR, ({ user }) => user],
  [VARCHAR, ({ event }) => event.log],
  [BOOLEAN, () => false],
];

/**
 * Creates a writer by DuckDB's appender, with whole chunks, and transactions of as many events as
 * those of the pipeline.
 */
async function createBareAppender(file: string): Promise<BareWriter> {
  await (await openDuckdbStore({ file, log: SILENT }))[Symbol.asyncDispose]();
  await using closing = new AsyncDisposableStack();
  const connection = await openBareDuckdb(file, closing);
  for (const statement of PLAIN_TABLE) await connection.run(statement);
  const open = closing.move();
  return {
    async write({ events, alerts }) {
      const eventsOf = batchesOf(events, BATCH.embedded).map((batch) => chunksOf(batch, EVENT_COLUMNS));
      const alertChunks = chunksOf(alerts, ALERT_COLUMNS);
      const start_ms = performance.now();
      for (const [i, chunks] of eventsOf.entries()) {
        await connection.run("begin");
        if (i === 0) await append(connection, "alerts", alertChunks);
        await append(connection, "events", chunks);
        await connection.run("commit");
      }
      return events.length / ((performance.now() - start_ms) / 1000);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** The values of each column of a chunk. */
type Chunk = { readonly types: readonly DuckDBType[]; readonly columns: readonly (readonly DuckDBValue[])[] };

function chunksOf<T>(rows: readonly T[], columns: readonly Column<T>[]): Chunk[] {
  return batchesOf(rows, CHUNK_ROWS).map((some) => ({
    types: columns.map(([type]) => type),
    columns: columns.map(([, value]) => some.map(value)),
  }));
}

async function append(connection: DuckDBConnection, table: string, chunks: readonly Chunk[]): Promise<void> {
  if (chunks.length === 0) return;
  const appender = await connection.createAppender(table);
  for (const { types, columns } of chunks) {
    const chunk = DuckDBDataChunk.create(types, columns[0]!.length);
    chunk.setColumns(columns);
    appender.appendDataChunk(chunk);
  }
  appender.flushSync();
  appender.closeSync();
}
