import test, { type ExecutionContext } from "ava";
import type { BusRecord } from "../../src/bus/bus.ts";
import { until } from "../support/until.ts";
import { ANY_SIZE, at, behind, record, texts, readAll } from "./bus.ts";
import type { BusStorage } from "./bus.ts";

/** Tests of the bus port for lag and for reading without a group. */
export function busReadingContract(name: string, storageOf: (t: ExecutionContext) => BusStorage): void {
  const contract = (title: string, run: (t: ExecutionContext, storage: BusStorage) => Promise<void>) =>
    test(`${name}: ${title}`, (t) => run(t, storageOf(t)));

  contract("lag counts the records that a group has not acknowledged", async (t, storage) => {
    await using bus = await storage.open();
    t.is(await behind(bus, "g"), 0);
    await bus.append(
      "events",
      Array.from({ length: 5 }, (_, i) => record("k", `${i}`)),
    );
    t.is(await behind(bus, "g"), 5);
    const seen: string[] = [];
    const subscription = await bus.subscribe({ ...ANY_SIZE, group: "g", maxRecords: 1 }, async (batch) => {
      seen.push(...texts(batch.records));
      if (seen.length <= 2) await batch.ack();
    });
    await until(() => seen.length === 5, { what: "all delivered" });
    await subscription.close();
    t.is(await behind(bus, "g"), 3);
    t.is(await behind(bus, "another"), 5);
  });

  contract("reading returns the existing records once and moves no group", async (t, storage) => {
    await using bus = await storage.open();
    t.deepEqual(await readAll(bus), [], "an empty topic ends at once");
    const keys = Array.from({ length: 30 }, (_, i) => `key-${i % 6}`);
    await bus.append(
      "events",
      keys.map((key, i) => record(key, `${i}`)),
    );
    const records: BusRecord[] = [];
    for await (const batch of bus.read({ topic: "events", maxRecords: 4, maxBytes: 1000 })) {
      t.true(batch.length <= 4);
      t.is(new Set(batch.map(({ position }) => position.partition)).size <= 1, true);
      // Reading does not wait for records appended meanwhile.
      if (records.length === 0) await bus.append("events", [record("key-0", "late")]);
      records.push(...batch);
    }
    t.deepEqual(
      texts(records).toSorted((a, b) => Number(a) - Number(b)),
      keys.map((_, i) => `${i}`),
    );
    for (const key of new Set(keys)) {
      const numbers = records.filter((found) => found.key === key).map(({ value }) => Number(value.toString()));
      t.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
    }
    t.is((await readAll(bus)).length, 31);
    t.is(await behind(bus, "g"), 31);
  });

  contract("reading starts at the given offset or time", async (t, storage) => {
    await using bus = await storage.open();
    await bus.append("dead-letters", [record("k", "0"), record("k", "1"), record("k", "2")]);
    const before = await readAll(bus, { topic: "dead-letters" });
    const { partition, offset } = at(before, 1).position;
    t.deepEqual(texts(await readAll(bus, { topic: "dead-letters", from: [{ partition, offset }] })), ["1", "2"]);
    const later = [{ partition, offset: offset + 100 }];
    t.deepEqual(await readAll(bus, { topic: "dead-letters", from: later }), []);
    const latest = Math.max(...before.map(({ appended }) => appended));
    await until(() => Date.now() > latest + 5, { what: "the clock to move on" });
    await bus.append("dead-letters", [record("k", "3"), record("k", "4")]);
    t.deepEqual(texts(await readAll(bus, { topic: "dead-letters", since: latest + 1 })), ["3", "4"]);
    t.is((await readAll(bus, { topic: "dead-letters", since: 0 })).length, 5);
    t.deepEqual(await readAll(bus, { topic: "dead-letters", since: Date.now() + 60_000 }), []);
  });

  contract("reading can be abandoned or aborted at any time", async (t, storage) => {
    await using bus = await storage.open();
    await bus.append(
      "events",
      Array.from({ length: 10 }, (_, i) => record("k", `${i}`)),
    );
    for await (const batch of bus.read({ topic: "events", maxRecords: 1, maxBytes: 1000 })) {
      t.deepEqual(texts(batch), ["0"]);
      break;
    }
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = async () => {
      for await (const batch of bus.read({ topic: "events", maxRecords: 1, maxBytes: 1000, signal: stop.signal })) {
        seen.push(...texts(batch));
        stop.abort(new Error("enough"));
      }
    };
    await t.throwsAsync(reading, { message: "enough" });
    t.deepEqual(seen, ["0"]);
  });
}
