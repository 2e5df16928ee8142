import test, { type ExecutionContext } from "ava";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createElasticsearchClient, pingElasticsearch, translated } from "../../src/elasticsearch/client.ts";
import { StartError } from "../../src/errors.ts";
import { startLoggia } from "../../src/main.ts";
import { readSettings } from "../../src/settings.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { elasticsearchUrl, kafkaBrokers } from "../support/engines.ts";
import { environmentOf } from "../support/service.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";
import { type Certificate, createCertificate } from "./certificate.ts";
import { API_KEY, guardElasticsearch, PASSWORD, USER } from "./guarded-elasticsearch.ts";
import { recordLog } from "./record-log.ts";

const real = realEngines ? test : test.skip;

const folder = mkdtempSync(join(tmpdir(), "loggia-test-"));
let certificate: Certificate;
let foreign: Certificate;

if (realEngines) {
  test.before(async () => {
    [certificate, foreign] = await Promise.all([
      createCertificate(folder, "elasticsearch"),
      createCertificate(folder, "foreign"),
    ]);
  });
}
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

type Environment = Record<string, string>;

const trusted = (): Environment => ({ ELASTICSEARCH_CA_FILE: certificate.pem });
const user: Environment = { ELASTICSEARCH_USERNAME: USER, ELASTICSEARCH_PASSWORD: PASSWORD };

/** Asserts that a client created from an operator's settings can ping and write. */
async function writes(t: ExecutionContext, environment: Environment): Promise<void> {
  const { engines } = readSettings({ KAFKA_BROKERS: "127.0.0.1:9", ...environment });
  if (engines.kind !== "cluster") throw new Error("these settings are of a cluster");
  const client = createElasticsearchClient({ ...engines.elasticsearch, log: recordLog().log });
  t.teardown(() => client.close());
  await pingElasticsearch(client);
  const index = uniqueName("guarded");
  await translated(() => client.index({ index, id: "1", document: { text: "kept" } }));
  const { _source: found } = await translated(() => client.get({ index, id: "1" }));
  t.deepEqual(found, { text: "kept" });
  await client.indices.delete({ index });
}

/**
 * Asserts that the service does not start, with one line that names the node and `why`, and that
 * neither that line nor the log contains a secret.
 */
async function refuses(t: ExecutionContext, url: string, environment: Environment, why: string): Promise<void> {
  const log = recordLog();
  const cluster = { ...environmentOf("cluster", folder), KAFKA_BROKERS: kafkaBrokers().join(",") };
  const settings = readSettings({ ...cluster, ELASTICSEARCH_URL: url, ...environment });
  const error = await t.throwsAsync(startLoggia(settings, log.log), { instanceOf: StartError });
  t.is(error.message, `Elasticsearch at ${url} ${why}`);
  log.holdsNone(t, error, [
    PASSWORD,
    API_KEY,
    "Wr0ng-Se3ret",
    btoa(`${USER}:${PASSWORD}`),
    btoa(`${USER}:Wr0ng-Se3ret`),
  ]);
}

real("user and password over TLS work, also if the first node is down", async (t) => {
  const node = await guardElasticsearch(t, certificate);
  await writes(t, { ELASTICSEARCH_URL: node.url, ...trusted(), ...user });
  await writes(t, { ELASTICSEARCH_URL: `https://127.0.0.1:1,${node.url}`, ...trusted(), ...user });
  t.true(node.passed >= 8, `${node.passed} requests went through`);
  t.is(node.refused, 0);
});

real("password and API key are read from files, or an API key from its variable", async (t) => {
  const node = await guardElasticsearch(t, certificate);
  const [password, key] = ["password", "key"].map((name) => join(temporaryFolder(t), name)) as [string, string];
  writeFileSync(password, `${PASSWORD}\n`);
  writeFileSync(key, `${API_KEY}\n`);
  const cluster = { ELASTICSEARCH_URL: node.url, ...trusted() };
  await writes(t, { ...cluster, ELASTICSEARCH_USERNAME: USER, ELASTICSEARCH_PASSWORD_FILE: password });
  await writes(t, { ...cluster, ELASTICSEARCH_API_KEY_FILE: key });
  await writes(t, { ...cluster, ELASTICSEARCH_API_KEY: API_KEY });
  t.is(node.refused, 0);
});

real("wrong and missing credentials are reported in one line", async (t) => {
  const { url } = await guardElasticsearch(t, certificate);
  const wrong = "rejected the configured credentials (401)";
  await refuses(t, url, { ...trusted(), ...user, ELASTICSEARCH_PASSWORD: "Wr0ng-Se3ret" }, wrong);
  await refuses(t, url, { ...trusted(), ELASTICSEARCH_API_KEY: "Wr0ng-Se3ret" }, wrong);
  await refuses(t, url, trusted(), "requires credentials (401)");
});

real("a certificate of an untrusted authority is reported in one line", async (t) => {
  const { url } = await guardElasticsearch(t, certificate);
  const why =
    "cannot be reached: its certificate was refused: its issuer is not trusted; add it to ELASTICSEARCH_CA_FILE";
  await refuses(t, url, user, why);
  await refuses(t, url, { ...user, ELASTICSEARCH_CA_FILE: foreign.pem }, why);
});

real("http to a node with TLS, and https to one without, are reported in one line", async (t) => {
  const { url } = await guardElasticsearch(t, certificate);
  const closed = "cannot be reached: the node closed the connection; it may require https://";
  await refuses(t, url.replace("https:", "http:"), user, closed);
  const bare = elasticsearchUrl().replace("http:", "https:");
  await refuses(t, bare, { ...trusted(), ...user }, "cannot be reached: the node does not use TLS; use http://");
});
