import type { ExecutionContext } from "ava";
import { join } from "node:path";
import { pino } from "pino";
import type { Bus } from "../../src/bus/bus.ts";
import { createDeletionLog, type DeletionLog } from "../../src/bus/deletions.ts";
import { openSqliteBus } from "../../src/bus/sqlite/sqlite.ts";
import type { SqliteBus } from "../../src/bus/sqlite/sqlite.ts";
import { createCatalog } from "../../src/catalog/create.ts";
import type { Catalog, ClassFilter } from "../../src/catalog/catalog.ts";
import { openSqliteDocuments } from "../../src/catalog/documents/sqlite.ts";
import type { AcceptedEvent, EventRow, LogKey, UserId } from "../../src/events/event.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { createIdSource } from "../../src/events/id.ts";
import { encodeLine, encodeRecord } from "../../src/events/record.ts";
import { EVERYTHING } from "../../src/query/plan.ts";
import type { RecordSource } from "../../src/query/plan.ts";
import { openDuckdbStore } from "../../src/store/duckdb/store.ts";
import type { DuckdbStore } from "../../src/store/duckdb/store.ts";
import type { Store } from "../../src/store/store.ts";
import { decodeLetter } from "../../pipelines/deadletters/codec.ts";
import type { DeadLetter } from "../../pipelines/deadletters/codec.ts";
import { startPipeline } from "../../pipelines/runner.ts";
import type { Pipeline, PipelineOptions } from "../../pipelines/runner.ts";
import { ABSENT_FIELDS } from "../../src/events/absent-fields.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { Scheduler } from "../../src/scheduling/scheduler.ts";

export const SILENT = pino({ level: process.env["TEST_LOG"] ?? "silent" });

/** The engines of one kind, empty and for one test. */
export type Ports = {
  readonly bus: Bus;
  readonly store: Store;
  readonly catalog: Catalog;
};

export type EmbeddedPorts = Ports & AsyncDisposable & { readonly bus: SqliteBus; readonly store: DuckdbStore };

export type EngineKind = { readonly name: string; readonly open: (t: ExecutionContext) => Promise<Ports> };

/** Opens embedded engines in a folder; the caller closes them. */
export async function openEmbedded(folder: string): Promise<EmbeddedPorts> {
  await using stack = new AsyncDisposableStack();
  const bus = stack.use(await openSqliteBus({ file: join(folder, "bus.sqlite"), log: SILENT }));
  const documents = await openSqliteDocuments({ file: join(folder, "catalog.sqlite") });
  const catalog = stack.use(await createCatalog({ documents, log: SILENT }));
  const store = stack.use(
    await openDuckdbStore({ file: join(folder, "events.duckdb"), log: SILENT, memoryLimit_mb: 256, threads: 1 }),
  );
  const opened = stack.move();
  return { bus, store, catalog, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

export const EMBEDDED: EngineKind = {
  name: "embedded",
  open: async (t) => {
    const ports = await openEmbedded(temporaryFolder(t));
    t.teardown(() => ports[Symbol.asyncDispose]());
    return ports;
  },
};

/** Starts a pipeline with short delays between retries, closed with the test. */
export async function start(
  t: ExecutionContext,
  ports: Ports,
  options: Partial<PipelineOptions> = {},
): Promise<Pipeline> {
  const pipeline = await startPipeline({
    ...ports,
    scheduler: new Scheduler(),
    log: SILENT,
    retryFirst_ms: 5,
    retryLast_ms: 50,
    ...options,
  });
  t.teardown(() => pipeline.close(1_000));
  return pipeline;
}

const nextId = createIdSource();

/** Returns a deletion log that makes deletions durable as the API does. */
export function deletionsOn(bus: Pick<Bus, "append">): DeletionLog {
  return createDeletionLog({ bus, ids: nextId });
}

/** Returns an accepted event as posting creates it. */
export function accept(log: LogKey, fields: Partial<AcceptedEvent> = {}): AcceptedEvent {
  return { ...nextId(), log, text: "something happened", ...ABSENT_FIELDS, ...fields };
}

/** Appends events of one log, this many to a record. */
export async function post(bus: Bus, events: readonly AcceptedEvent[], perRecord = 10): Promise<void> {
  const records = [];
  for (let i = 0; i < events.length; i += perRecord) {
    const some = events.slice(i, i + perRecord);
    records.push({ key: some[0]!.log, value: encodeRecord(some[0]!.log, some.map(encodeLine)) });
  }
  await bus.append("events", records);
}

/** Waits until every record of the topic is acknowledged. */
export async function caughtUp(pipeline: Pick<Pipeline, "lag">): Promise<void> {
  await until(
    async () => {
      const partitions = await pipeline.lag();
      return partitions.length > 0 && partitions.every(({ next, end }) => next >= end);
    },
    { what: "the pipeline to have caught up" },
  );
}

/** Returns all events of a log, in order of acceptance. */
export async function rows(
  store: Store,
  log: LogKey,
  from: RecordSource = { kind: "events" },
): Promise<readonly EventRow[]> {
  await store.refresh();
  const all: EventRow[] = [];
  for (;;) {
    const page = await store.list({
      kind: "list",
      from,
      logs: [log],
      where: EVERYTHING,
      sort: [],
      skip: all.length,
      take: 500,
      columns: null,
    });
    all.push(...page.rows);
    if (all.length >= page.total || page.rows.length === 0) return all;
  }
}

export function alertsOf(store: Store, log: LogKey, user: UserId): Promise<readonly EventRow[]> {
  return rows(store, log, { kind: "alerts", user });
}

/** Returns all present dead letters, in no order. */
export async function deadLetters(bus: Bus): Promise<DeadLetter[]> {
  const group = uniqueName("reader");
  const letters: DeadLetter[] = [];
  const subscription = await bus.subscribe(
    { topic: "dead-letters", group, maxRecords: 1_000, maxBytes: 10_000_000 },
    async (batch) => {
      for (const { value } of batch.records) letters.push(decodeLetter(value)!);
      await batch.ack();
    },
  );
  await until(async () => (await bus.lag("dead-letters", group)).every(({ next, end }) => next >= end), {
    what: "all dead letters to be read",
  });
  await subscription.close();
  return letters;
}

/** Creates a log with an owner, for one test. */
export async function makeLog(catalog: Catalog): Promise<{ log: LogKey; owner: UserId }> {
  const account = await catalog.createAccount({
    email: `${uniqueName("owner")}@example.com`,
    password: "correct horse battery",
    admin: false,
  });
  const log = uniqueLog();
  await catalog.createLog({ key: log, display: log, owner: account.id });
  return { log, owner: account.id };
}

export function uniqueLog(): LogKey {
  return parseLogKey(uniqueName("log"))!;
}

/** Adds a user with access to the log who is alerted of a class. */
export async function addSubscriber(catalog: Catalog, log: LogKey, classKey: string): Promise<UserId> {
  const email = `${uniqueName("reader")}@example.com`;
  const { id } = await catalog.createAccount({ email, password: "correct horse battery", admin: false });
  await catalog.share(log, email, "user");
  await catalog.setClassOptions(id, log, classKey, { alert: true, notify: false, hide: false });
  return id;
}

export function classFilter(key: string, conditions: Partial<ClassFilter>): ClassFilter {
  return { key, display: key, color: "red", tag: "", text: "", link: "", source: "", weight: 1, ...conditions };
}

/** The real bus, with some of its functions wrapped to inject faults. */
export function overBus(bus: Bus, faults: Partial<Bus>): Bus {
  return {
    append: (...given) => bus.append(...given),
    subscribe: (...given) => bus.subscribe(...given),
    read: (...given) => bus.read(...given),
    lag: (...given) => bus.lag(...given),
    last: (...given) => bus.last(...given),
    ping: () => bus.ping(),
    [Symbol.asyncDispose]: async () => {},
    ...faults,
  };
}
