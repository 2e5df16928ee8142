import test, { type ExecutionContext } from "ava";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bus } from "../../src/bus/bus.ts";
import { openKafkaBus } from "../../src/bus/kafka/kafka.ts";
import { StartError } from "../../src/errors.ts";
import { readSettings } from "../../src/settings.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { environmentOf, get, LOG, post, startService } from "../support/service.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { type Certificate, createCertificate } from "./certificate.ts";
import { guardElasticsearch, PASSWORD as STORE_PASSWORD, USER as STORE_USER } from "./guarded-elasticsearch.ts";
import { type GuardedKafka, MECHANISMS, PASSWORDS, startGuardedKafka, USER } from "./guarded-kafka.ts";
import { recordLog } from "./record-log.ts";

const real = realEngines ? test : test.skip;

const folder = mkdtempSync(join(tmpdir(), "loggia-test-"));
let certificate: Certificate;
let foreign: Certificate;
let kafka: GuardedKafka;

if (realEngines) {
  test.before(async (t) => {
    t.timeout(170_000);
    [certificate, foreign] = await Promise.all([
      createCertificate(folder, "kafka"),
      createCertificate(folder, "foreign"),
    ]);
    kafka = await startGuardedKafka(certificate);
  });
}
test.after.always(async () => {
  await kafka?.engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

const WRONG = "Wr0ng-Se3ret";

type Environment = Record<string, string>;

const tls = (): Environment => ({ KAFKA_TLS: "on", KAFKA_CA_FILE: certificate.pem });
const login = (mechanism: keyof typeof PASSWORDS, password: string = PASSWORDS[mechanism]): Environment => ({
  KAFKA_SASL: mechanism,
  KAFKA_USERNAME: USER,
  KAFKA_PASSWORD: password,
});

/** Opens a bus from an operator's settings, as the service does. */
function open(environment: Environment, log = recordLog()): Promise<Bus> {
  const { engines } = readSettings({ ELASTICSEARCH_URL: "http://127.0.0.1:9", ...environment });
  if (engines.kind !== "cluster") throw new Error("these settings are of a cluster");
  return openKafkaBus({ ...engines.kafka, namespace: uniqueName("guarded"), log: log.log });
}

/** Asserts that appended records are returned, through a group and by reading. */
async function carries(t: ExecutionContext, environment: Environment): Promise<void> {
  await using bus = await open({ KAFKA_PARTITIONS: "1", ...environment });
  const sent = ["one", "two", "three"];
  await bus.append(
    "events",
    sent.map((text) => ({ key: "log", value: Buffer.from(text) })),
  );
  const limits = { topic: "events", maxRecords: 10, maxBytes: 10_000 } as const;
  const consumed: string[] = [];
  await bus.subscribe({ ...limits, group: "group" }, async (batch) => {
    consumed.push(...batch.records.map(({ value }) => value.toString()));
    await batch.ack();
  });
  await until(() => consumed.length >= sent.length, { what: "the records to be consumed" });
  t.deepEqual(consumed, sent);
  const read = (await Array.fromAsync(bus.read(limits))).flat();
  t.deepEqual(
    read.map(({ value }) => value.toString()),
    sent,
  );
}

/**
 * Asserts that opening fails with one line that names the broker and `why`, and that neither that
 * line nor the log contains a secret.
 */
async function refuses(t: ExecutionContext, broker: string, environment: Environment, why: string): Promise<void> {
  const log = recordLog();
  const opening = open({ KAFKA_BROKERS: broker, ...environment }, log);
  const error = await t.throwsAsync(opening, { instanceOf: StartError });
  t.is(error.message, `Kafka at ${broker} cannot be used: ${why}`);
  log.holdsNone(t, error, [...Object.values(PASSWORDS), WRONG]);
}

for (const mechanism of MECHANISMS) {
  real(`${mechanism} over TLS: records are posted and consumed`, (t) =>
    carries(t, { KAFKA_BROKERS: kafka.guarded, ...tls(), ...login(mechanism) }),
  );

  real(`${mechanism} over TLS: a wrong password is reported in one line`, (t) => {
    const environment = { ...tls(), ...login(mechanism, WRONG) };
    return refuses(t, kafka.guarded, environment, 'it refused the credentials of user "loggia"');
  });
}

real("the password is read from a file, the broker has a name, and a dead one is skipped", async (t) => {
  const { KAFKA_PASSWORD: password = "", ...rest } = login("scram-sha-512");
  const file = join(temporaryFolder(t), "password");
  writeFileSync(file, `${password}\n`);
  const brokers = `127.0.0.1:1,${kafka.guarded.replace("127.0.0.1", "localhost")}`;
  await carries(t, { KAFKA_BROKERS: brokers, ...tls(), ...rest, KAFKA_PASSWORD_FILE: file });
});

real("TLS without credentials works, and credentials without TLS", async (t) => {
  await carries(t, { KAFKA_BROKERS: kafka.encrypted, ...tls() });
  await carries(t, { KAFKA_BROKERS: kafka.bare, ...login("scram-sha-256") });
});

real("a certificate of an untrusted authority is reported in one line", async (t) => {
  const why = "its certificate was refused: its issuer is not trusted; add it to KAFKA_CA_FILE";
  await refuses(t, kafka.guarded, { KAFKA_TLS: "on", ...login("plain") }, why);
  await refuses(t, kafka.guarded, { KAFKA_TLS: "on", KAFKA_CA_FILE: foreign.pem, ...login("plain") }, why);
});

real("a listener with another protocol than the settings is reported in one line with the likely cause", async (t) => {
  const closed = "it closed the connection; it may require";
  await refuses(t, kafka.guarded, login("plain"), `${closed} TLS (KAFKA_TLS)`);
  await refuses(t, kafka.guarded, tls(), `${closed} credentials (KAFKA_SASL)`);
  await refuses(t, kafka.encrypted, {}, `${closed} TLS (KAFKA_TLS) or credentials (KAFKA_SASL)`);
  const noTls = "it closed the connection during the TLS handshake; it may not use TLS (KAFKA_TLS)";
  await refuses(t, kafka.bare, { ...tls(), ...login("plain") }, noTls);
});

real("unneeded credentials, and a mechanism that is not offered, are reported in one line", async (t) => {
  const none = "it accepts no credentials at this address; unset KAFKA_SASL, or set another address in KAFKA_BROKERS";
  await refuses(t, kafka.encrypted, { ...tls(), ...login("plain") }, none);
  const other = "it does not support the mechanism plain; KAFKA_SASL sets another one";
  await refuses(t, kafka.bare, login("plain"), other);
});

real("the whole service runs on both engines behind TLS and credentials", async (t) => {
  const elasticsearch = await guardElasticsearch(t, certificate);
  const service = await startService({
    ...environmentOf("cluster", folder),
    KAFKA_BROKERS: kafka.guarded,
    ...tls(),
    ...login("scram-sha-512"),
    ELASTICSEARCH_URL: elasticsearch.url,
    ELASTICSEARCH_CA_FILE: certificate.pem,
    ELASTICSEARCH_USERNAME: STORE_USER,
    ELASTICSEARCH_PASSWORD: STORE_PASSWORD,
  });
  t.teardown(() => service.close());
  const posted = await post(service, { text: "carried under seal", tags: "sealed" });
  t.is(posted.status, 201);
  const listed = await until(
    async () => {
      const { body } = await get(service, `/1/logs/${LOG}/events`);
      return Array.isArray(body) && body.length > 0 ? body : null;
    },
    { what: "the event to be listed" },
  );
  t.like(listed, [{ id: posted.body.id, text: "carried under seal", tags: ["sealed"] }]);
  t.true(elasticsearch.passed > 0);
  t.is(elasticsearch.refused, 0);
});
