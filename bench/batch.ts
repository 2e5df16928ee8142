import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { createKafkaClient } from "../src/bus/kafka-client.ts";
import { interleaved } from "./frame.ts";
import type { Benchmark, Way } from "./frame.ts";
import { startPosting } from "./post.ts";
import type { Posting } from "./post.ts";
import { SILENT } from "./support/engines.ts";
import { eventOf, LOG } from "./support/events.ts";
import { API_KEY } from "./support/places.ts";
import type { Kind } from "./support/places.ts";
import type { World } from "./support/world.ts";

/** Events of a request. */
const BATCH = 1_000;
const CONNECTIONS = 4;
const REQUESTS = 20;
/** How much of the bare engine's rate the service is to reach. */
const SHARE = 0.6;

/** The lines of a batch, as a producer would send them. */
const BODIES: readonly string[] = Array.from({ length: REQUESTS }, (_, n) =>
  Array.from({ length: BATCH }, (_, i) => JSON.stringify(eventOf(n * BATCH + i))).join("\n"),
);

const POSTS: readonly string[] = BODIES.map(
  (body) =>
    `POST /1/logs/${LOG}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\nX-API-Key: ${API_KEY}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
);

/** Stores the same bytes, a batch at a time, by nothing but the engine: so many in flight as the service has connections. Answers events a second. */
type Bare = AsyncDisposable & { write(duration_ms: number): Promise<number> };

async function openBare(world: World, kind: Kind): Promise<Bare> {
  return kind === "embedded" ? openBareSqlite(world.folder()) : await openBareProducer(world);
}

/** A commit a batch, with an fsync each. */
function openBareSqlite(folder: string): Bare {
  const database = new DatabaseSync(join(folder, "bare.sqlite"));
  database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec("CREATE TABLE events (offset INTEGER PRIMARY KEY AUTOINCREMENT, value BLOB NOT NULL) STRICT");
  const insert = database.prepare("INSERT INTO events (value) VALUES (?)");
  return {
    async write(duration_ms) {
      const start_ms = performance.now();
      let events = 0;
      while (performance.now() - start_ms < duration_ms) {
        database.exec("BEGIN IMMEDIATE");
        // A row an event, as a queue in SQLite is usually made.
        for (const line of BODIES[(events / BATCH) % REQUESTS]!.split("\n")) insert.run(Buffer.from(line));
        database.exec("COMMIT");
        events += BATCH;
      }
      return events / ((performance.now() - start_ms) / 1000);
    },
    async [Symbol.asyncDispose]() {
      database.close();
    },
  };
}

/** A message an event, a request a batch, acknowledged by all in-sync replicas. */
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
  about: `${BATCH} events a request, ${CONNECTIONS} connections, 201 after the durable write | the same bytes by the bare engine`,
  async run({ world, report, quick }) {
    const duration_ms = quick ? 700 : 3_000;
    const generator = await world.generator();
    for (const kind of world.kinds) {
      await using closing = new AsyncDisposableStack();
      const posting: Posting = closing.use(await startPosting(world, kind));
      const bare = closing.use(await openBare(world, kind));
      const post = async (): Promise<number> => {
        const { port } = posting;
        const load = { host: "127.0.0.1", port, connections: CONNECTIONS, requests: POSTS, perSecond: null };
        const { perSecond, answered } = await generator.run({ ...load, duration_ms, expect: 201 });
        await posting.settle(answered * BATCH);
        return perSecond * BATCH;
      };
      const ways: Way[] = [
        { name: kind === "embedded" ? "bare SQLite" : "bare kafkajs", once: () => bare.write(duration_ms) },
        { name: posting.name, once: post },
      ];
      // Compilers and files have to become warm.
      for (const way of ways) await way.once();
      const [limit, ours] = await interleaved(ways, { least: quick ? 2 : 6 });
      const target = { kind: "at least", value: SHARE } as const;
      report.ratio({ name: `events by batches, ${kind}`, unit: "/s", ours: ours!, limit: limit!, target });
    }
  },
};
