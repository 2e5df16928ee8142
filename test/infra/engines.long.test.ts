import test from "ava";
import { Kafka, logLevel } from "kafkajs";
import type { Engine } from "../../infra/engines/engine.ts";
import { startElasticsearch, startEngines, startKafka } from "../../infra/engines/start.ts";
import { StartError } from "../../src/errors.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { elasticsearchUrl, kafkaBrokers } from "../support/engines.ts";
import { until } from "../support/until.ts";

const real = realEngines ? test : test.skip;

real("a killed Kafka restarts on its port with its data", async (t) => {
  await using kafka = await startKafka();
  const topic = "kept";
  const partitions = () =>
    until(
      () =>
        withAdmin(kafka, async (admin) => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]?.partitions),
      { what: "the topic" },
    );
  await withAdmin(kafka, (admin) =>
    admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: false }),
  );
  await partitions();
  const before = kafka.pid;
  await kafka.kill();
  await t.throwsAsync(withAdmin(kafka, (admin) => admin.listTopics()));

  await kafka.restart();
  if (before !== null) t.not(kafka.pid, before);
  t.is((await partitions()).length, 3);
});

real("a killed Elasticsearch restarts on its port with its data; frozen, it does not answer", async (t) => {
  await using elasticsearch = await startElasticsearch();
  const document = `http://${elasticsearch.address}/kept/_doc/1`;
  const headers = { "content-type": "application/json" };
  const put = await fetch(document, { method: "PUT", headers, body: '{"text":"kept"}' });
  t.is(put.status, 201);
  await elasticsearch.kill();
  await t.throwsAsync(fetch(document));

  await elasticsearch.restart();
  const found = await until(async () => (await fetch(document)).status === 200, { what: "the document to be found" });
  t.true(found);

  await elasticsearch.signal("SIGSTOP");
  await t.throwsAsync(fetch(document, { signal: AbortSignal.timeout(300) }), { name: "TimeoutError" });
  await elasticsearch.signal("SIGCONT");
  t.is((await fetch(document)).status, 200);
});

real("engines given by the environment are used and left running", async (t) => {
  const env = { TEST_KAFKA_BROKERS: kafkaBrokers().join(","), TEST_ELASTICSEARCH_URL: elasticsearchUrl() };
  const said: string[] = [];
  const engines = await startEngines({ env, say: (line) => void said.push(line) });
  t.deepEqual(engines.kafkaBrokers, kafkaBrokers());
  t.is(engines.elasticsearchUrl, elasticsearchUrl());
  t.regex(said.join("\n"), /from the environment$/);
  await engines.close();
  await t.notThrowsAsync(startEngines({ env }));
});

test("an address of the environment without a listener is reported", async (t) => {
  const env = { TEST_KAFKA_BROKERS: "127.0.0.1:1", TEST_ELASTICSEARCH_URL: "http://127.0.0.1:1" };
  await t.throwsAsync(startEngines({ env }), {
    instanceOf: StartError,
    message: /^TEST_(?:KAFKA_BROKERS|ELASTICSEARCH_URL) names .*127\.0\.0\.1:1, but no \w+ answers there: /,
  });
  await t.throwsAsync(startEngines({ env: { TEST_KAFKA_BROKERS: "127.0.0.1:1" } }), {
    instanceOf: StartError,
    message: "Set both TEST_KAFKA_BROKERS and TEST_ELASTICSEARCH_URL, or neither.",
  });
});

async function withAdmin<T>(kafka: Engine, work: (admin: ReturnType<Kafka["admin"]>) => Promise<T>): Promise<T> {
  const admin = new Kafka({
    brokers: [kafka.address],
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
    connectionTimeout: 60_000,
  }).admin();
  try {
    await admin.connect();
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
