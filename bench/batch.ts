import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { createKafkaClient } from "../src/bus/kafka/client.ts";
import { interleaved } from "./frame.ts";
import type { Benchmark, Variant } from "./frame.ts";
import { startPosting } from "./post.ts";
import type { Posting } from "./post.ts";
import { batchesOf } from "./support/batches.ts";
import { SILENT } from "./support/engines.ts";
import { batchRequest, eventOf, LOG } from "./support/events.ts";
import type { World } from "./support/world.ts";

/** Number of events per request. */
const BATCH = 1_000;
const CONNECTIONS = 4;
const REQUESTS = 20;
/** Rows per group commit of bare SQLite: the events that arrive at once from 64 connections. */
const GROUP = 64;
/** Least ratio of the service's rate to that of the bare engine. */
const SHARE = 0.6;

/** Lines of batches as a producer sends them. */
const BODIES: readonly string[] = Array.from({ length: REQUESTS }, (_, n) =>
  Array.from({ length: BATCH }, (_, i) => JSON.stringify(eventOf(n * BATCH + i))).join("\n"),
);

const POSTS: readonly string[] = BODIES.map(batchRequest);

/**
 * Stores the same bytes in batches with the engine alone, with as many writes in flight as the
 * service has connections. `write` returns events per second.
 */
type Bare = AsyncDisposable & { readonly name: string; write(duration_ms: number): Promise<number> };

/** Opens the bare engines. The first is the limit, the others are for information. */
async function openBare(world: World): Promise<Bare[]> {
  if (world.kind === "cluster") return [await openBareProducer(world)];
  return [openBareSqlite(world.folder(), GROUP), openBareSqlite(world.folder(), BATCH)];
}

/** Writes a row per event, as queues in SQLite usually do, and syncs once per group. */
function openBareSqlite(folder: string, group: number): Bare {
  const database = new DatabaseSync(join(folder, "bare.sqlite"));
  database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec("CREATE TABLE events (offset INTEGER PRIMARY KEY AUTOINCREMENT, value BLOB NOT NULL) STRICT");
  const insert = database.prepare("INSERT INTO events (value) VALUES (?)");
  const groups = BODIES.map((body) => {
    const lines = body.split("\n").map((line) => Buffer.from(line));
    return batchesOf(lines, group);
  });
  return {
    name: `bare SQLite, ${group} rows per commit`,
    async write(duration_ms) {
      const start_ms = performance.now();
      let events = 0;
      while (performance.now() - start_ms < duration_ms) {
        for (const lines of groups[(events / BATCH) % REQUESTS]!) {
          database.exec("BEGIN IMMEDIATE");
          for (const line of lines) insert.run(line);
          database.exec("COMMIT");
        }
        events += BATCH;
      }
      return events / ((performance.now() - start_ms) / 1000);
    },
    async [Symbol.asyncDispose]() {
      database.close();
    },
  };
}

/** Sends a message per event and a request per batch, acknowledged by all in-sync replicas. */
async function openBareProducer(world: World): Promise<Bare> {
  const { brokers } = await world.cluster();
  const { kafka, dropAllConnections } = createKafkaClient({ brokers, log: SILENT });
  const topic = `bench-batch-${randomBytes(4).toString("hex")}`;
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 6 }], waitForLeaders: true });
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  return {
    name: "bare kafkajs",
    async write(duration_ms) {
      const start_ms = performance.now();
      let events = 0;
      const send = async (partition: number): Promise<void> => {
        while (performance.now() - start_ms < duration_ms) {
          const lines = BODIES[(events / BATCH) % REQUESTS]!.split("\n");
          events += BATCH;
          await producer.send({ topic, acks: -1, messages: lines.map((value) => ({ key: LOG, value, partition })) });
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, (_, partition) => send(partition)));
      return events / ((performance.now() - start_ms) / 1000);
    },
    async [Symbol.asyncDispose]() {
      await producer.disconnect();
      await admin.deleteTopics({ topics: [topic] });
      await admin.disconnect();
      dropAllConnections();
    },
  };
}

export const benchmark: Benchmark = {
  name: "batch",
  about:
    `${BATCH} events per request, ${CONNECTIONS} connections, 201 after the durable write ` +
    "| the same bytes written by the bare engine",
  async run({ world, report, quick }) {
    const duration_ms = quick ? 700 : 3_000;
    const generator = await world.generator();
    const { kind } = world;
    await using closing = new AsyncDisposableStack();
    const posting: Posting = closing.use(await startPosting(world));
    const bares = (await openBare(world)).map((bare) => closing.use(bare));
    const post = async (): Promise<number> => {
      const { port } = posting;
      const load = { host: "127.0.0.1", port, connections: CONNECTIONS, requests: POSTS, perSecond: null };
      const { perSecond, answered } = await generator.run({ ...load, duration_ms, expect: 201 });
      await posting.settle(answered * BATCH);
      return perSecond * BATCH;
    };
    const variants: Variant[] = [
      { name: posting.name, once: post },
      ...bares.map((bare) => ({ name: bare.name, once: () => bare.write(duration_ms) })),
    ];
    // Warm-up of compilers and files.
    for (const variant of variants) await variant.once();
    const [ours, limit, ...others] = await interleaved(variants, { least: quick ? 2 : 5 });
    const target = { kind: "at least", value: SHARE } as const;
    report.ratio({ name: `events in batches, ${kind}`, unit: "/s", ours: ours!, limit: limit!, target });
    for (const other of others) {
      report.ratio({
        name: `events in batches, ${kind}, relative to ${other.name}`,
        unit: "/s",
        ours: ours!,
        limit: other,
      });
    }
  },
};
