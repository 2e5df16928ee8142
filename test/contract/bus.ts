import test, { type ExecutionContext } from "ava";
import { randomBytes } from "node:crypto";
import { errorStatus, LoggiaError } from "../../src/errors.ts";
import type {
  Batch,
  Bus,
  BusRecord,
  NewRecord,
  ReadOptions,
  SubscribeOptions,
  Subscription,
} from "../../src/bus/bus.ts";
import { until } from "../support/until.ts";

/**
 * The storage of one test's bus. `open` can be called again after the bus was closed and finds the
 * stored records.
 */
export type BusStorage = { open(): Promise<Bus> };

export const ANY_SIZE = { topic: "events", maxRecords: 1000, maxBytes: 4 * 1024 * 1024 } as const;

/** Tests that every adapter of the bus port passes. */
export function busContract(name: string, storageOf: (t: ExecutionContext) => BusStorage): void {
  const contract = (title: string, run: (t: ExecutionContext, storage: BusStorage) => Promise<void>) =>
    test(`${name}: ${title}`, (t) => run(t, storageOf(t)));

  contract("records of one key stay in order, however they are appended", async (t, storage) => {
    await using bus = await storage.open();
    const appends: Promise<void>[] = [];
    for (let i = 0; i < 600; i += 2) {
      appends.push(bus.append("events", [record(`key-${i % 7}`, `${i}`), record(`key-${i % 5}`, `${i + 1}`)]));
    }
    await Promise.all(appends);
    const { records } = await collect(bus, { group: "order" });
    // A retry may append records again after the originals; a map keeps the position of the first
    // copy.
    const keyOf = () => new Map(records.map(({ key, value }) => [Number(value.toString()), key]));
    await until(() => keyOf().size === 600, { what: "all records" });
    for (let key = 0; key < 7; key++) {
      const numbers = [...keyOf()].filter(([, found]) => found === `key-${key}`).map(([number]) => number);
      t.true(numbers.length > 0);
      t.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
    }
  });

  contract("delivers 10,000 records once each, in order, with rising offsets", async (t, storage) => {
    await using bus = await storage.open();
    const { records } = await collect(bus, { group: "many", maxRecords: 512 });
    for (let i = 0; i < 20; i++) {
      await bus.append(
        "events",
        Array.from({ length: 500 }, (_, n) => record("k", `${i * 500 + n}`)),
      );
    }
    await until(() => records.length >= 10_000, { what: "10,000 records" });
    t.deepEqual(
      records.map(({ value }) => Number(value.toString())),
      Array.from({ length: 10_000 }, (_, n) => n),
    );
    t.true(records.every(({ position }, i) => i === 0 || position.offset > (records[i - 1]?.position.offset ?? 0)));
    t.true(records.every(({ appended }) => Math.abs(appended - Date.now()) < 120_000));
  });

  contract("returns the last record of each partition, also after reopening", async (t, storage) => {
    const keys = Array.from({ length: 12 }, (_, i) => `key-${i}`);
    {
      await using bus = await storage.open();
      t.deepEqual(await bus.last("events"), []);
      for (let i = 0; i < 3; i++) {
        await bus.append(
          "events",
          keys.map((key) => record(key, `${key} ${i}`)),
        );
      }
      await bus.append("dead-letters", [record("a", "dead")]);
    }
    await using bus = await storage.open();
    const last = await bus.last("events");
    const lags = await bus.lag("events", "nobody");
    t.deepEqual(
      last.map(({ position }) => `${position.partition}: ${position.offset + 1}`).toSorted(),
      lags.flatMap(({ partition, end }) => (end > 0 ? `${partition}: ${end}` : [])).toSorted(),
    );
    t.true(last.every(({ key, value }) => value.toString() === `${key} 2`));
    t.deepEqual(texts(await bus.last("dead-letters")), ["dead"]);
  });

  contract("appended records survive closing and reopening", async (t, storage) => {
    {
      await using bus = await storage.open();
      await bus.append("events", [record("a", "before")]);
      await bus.append("dead-letters", [record("a", "dead")]);
    }
    await using bus = await storage.open();
    await bus.append("events", [record("a", "after")]);
    const events = await collect(bus, { group: "g" });
    const dead = await collect(bus, { group: "g", topic: "dead-letters" });
    await until(() => events.records.length === 2 && dead.records.length === 1, {
      what: "records of both lives",
    });
    t.deepEqual(texts(events.records), ["before", "after"]);
    t.deepEqual(texts(dead.records), ["dead"]);
    t.is(dead.records[0]?.position.topic, "dead-letters");
  });

  contract("values are returned unchanged: empty, binary, 900 KB, any key", async (t, storage) => {
    await using bus = await storage.open();
    const values = [
      Buffer.alloc(0),
      Buffer.from([0, 255, 13, 10, 0xc3, 0x28]),
      randomBytes(900 * 1024),
      Buffer.from("grüße 🙂"),
    ];
    await bus.append(
      "events",
      values.map((value) => ({ key: "schlüssel-🙂", value })),
    );
    const { records } = await collect(bus, { group: "g" });
    await until(() => records.length === values.length, { what: "all values" });
    for (const [i, value] of values.entries()) t.true(records[i]?.value.equals(value), `value ${i}`);
    t.deepEqual(new Set(records.map(({ key }) => key)), new Set(["schlüssel-🙂"]));
  });

  contract("a handler that throws receives the same records again and delays no other group", async (t, storage) => {
    await using bus = await storage.open();
    const seen: string[][] = [];
    await bus.subscribe({ ...ANY_SIZE, group: "g", maxRecords: 2 }, async (batch) => {
      seen.push(texts(batch.records));
      if (seen.length <= 2) throw new Error("not yet");
      await batch.ack();
    });
    await bus.append("events", [record("k", "1"), record("k", "2"), record("k", "3")]);
    await until(() => seen.flat().includes("3"), { what: "the record behind the failing batch" });
    t.deepEqual(seen, [["1", "2"], ["1", "2"], ["1", "2"], ["3"]]);
    await until(async () => (await behind(bus, "g")) === 0, { what: "all acknowledged" });
  });

  contract(
    "records appended while a full batch is handled are delivered without another append",
    async (t, storage) => {
      await using bus = await storage.open();
      const seen: string[][] = [];
      await bus.append("events", [record("k", "1"), record("k", "2")]);
      await bus.subscribe({ ...ANY_SIZE, group: "g", maxRecords: 2 }, async (batch) => {
        seen.push(texts(batch.records));
        if (seen.length === 1) await bus.append("events", [record("k", "3")]);
        await batch.ack();
      });
      await until(() => seen.flat().includes("3"), { what: "the record that came meanwhile" });
      t.deepEqual(seen.flat(), ["1", "2", "3"]);
    },
  );

  contract("more large and small records than one read takes are delivered once each, in order", async (t, storage) => {
    await using bus = await storage.open();
    const sizes = Array.from({ length: 600 }, (_, i) => (i % 150 === 149 ? 700_000 : (i * 37) % 2_000));
    for (let from = 0; from < sizes.length; from += 100) {
      const some = sizes.slice(from, from + 100);
      await bus.append(
        "events",
        some.map((size, i) => ({ key: "k", value: Buffer.alloc(size, from + i) })),
      );
    }
    const { records } = await collect(bus, { group: "g", maxRecords: 500 });
    await until(() => records.length >= sizes.length, { what: "all records" });
    t.deepEqual(
      records.map(({ value }) => value.length),
      sizes,
    );
    const all = await readAll(bus);
    t.deepEqual(
      all.map(({ value }) => value.length),
      sizes,
    );
  });

  contract("redelivers unacknowledged records after reopening, and no acknowledged ones", async (t, storage) => {
    {
      await using bus = await storage.open();
      const seen: string[] = [];
      // One record per batch: the first is acknowledged, the others are not.
      await bus.subscribe({ ...ANY_SIZE, group: "g", maxRecords: 1 }, async (batch) => {
        if (seen.length === 0) await batch.ack();
        seen.push(...texts(batch.records));
      });
      await bus.append(
        "events",
        ["1", "2", "3"].map((text) => record("k", text)),
      );
      await until(() => seen.length === 3, { what: "the first life's deliveries" });
      t.deepEqual(seen, ["1", "2", "3"]);
    }
    {
      await using bus = await storage.open();
      const { records } = await collect(bus, { group: "g" });
      await until(() => records.length === 2, { what: "the second life's deliveries" });
      t.deepEqual(texts(records), ["2", "3"]);
      await until(async () => (await behind(bus, "g")) === 0, { what: "all acknowledged" });
    }
    await using bus = await storage.open();
    const { records } = await collect(bus, { group: "g" });
    await bus.append("events", [record("k", "4")]);
    await until(() => records.length > 0, { what: "the third life's deliveries" });
    t.deepEqual(texts(records), ["4"]);
  });

  contract("batches keep their limits, and a record above them is delivered alone", async (t, storage) => {
    await using bus = await storage.open();
    const sizes = [10, 10, 10, 10, 10, 400, 400, 5000, 10, 10];
    await bus.append(
      "events",
      sizes.map((size) => ({ key: "k", value: Buffer.alloc(size, "x") })),
    );
    const { batches } = await collect(bus, { group: "g", maxRecords: 3, maxBytes: 1000 });
    await until(() => batches.flat().length === sizes.length, { what: "all records" });
    t.deepEqual(
      batches.flat().map(({ value }) => value.length),
      sizes,
    );
    for (const batch of batches) {
      const size = batch.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
      t.true(batch.length <= 3 && (size <= 1000 || batch.length === 1), `${batch.length} records, ${size} bytes`);
    }
    t.true(batches.some((batch) => batch.length === 3));
  });

  contract("two groups each receive all records, independently", async (t, storage) => {
    await using bus = await storage.open();
    const one = await collect(bus, { group: "one" });
    await bus.append("events", [record("k", "1"), record("k", "2")]);
    await until(() => one.records.length === 2, { what: "group one" });
    const two = await collect(bus, { group: "two" });
    await until(() => two.records.length === 2, { what: "group two" });
    t.deepEqual(texts(two.records), ["1", "2"]);
    t.is(one.records.length, 2);
  });

  contract("when a member leaves a group, another continues after the last acknowledgement", async (t, storage) => {
    await using bus = await storage.open();
    const first = await collect(bus, { group: "g" });
    const second = await collect(bus, { group: "g" });
    const keys = Array.from({ length: 40 }, (_, i) => `key-${i}`);
    await bus.append(
      "events",
      keys.map((key) => record(key, "1")),
    );
    await until(() => first.records.length + second.records.length >= 40, { what: "the first round" });
    await until(async () => (await behind(bus, "g")) === 0, { what: "the first round acknowledged" });
    await first.subscription.close();
    const before = first.records.length;
    await bus.append(
      "events",
      keys.map((key) => record(key, "2")),
    );
    await until(() => second.records.filter(({ value }) => value.toString() === "2").length === 40, {
      what: "the second round, by the member that stayed",
    });
    t.is(first.records.length, before);
    await first.subscription.done;
  });

  contract("`from` decides once where a partition starts", async (t, storage) => {
    await using bus = await storage.open();
    await bus.append(
      "events",
      ["0", "1", "2", "3"].map((text) => record("k", text)),
    );
    const all = await collect(bus, { group: "all" });
    await until(() => all.records.length === 4, { what: "all records" });
    const { partition, offset } = at(all.records, 2).position;
    const asked: number[] = [];
    const from = async (number: number) => {
      asked.push(number);
      return number === partition ? offset : null;
    };
    const late = await collect(bus, { group: "late", from });
    await until(() => late.records.length === 2, { what: "the records from there on" });
    t.deepEqual(texts(late.records), ["2", "3"]);
    t.is(asked.filter((number) => number === partition).length, 1);
    await late.subscription.close();
    // An offset before the acknowledged one works too.
    const again = await collect(bus, { group: "late", from: async () => at(all.records, 1).position.offset });
    await until(() => again.records.length === 3, { what: "the records once more" });
    t.deepEqual(texts(again.records), ["1", "2", "3"]);
  });

  contract("closing waits for the handler, and its acknowledgement counts", async (t, storage) => {
    await using bus = await storage.open();
    const started = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const subscription = await bus.subscribe({ ...ANY_SIZE, group: "g" }, async (batch) => {
      started.resolve();
      await release.promise;
      t.false(batch.signal.aborted);
      await batch.ack();
    });
    await bus.append("events", [record("k", "1")]);
    await started.promise;
    const closed = subscription.close(20_000);
    release.resolve();
    await closed;
    await subscription.done;
    t.is(await behind(bus, "g"), 0);
  });

  contract("a handler that exceeds the close timeout is aborted and can no longer acknowledge", async (t, storage) => {
    await using bus = await storage.open();
    const started = Promise.withResolvers<void>();
    const refused = Promise.withResolvers<unknown>();
    const subscription = await bus.subscribe({ ...ANY_SIZE, group: "g" }, async (batch) => {
      started.resolve();
      await aborted(batch);
      await batch.ack().catch(refused.resolve);
    });
    await bus.append("events", [record("k", "1")]);
    await started.promise;
    await subscription.close(50);
    const error = await refused.promise;
    t.true(error instanceof LoggiaError && error.code === "bus_unavailable");
    t.is(await behind(bus, "g"), 1);
  });

  contract("a closed bus rejects calls", async (t, storage) => {
    const bus = await storage.open();
    await bus.ping();
    await bus[Symbol.asyncDispose]();
    await bus[Symbol.asyncDispose]();
    const error = await t.throwsAsync(bus.append("events", [record("k", "1")]), { instanceOf: LoggiaError });
    t.is(errorStatus(error), 503);
    await t.throwsAsync(bus.ping(), { instanceOf: LoggiaError });
  });
}

export function record(key: string, text: string): NewRecord {
  return { key, value: Buffer.from(text) };
}

export function texts(records: readonly BusRecord[]): string[] {
  return records.map(({ value }) => value.toString());
}

/** Returns how many records of `events` a group has not acknowledged. */
export async function behind(bus: Bus, group: string): Promise<number> {
  return (await bus.lag("events", group)).reduce((sum, { end, next }) => sum + end - next, 0);
}

export async function readAll(bus: Bus, options: Partial<ReadOptions> = {}): Promise<BusRecord[]> {
  const records: BusRecord[] = [];
  const bounds = { maxRecords: 1000, maxBytes: 4 * 1024 * 1024 };
  for await (const batch of bus.read({ topic: "events", ...bounds, ...options })) records.push(...batch);
  return records;
}

type Collected = {
  readonly subscription: Subscription;
  readonly records: BusRecord[];
  readonly batches: (readonly BusRecord[])[];
};

/** Subscribes with a handler that keeps and acknowledges every record. */
export async function collect(bus: Bus, options: Partial<SubscribeOptions> & { group: string }): Promise<Collected> {
  const records: BusRecord[] = [];
  const batches: (readonly BusRecord[])[] = [];
  const subscription = await bus.subscribe({ ...ANY_SIZE, ...options }, async (batch) => {
    records.push(...batch.records);
    batches.push(batch.records);
    await batch.ack();
  });
  return { subscription, records, batches };
}

export function at(records: readonly BusRecord[], index: number): BusRecord {
  const found = records[index];
  if (found === undefined) throw new Error(`there is no record ${index}`);
  return found;
}

function aborted({ signal }: Batch): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
