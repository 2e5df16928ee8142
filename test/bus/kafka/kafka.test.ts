import test from "ava";
import type { ExecutionContext } from "ava";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import type { Bus } from "../../../src/bus/bus.ts";
import { createKafkaClient } from "../../../src/bus/kafka/client.ts";
import { openKafkaBus } from "../../../src/bus/kafka/kafka.ts";
import type { KafkaBusOptions } from "../../../src/bus/kafka/topics.ts";
import { LateAppend, LoggiaError, StartError } from "../../../src/errors.ts";
import { ANY_SIZE, behind, collect, record, texts } from "../../contract/bus.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { kafkaBrokers } from "../../support/engines.ts";
import { uniqueName } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import { startProxy } from "../proxy.ts";

const log = pino({ level: "silent" });
/** For appends that must not miss their deadline. */
const SLOW = { deadline_ms: 60_000 } as const;

function open(options: Partial<KafkaBusOptions> & { namespace: string }): Promise<Bus> {
  return openKafkaBus({ brokers: kafkaBrokers(), log, ...options });
}

test("an unreachable broker is reported in one line with its address", async (t) => {
  // Nothing listens on port 1 of this machine.
  const error = await t.throwsAsync(openKafkaBus({ brokers: ["127.0.0.1:1"], namespace: "n", log }), {
    instanceOf: StartError,
  });
  t.regex(error.message, /^Kafka at 127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/);
  t.notRegex(error.message, /\n/);
});

if (realEngines) {
  test("refused credentials are reported in one line without the password", async (t) => {
    const sasl = { mechanism: "plain", username: "mallory", password: "open-sesame" } as const;
    const error = await t.throwsAsync(open({ namespace: uniqueName("bus"), sasl }), { instanceOf: StartError });
    t.regex(error.message, /^Kafka at [\w.:]+ cannot be used: \S/);
    t.notRegex(error.message, /\n|open-sesame/);
  });

  test("processes that start at once agree on the topics", async (t) => {
    const namespace = uniqueName("bus");
    const buses = await Promise.all(Array.from({ length: 4 }, () => open({ namespace, partitions: 5 })));
    t.teardown(() => Promise.all(buses.map((bus) => bus[Symbol.asyncDispose]())));
    for (const bus of buses) {
      t.is((await bus.lag("events", "g")).length, 5);
      t.is((await bus.lag("dead-letters", "g")).length, 1);
      t.deepEqual(await bus.last("events"), []);
    }
    // A key goes to the same partition from every process.
    for (const bus of buses) await bus.append("events", [record("one-key", "x")], SLOW);
    const used = (await at(buses, 0).lag("events", "g")).filter(({ end }) => end > 0);
    t.deepEqual(
      used.map(({ end }) => end),
      [4],
    );
  });

  test("fewer than three copies are warned of, and more than there are brokers refused", async (t) => {
    const namespace = uniqueName("bus");
    const lines: string[] = [];
    const recorded = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const error = await t.throwsAsync(open({ namespace, replicationFactor: 2, log: recorded }), {
      instanceOf: StartError,
    });
    t.regex(error.message, /^Kafka at [\w.:]+ cannot be used: KAFKA_REPLICATION is 2, but the cluster has 1 broker$/);
    for (const replicationFactor of [1, 3]) {
      lines.length = 0;
      const bus = await open({ namespace, partitions: 1, replicationFactor, log: recorded });
      t.teardown(() => bus[Symbol.asyncDispose]());
      const warnings = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
      // The client may warn of a slow broker too.
      const ours = warnings.filter((warning) => warning.includes("KAFKA_REPLICATION"));
      t.deepEqual(ours, [
        `${["alerts", "dead-letters", "events", "keys", "keys-index"].map((name) => `${namespace}.${name}`).join(", ")} ` +
          "keep 1 copy of a record: " +
          "an acknowledged event may be lost with a broker. KAFKA_REPLICATION sets the copies of new topics, " +
          "kafka-reassign-partitions those of existing ones",
      ]);
    }
  });

  test("members of a group share its partitions, and one takes over from another that dies", async (t) => {
    const namespace = uniqueName("bus");
    const proxy = await startProxy(t, at(kafkaBrokers(), 0));
    const doomed = await open({ namespace, partitions: 4, socketFactory: proxy.socketFactory });
    t.teardown(() => doomed[Symbol.asyncDispose]());
    await using healthy = await open({ namespace });
    const [one, two] = [await collect(doomed, { group: "g" }), await collect(healthy, { group: "g" })];
    const round = (text: string) =>
      healthy.append(
        "events",
        Array.from({ length: 40 }, (_, i) => record(`key-${i}`, text)),
        SLOW,
      );
    /** The partitions of which a member got records of a round. */
    const partitions = (records: typeof one.records, text: string) =>
      new Set(records.filter(({ value }) => value.toString() === text).map(({ position }) => position.partition));
    let rounds = 0;
    // A round during which a member joins may be shared otherwise.
    const [ofOne, ofTwo] = await until(
      async () => {
        const text = `shared ${(rounds += 1)}`;
        await round(text);
        await until(async () => (await behind(healthy, "g")) === 0, { what: "all acknowledged" });
        const shares = [partitions(one.records, text), partitions(two.records, text)] as const;
        const isShared = shares[0].size > 0 && shares[1].size > 0 && shares[0].isDisjointFrom(shares[1]);
        return isShared ? shares : null;
      },
      { what: "both members to get a share of a round", interval_ms: 200 },
    );
    t.deepEqual(
      [...ofOne, ...ofTwo].toSorted((a, b) => a - b),
      [0, 1, 2, 3],
      "each partition has one member",
    );
    proxy.cut();
    await round("orphaned");
    await until(() => two.records.filter(({ value }) => value.toString() === "orphaned").length >= 40, {
      what: "takeover",
    });
    await until(async () => (await behind(healthy, "g")) === 0, { what: "all acknowledged again" });
  });

  test("appends to a stalled broker fail at their deadline; afterwards appends and deliveries continue in order", async (t) => {
    const proxy = await startProxy(t, at(kafkaBrokers(), 0));
    await using bus = await open({ namespace: uniqueName("bus"), socketFactory: proxy.socketFactory });
    const { records } = await collect(bus, { group: "g" });
    await bus.append("events", [record("k", "1")], SLOW);
    await until(() => records.length === 1, { what: "the first record" });
    proxy.stall();
    const { errors, took_ms } = await lateAppends(t, bus, { text: "2", deadline_ms: 500, most_ms: 2500 });
    t.true(errors.every(({ code }) => code === "bus_unavailable"));
    t.true(took_ms >= 490 && took_ms < 2500, `${took_ms} ms`);
    const waiting = bus.append("events", [record("k", "3")], SLOW);
    proxy.flow();
    await waiting;
    await bus.append("events", [record("k", "4")], SLOW);
    await until(() => records.some(({ value }) => value.toString() === "4"), { what: "the last record" });
    // The second append may have been stored or not, and a retry may have stored a record twice;
    // the order holds.
    const seen = [...new Set(texts(records))];
    if (await isAnyStored(errors)) t.true(seen.includes("2"));
    t.deepEqual(
      seen.filter((text) => text !== "2"),
      ["1", "3", "4"],
    );
    t.deepEqual(seen, seen.toSorted());
  });

  test("appends to a stopped broker fail at their deadline with the reason, and recover without help", async (t) => {
    const proxy = await startProxy(t, at(kafkaBrokers(), 0));
    await using bus = await open({ namespace: uniqueName("bus"), socketFactory: proxy.socketFactory });
    const { records } = await collect(bus, { group: "g" });
    await bus.append("events", [record("k", "1")], SLOW);
    await until(() => records.length === 1, { what: "the first record" });
    proxy.cut();
    const { errors, took_ms } = await lateAppends(t, bus, { text: "lost", deadline_ms: 1500, most_ms: 4000 });
    t.true(errors.every(({ code }) => code === "bus_unavailable"));
    t.true(took_ms < 4000, `${took_ms} ms`);
    const ping = await t.throwsAsync(bus.ping(), { instanceOf: LoggiaError });
    t.is(ping.code, "bus_unavailable");
    t.regex(ping.message, /^Kafka at [\w.:]+ could not be reached: \S/);
    const waiting = bus.append("events", [record("k", "2")], SLOW);
    // Long enough for the consumer to crash and be recreated more than once.
    await sleep(4000);
    proxy.flow();
    await waiting;
    await until(() => texts(records).includes("2"), { what: "the record appended in between" });
    await until(async () => (await behind(bus, "g")) === 0, { what: "all acknowledged" });
    await until(() => bus.ping().then(() => true), { what: "the broker to answer" });
    t.is(await isAnyStored(errors), texts(records).includes("lost"));
  });

  test("connections that carry no data are closed and reopened", async (t) => {
    const proxy = await startProxy(t, at(kafkaBrokers(), 0));
    await using bus = await open({ namespace: uniqueName("bus"), socketFactory: proxy.socketFactory });
    const { records } = await collect(bus, { group: "g" });
    await bus.append("events", [record("k", "1")], SLOW);
    await until(() => records.length === 1, { what: "the first record" });
    proxy.blackHole();
    await bus.append("events", [record("k", "2")], SLOW);
    await until(() => texts(records).includes("2"), { what: "delivery over a new connection" });
    await until(() => bus.ping().then(() => true), { what: "an answer over a new connection" });
    await until(async () => (await behind(bus, "g")) === 0, { what: "all acknowledged" });
    t.deepEqual([...new Set(texts(records))], ["1", "2"]);
  });

  test("a handler that fails for one partition delays no other", async (t) => {
    await using bus = await open({ namespace: uniqueName("bus"), partitions: 2 });
    const keys = await oneKeyAPartition(bus);
    const seen: string[] = [];
    let failures = 0;
    let fail = true;
    await bus.subscribe({ topic: "events", group: "g", maxRecords: 10, maxBytes: 1e6 }, async (batch) => {
      if (batch.partition === 0 && fail) {
        failures += 1;
        throw new Error("the store is away");
      }
      seen.push(...texts(batch.records));
      await batch.ack();
    });
    for (let i = 0; i < 20; i++) {
      await bus.append("events", [record(at(keys, 0), `slow ${i}`), record(at(keys, 1), `fast ${i}`)], SLOW);
      await until(() => seen.includes(`fast ${i}`), { what: `fast ${i}, beside a failing partition` });
    }
    await until(() => failures >= 3, { what: "several attempts" });
    t.false(seen.some((text) => text.startsWith("slow")));
    fail = false;
    await until(() => seen.filter((text) => text.startsWith("slow")).length === 20, {
      what: "the slow ones",
    });
    t.deepEqual(
      seen.filter((text) => text.startsWith("slow")),
      Array.from({ length: 20 }, (_, i) => `slow ${i}`),
    );
  });

  test("a handler that runs for longer than the session timeout keeps its partition", async (t) => {
    t.timeout(600_000);
    await using bus = await open({ namespace: uniqueName("bus"), partitions: 1 });
    const deliveries = [0, 0, 0];
    await bus.subscribe({ topic: "events", group: "g", maxRecords: 10, maxBytes: 1e6 }, async (batch) => {
      for (const text of texts(batch.records)) deliveries[Number(text)]! += 1;
      await sleep(20_000, undefined, { signal: batch.signal });
      await batch.ack();
    });
    // A machine that stalls may miss the heartbeats of one record, and hardly those of three.
    for (let i = 0; i < deliveries.length && !deliveries.includes(1); i++) {
      await bus.append("events", [record("k", String(i))], SLOW);
      await until(async () => deliveries[i]! > 0 && (await behind(bus, "g")) === 0, {
        what: "the acknowledgement",
        interval_ms: 250,
      });
    }
    t.true(deliveries.includes(1), deliveries.join(", "));
  });

  test("a full queue refuses appends at once", async (t) => {
    const proxy = await startProxy(t, at(kafkaBrokers(), 0));
    await using bus = await open({ namespace: uniqueName("bus"), socketFactory: proxy.socketFactory });
    proxy.stall();
    const waiting = bus.append(
      "events",
      Array.from({ length: 50_000 }, (_, i) => record("k", `${i}`)),
      SLOW,
    );
    const error = await t.throwsAsync(bus.append("events", [record("k", "one too many")]), { instanceOf: LoggiaError });
    t.is(error.code, "overloaded");
    proxy.flow();
    await waiting;
    await bus.append("events", [record("k", "fits again")], SLOW);
  });

  test("a record larger than the broker accepts is refused alone", async (t) => {
    await using bus = await open({ namespace: uniqueName("bus") });
    const appends = await Promise.allSettled([
      bus.append("events", [record("k", "small")], SLOW),
      bus.append("events", [{ key: "k", value: randomBytes(1_100_000) }], SLOW),
      bus.append("events", [record("k", "small too")], SLOW),
    ]);
    t.deepEqual(
      appends.map((append) => (append.status === "rejected" ? (append.reason as LoggiaError).code : "stored")),
      ["stored", "body_too_large", "stored"],
    );
  });

  test("a record that escapes make larger than the broker accepts is compressed", async (t) => {
    await using bus = await open({ namespace: uniqueName("bus") });
    const values = [`"${"\\u001b\\u0000".repeat(100_000)}"`, "small"];
    for (const value of values) await bus.append("events", [record("k", value)], SLOW);
    const read: string[] = [];
    await bus.subscribe({ topic: "events", group: "g", maxRecords: 10, maxBytes: 1e6 }, async (batch) => {
      read.push(...texts(batch.records));
      await batch.ack();
    });
    await until(() => read.length === 2, { what: "both records" });
    t.true(read[0] === values[0] && read[1] === values[1]);
  });
  test("records of partitions that are added later are delivered, and count as lag, within seconds", async (t) => {
    const namespace = uniqueName("bus");
    const old = await open({ namespace, partitions: 2 });
    t.teardown(() => old[Symbol.asyncDispose]());
    const read: string[] = [];
    await old.subscribe({ ...ANY_SIZE, group: "g" }, async (batch) => {
      read.push(...texts(batch.records));
      await batch.ack();
    });
    const { kafka } = createKafkaClient({ brokers: kafkaBrokers(), log });
    const admin = kafka.admin();
    await admin.connect();
    t.teardown(() => admin.disconnect());
    const topic = `${namespace}.events`;
    await admin.createPartitions({ topicPartitions: [{ topic, count: 6 }] });
    const created = async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]?.partitions.length;
    await until(async () => (await created()) === 6, { what: "the new partitions" });
    // A bus appends to the partitions that it found when it was opened.
    const grown = await open({ namespace });
    t.teardown(() => grown[Symbol.asyncDispose]());
    const keys = await oneKeyAPartition(grown);
    for (const key of keys) await grown.append("events", [record(key, `of ${key}`)], SLOW);
    // By default kafkajs looks for new partitions every five minutes.
    const timeout_ms = 60_000;
    await until(async () => (await old.lag("events", "g")).length === 6, { what: "the lag of all", timeout_ms });
    await until(() => keys.every((key) => read.includes(`of ${key}`)), { what: "the records of all", timeout_ms });
    t.is(keys.length, 6);
  });
}

function at<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw new Error(`there is no item ${index}`);
  return found;
}

/**
 * Appends to a broker that does not answer, again if the machine delayed the failure by more than
 * `most_ms`. Returns the errors, and how long the last one took.
 */
async function lateAppends(
  t: ExecutionContext,
  bus: Bus,
  { text, deadline_ms, most_ms }: { readonly text: string; readonly deadline_ms: number; readonly most_ms: number },
): Promise<{ errors: readonly LateAppend[]; took_ms: number }> {
  const errors: LateAppend[] = [];
  let took_ms = Infinity;
  while (errors.length < 10 && took_ms >= most_ms) {
    const started_ms = performance.now();
    const append = bus.append("events", [record("k", text)], { deadline_ms });
    errors.push(await t.throwsAsync(append, { instanceOf: LateAppend }));
    took_ms = performance.now() - started_ms;
  }
  return { errors, took_ms };
}

async function isAnyStored(errors: readonly LateAppend[]): Promise<boolean> {
  return (await Promise.all(errors.map(({ isStored }) => isStored))).includes(true);
}

/** Returns a key for each partition, found by appending. */
async function oneKeyAPartition(bus: Bus): Promise<string[]> {
  const keys: string[] = [];
  for (let i = 0; ; i++) {
    const before = await bus.lag("events", "nobody");
    await bus.append("events", [record(`key-${i}`, "probe")], SLOW);
    const after = await bus.lag("events", "nobody");
    for (const { partition, end } of after) {
      if (end > (before[partition]?.end ?? 0)) keys[partition] ??= `key-${i}`;
    }
    if (after.every(({ partition }) => keys[partition] !== undefined)) return keys;
  }
}
