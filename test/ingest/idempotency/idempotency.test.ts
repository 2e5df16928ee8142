import test, { type ExecutionContext } from "ava";
import { join } from "node:path";
import { pino } from "pino";

import type { Bus } from "../../../src/bus/bus.ts";
import { createDeletionLog } from "../../../src/bus/deletions.ts";
import { openSqliteBus } from "../../../src/bus/sqlite/sqlite.ts";
import { openSqliteDocuments } from "../../../src/catalog/documents/sqlite.ts";
import type { Documents } from "../../../src/catalog/documents/documents.ts";
import type { LoggiaError } from "../../../src/errors.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import type { LogKey } from "../../../src/events/event.ts";
import { createIdSource, type EventId } from "../../../src/events/id.ts";
import { createWriteCoalescer } from "../../../src/ingest/append/write-coalescer.ts";
import { DocumentReservations } from "../../../src/ingest/idempotency/document-reservations.ts";
import { KEY_LIFE_MS, startKeyRemoval } from "../../../src/ingest/idempotency/idempotency-store.ts";
import { createIdempotency, type Idempotency } from "../../../src/ingest/idempotency/idempotency.ts";
import { openDuckdbStore } from "../../../src/store/duckdb/store.ts";
import { decodeRecord } from "../../../src/events/record.ts";
import { eventsOn } from "../../support/events-on.ts";
import { KINDS } from "../../support/engine-kinds.ts";
import { environmentOf, get, KEY, LOG, type Service, startService } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const SILENT = pino({ level: "silent" });
const SHOP = parseLogKey("shop")!;

/**
 * Creates a bus and an idempotency store in files of the test's own; `start` adds a posting process
 * on them.
 */
async function house(t: ExecutionContext, settle_ms = 0) {
  const folder = temporaryFolder(t);
  const clock = { now_ms: Date.now() };
  const now = () => clock.now_ms;
  // On the same clock as the ids: the search for a batch ends some seconds after the time of its ids.
  const busClock = { now, mayRemove: () => false };
  const bus = await openSqliteBus({ file: join(folder, "bus.sqlite"), log: SILENT, clock: busClock });
  const file = join(folder, "batches.sqlite");
  const documents = await openSqliteDocuments({ file });
  t.teardown(() => Promise.all([bus[Symbol.asyncDispose](), documents[Symbol.asyncDispose]()]));
  const store = await openDuckdbStore({ file: join(folder, "events.duckdb"), log: SILENT, threads: 1 });
  t.teardown(() => store[Symbol.asyncDispose]());
  const deletions = createDeletionLog({ bus, ids: createIdSource() });
  const start = (through: Pick<Bus, "append"> = bus, read: Pick<Bus, "read"> = bus, keys: Documents = documents) => {
    const appending: Bus = Object.create(bus, { append: { value: through.append.bind(through) } });
    const bounds = { append_ms: 60_000, deadline_ms: 60_000, maxQueuedEvents: 10_000, maxQueuedBytes: 10_000_000 };
    const coalescer = createWriteCoalescer({
      bus: appending,
      ids: createIdSource({ now }),
      quotaOwnerOf: (log) => log,
      ...bounds,
    });
    const reservations = new DocumentReservations(keys, { log: SILENT });
    const idempotency: Idempotency = createIdempotency({ reservations, bus: read, store, deletions, settle_ms, now });
    return (key: string, texts: readonly string[], apiKey = "one") => {
      const lines = texts.map((text) => ({ fields: `"text":${JSON.stringify(text)}}`, created: null }));
      const batch = {
        log: SHOP,
        apiKey,
        key,
        hash: texts.join(),
        count: texts.length,
        read_ms: now(),
        trusted_ms: now(),
      };
      return idempotency.post(batch, (ids) => coalescer.submitLines(SHOP, lines, ids));
    };
  };
  return { bus, store, documents, clock, start };
}

async function idsOn(bus: Bus): Promise<EventId[]> {
  return (await eventsOn(bus)).map(({ id }) => id);
}

/** A bus whose process dies before an append is stored, or after. */
const dying = (when: "before" | "after", bus: Bus): Pick<Bus, "append"> => ({
  async append(topic, records, options) {
    if (when === "after") await bus.append(topic, records, options);
    throw new Error("this process is dead");
  },
});

test("a stored batch is not stored again by any process", async (t) => {
  const { bus, start } = await house(t);
  const [one, two] = [start(), start()];
  const first = await one("k", ["a", "b"]);
  t.deepEqual(await one("k", ["a", "b"]), first);
  t.deepEqual(await two("k", ["a", "b"]), first);
  t.is((await idsOn(bus)).length, 2);
  t.is((await two("other", ["a", "b"])).first > first.first, true);
  t.is((await idsOn(bus)).length, 4);
});

test("of many identical batches at once one is stored, and all get its response", async (t) => {
  const { bus, start } = await house(t);
  const one = start();
  const answers = await Promise.all(Array.from({ length: 20 }, () => one("k", ["a", "b"])));
  t.is(new Set(answers.map(({ first }) => first)).size, 1);
  t.is((await idsOn(bus)).length, 2);
});

test("an idempotency key is valid for one body", async (t) => {
  const { start } = await house(t);
  const one = start();
  const running = one("k", ["a"]);
  for (const post of [one, start()]) {
    const error = await t.throwsAsync(async () => {
      if (post !== one) await running;
      await post("k", ["b"]);
    });
    t.is((error as LoggiaError).code, "conflict");
  }
  await running;
});

test("an idempotency key belongs to the API key that it was sent with", async (t) => {
  const { bus, start } = await house(t);
  const [one, two] = [start(), start()];
  const first = await one("k", ["a"], "web");
  const other = await two("k", ["b"], "till");
  const same = await two("k", ["a"], "cron");
  t.is((await idsOn(bus)).length, 3);
  t.deepEqual(await two("k", ["a"], "web"), first);
  t.deepEqual(await one("k", ["b"], "till"), other);
  t.deepEqual(await one("k", ["a"], "cron"), same);
  t.is((await idsOn(bus)).length, 3);
});

test("a batch stored by a process that died before its response is found on the bus", async (t) => {
  const { bus, start } = await house(t);
  await t.throwsAsync(start(dying("after", bus))("k", ["a", "b"]));
  const before = await idsOn(bus);
  t.is(before.length, 2);
  const { first } = await start()("k", ["a", "b"]);
  t.is(first, before[0]!);
  t.deepEqual(await idsOn(bus), before);
});

test("a batch that the bus has removed is found in the store, its deleted events included", async (t) => {
  const { bus, store, start } = await house(t);
  await t.throwsAsync(start(dying("after", bus))("k", ["a", "b"]));
  const events = await eventsOn(bus);
  const prepared = store.prepareEvents();
  await prepared.add(events);
  await store.writeEvents(prepared);
  await store.writeDeletions([{ log: SHOP, event: events[1]!.id, alertOf: null }]);
  const emptied: Pick<Bus, "read"> = { read: async function* () {} };
  const { first } = await start(bus, emptied)("k", ["a", "b"]);
  t.is(first, events[0]!.id);
  t.is((await idsOn(bus)).length, 2);
});

test("a batch that was never stored gets new ids, after those of later posts", async (t) => {
  const { bus, clock, start } = await house(t);
  await t.throwsAsync(start(dying("before", bus))("k", ["a", "b"]));
  clock.now_ms += 1_000;
  const one = start();
  const other = await one("other", ["c"]);
  const { first } = await one("k", ["a", "b"]);
  t.true(first > other.first);
  t.is((await idsOn(bus)).length, 3);
  t.is((await one("k", ["a", "b"])).first, first);
});

test("a repeat is told to retry while the append of another process may still arrive", async (t) => {
  const { bus, clock, start } = await house(t, 40_000);
  await t.throwsAsync(start(dying("before", bus))("k", ["a"]));
  const one = start();
  clock.now_ms += 30_000;
  const error = await t.throwsAsync<LoggiaError>(one("k", ["a"]));
  t.is(error?.code, "bus_unavailable");
  t.is(error?.retryAfter_s, 10, "the time after which the append can no longer arrive");
  t.deepEqual(await idsOn(bus), []);
  clock.now_ms += 10_001;
  await one("k", ["a"]);
  t.is((await idsOn(bus)).length, 1);
});

test("the missing part of a partly stored batch is stored under the ids reserved for it", async (t) => {
  const { bus, start } = await house(t);
  const half: Pick<Bus, "append"> = {
    async append(topic, [record]) {
      const lines = record!.value.toString().split("\n");
      await bus.append(topic, [{ key: record!.key, value: Buffer.from(lines.slice(0, 2).join("\n")) }]);
      throw new Error("only half of it");
    },
  };
  await t.throwsAsync(start(half)("k", ["a", "b"]));
  const { first } = await start()("k", ["a", "b"]);
  const ids = new Set(await idsOn(bus));
  t.is(ids.size, 2);
  t.is([...ids].toSorted()[0], first);
});

test("a deletion is appended again after an event that a repeated batch appends again", async (t) => {
  const { bus, store, start } = await house(t);
  const half: Pick<Bus, "append"> = {
    async append(topic, [record]) {
      const lines = record!.value.toString().split("\n");
      await bus.append(topic, [{ key: record!.key, value: Buffer.from(lines.slice(0, 2).join("\n")) }]);
      throw new Error("only half of it");
    },
  };
  await t.throwsAsync(start(half)("k", ["a", "b"]));
  const [stored] = await idsOn(bus);
  await store.writeDeletions([{ log: SHOP, event: stored!, alertOf: null }]);
  await start()("k", ["a", "b"]);
  const last = await bus.last("events");
  const lines = last.flatMap(({ value }) => decodeRecord(value));
  t.like(lines, [{ kind: "deletion", deletion: { log: SHOP, event: stored, alertOf: null } }]);
});

test("an idempotency key expires after a day and is removed", async (t) => {
  const { bus, documents, clock, start } = await house(t);
  const one = start();
  const { first } = await one("k", ["a"]);
  const keyRemoval = startKeyRemoval(documents, {
    log: SILENT,
    clock: { now: () => clock.now_ms, mayRemove: () => true },
  });
  t.teardown(() => keyRemoval.close());
  t.is(await keyRemoval.removeExpired(), 0);
  clock.now_ms += KEY_LIFE_MS - 1;
  t.is((await one("k", ["a"])).first, first);
  t.is(await keyRemoval.removeExpired(), 0);
  await one("young", ["b"]);
  clock.now_ms += 2;
  t.is(await keyRemoval.removeExpired(), 1);
  t.true((await one("k", ["a"])).first > first);
  await t.throwsAsync(one("young", ["c"]));
  t.is((await idsOn(bus)).length, 3);
});

async function post(
  service: Service,
  key: string,
  count: number,
  secret: string = KEY,
): Promise<{ status: number; ids: string[] }> {
  const response = await fetch(`${service.postUrl}/1/logs/${LOG}/events`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-API-Key": secret, "Idempotency-Key": key },
    body: JSON.stringify(Array.from({ length: count }, (_, n) => ({ text: `event ${n}` }))),
  });
  const { items = [] } = (await response.json()) as { items?: { id: string }[] };
  return { status: response.status, ids: items.map(({ id }) => id) };
}

/** Returns the ids that a list shows once it has this many. */
async function stored(service: Service, count: number): Promise<string[]> {
  return until(
    async () => {
      const { body } = await get(service, `/1/logs/${LOG}/events?pagesize=500`);
      const ids = (body as { id: string }[]).map(({ id }) => id);
      return ids.length >= count ? ids : null;
    },
    { what: `${count} events` },
  );
}

for (const kind of KINDS) {
  test(`${kind}: a batch is stored once, also after a restart`, async (t) => {
    const environment = environmentOf(kind, temporaryFolder(t));
    const before = await startService(environment);
    const first = await post(before, "monday", 50);
    t.is(first.status, 201);
    const other = await before.ports.catalog.createApiKey(LOG as LogKey, "write-only");
    await before.close();
    const after = await startService(environment);
    t.teardown(() => after.close());
    t.deepEqual(await post(after, "monday", 50), first);
    const next = await post(after, "tuesday", 1);
    const others = await post(after, "tuesday", 2, other.secret);
    t.is(others.status, 201, "a key belongs to the API key that it came with");
    t.deepEqual((await stored(after, 53)).toSorted(), [...first.ids, ...next.ids, ...others.ids].toSorted());
  });
}

if (KINDS.includes("cluster")) {
  test("cluster: of a batch sent to two processes at once, one is stored", async (t) => {
    const environment = environmentOf("cluster", "");
    const one = await startService(environment);
    t.teardown(() => one.close());
    const two = await startService({ ...environment, LOGGIA_ROLES: "post" });
    t.teardown(() => two.close());
    const ids = new Set<string>();
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all([post(one, `k${round}`, 20), post(two, `k${round}`, 20)]);
      t.true(answers.every(({ status }) => status === 201));
      t.is(new Set(answers.map((answer) => answer.ids.join())).size, 1);
      for (const id of answers[0].ids) ids.add(id);
    }
    t.deepEqual((await stored(one, 200)).toSorted(), [...ids].toSorted());
  });
}
