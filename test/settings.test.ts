import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";

import { readMail } from "../pipelines/notify/channels/mail.ts";
import { StartError } from "../src/errors.ts";
import { DEFAULT_RATES } from "../src/ratelimit/rate-limiter.ts";
import { ALL_SETTINGS, LISTED_SETTINGS, readSettings } from "../src/settings.ts";
import { defaultMemory, MIN_MEMORY, shareMemory } from "../src/settings/memory.ts";
import { temporaryFolder } from "./support/temporary.ts";

const CLUSTER = { KAFKA_BROKERS: "k1:9092,k2:9093", ELASTICSEARCH_URL: "http://e1:9200,http://e2:9200" };

test("the defaults are embedded engines, all roles and the documented addresses", (t) => {
  const settings = readSettings({});
  t.deepEqual(settings.api, { host: "127.0.0.1", port: 8080 });
  t.deepEqual(settings.post, { host: "127.0.0.1", port: 8081 });
  t.deepEqual([...settings.roles], ["post", "pipeline", "api"]);
  t.deepEqual(settings.engines, { kind: "embedded" });
  t.is(settings.admin, null);
  t.like(settings.limits, { text: 8_000, link: 2_000, tags: 1_000, data: 65_536, attributeValue: 7_500 });
});

test("brokers and nodes select a cluster, with several addresses each", (t) => {
  const { engines } = readSettings({ ...CLUSTER, LOGGIA_ROLES: "post" });
  if (engines.kind !== "cluster") return t.fail();
  t.deepEqual(engines.kafka.brokers, ["k1:9092", "k2:9093"]);
  t.deepEqual(engines.elasticsearch.nodes, ["http://e1:9200", "http://e2:9200"]);
  t.is(engines.kafka.tls, false);
  t.is(engines.kafka.sasl, null);
});

test("copies and shards of a cluster are set, or follow the cluster", (t) => {
  const read = (given: NodeJS.ProcessEnv) => {
    const { engines } = readSettings({ ...CLUSTER, ...given });
    if (engines.kind !== "cluster") return t.fail();
    const { shards, replicas } = engines.elasticsearch;
    return { copies: engines.kafka.replicationFactor, shards, replicas };
  };
  t.deepEqual(read({}), { copies: undefined, shards: 1, replicas: undefined });
  const given = { KAFKA_REPLICATION: "2", ELASTICSEARCH_SHARDS: "8", ELASTICSEARCH_REPLICAS: "0" };
  t.deepEqual(read(given), { copies: 2, shards: 8, replicas: 0 });
});

test("memory defaults to a third of the machine and at most 1 GB, and its shares fit into it", (t) => {
  const given = readSettings({ LOGGIA_MEMORY: "2GB" }).memory;
  t.deepEqual(readSettings({ LOGGIA_MEMORY: "2048mb" }).memory, given);
  for (const bytes of [MIN_MEMORY, defaultMemory(), 2 ** 30, 2 ** 34]) {
    const { store_mb, heapLimit_mb, waiting_mb, filters_mb, answers_mb } = shareMemory(bytes);
    // Objects get 64 MB and a fifth of the memory above 240 MB.
    const heap_mb = 64 + Math.floor((bytes / 2 ** 20 - 240) * 0.2);
    t.is(heapLimit_mb, Math.max(1024, 4 * heap_mb));
    t.true(Math.min(store_mb, heap_mb, waiting_mb, filters_mb, answers_mb) >= 16);
    t.true(store_mb + heap_mb + waiting_mb + filters_mb < bytes / 2 ** 20);
  }
  t.true(defaultMemory() >= MIN_MEMORY && defaultMemory() <= 2 ** 30);
  t.deepEqual(readSettings({}).memory, shareMemory(defaultMemory()));
  for (const wrong of ["512", "0GB", "1.5GB", "447MB", "many", "-1GB"]) {
    t.throws(() => readSettings({ LOGGIA_MEMORY: wrong }), {
      instanceOf: StartError,
      message: /^LOGGIA_MEMORY is .*; allowed: a number and MB or GB, such as 512MB, from 448MB on$/,
    });
  }
});

test("credentials are set by variable or from a file, not both", (t) => {
  const file = join(temporaryFolder(t), "password");
  writeFileSync(file, "secret word\n");
  const sasl = { ...CLUSTER, KAFKA_TLS: "on", KAFKA_SASL: "scram-sha-512", KAFKA_USERNAME: "loggia" };
  const { engines } = readSettings({ ...sasl, KAFKA_PASSWORD_FILE: file });
  if (engines.kind !== "cluster") return t.fail();
  t.deepEqual(engines.kafka.sasl, { mechanism: "scram-sha-512", username: "loggia", password: "secret word" });
  t.deepEqual(engines.kafka.tls, { ca: null });
  const both = t.throws(() => readSettings({ ...sasl, KAFKA_PASSWORD: "x", KAFKA_PASSWORD_FILE: file }), {
    instanceOf: StartError,
  });
  t.is(both.message, "KAFKA_PASSWORD and KAFKA_PASSWORD_FILE are both set; set one of them");
});

test("sets how long and how much the bus keeps of stored records", (t) => {
  const keep = (text: string) => readSettings({ LOGGIA_BUS_KEEP: text }).busKeep;
  const MB = 2 ** 20;
  t.deepEqual(readSettings({}).busKeep, { time_ms: 86_400_000, size_bytes: Infinity });
  t.deepEqual(keep("90m"), { time_ms: 5_400_000, size_bytes: Infinity });
  t.deepEqual(keep("7d"), { time_ms: 604_800_000, size_bytes: Infinity });
  t.deepEqual(keep("24h,200MB"), { time_ms: 86_400_000, size_bytes: 200 * MB });
  t.deepEqual(keep("2gb, 1m"), { time_ms: 60_000, size_bytes: 2048 * MB });
  t.deepEqual(keep("16MB"), { time_ms: Infinity, size_bytes: 16 * MB });
});

test("an invalid LOGGIA_BUS_KEEP is refused in one line that names the wrong part", (t) => {
  const allowed =
    "a time from 1m to 3650d in m, h or d, a size from 16MB on in MB or GB, or one of each, such as 24h,200MB";
  const faults = {
    "24": 'of which "24" is not a whole number with a unit',
    h: 'of which "h" is not a whole number with a unit',
    "1w": 'of which "1w" has an unknown unit',
    "24H": 'of which "24H" has an unknown unit',
    "200M": 'of which "200M" has an unknown unit',
    "1h,200kB": 'of which "200kB" has an unknown unit',
    "-1h": 'of which "-1h" is not a whole number with a unit',
    "-200MB": 'of which "-200MB" is not a whole number with a unit',
    "1.5h": 'of which "1.5h" is not a whole number with a unit',
    "24h,": 'of which "" is not a whole number with a unit',
    "0m": 'of which "0m" is less than 1m',
    "0h": 'of which "0h" is less than 1m',
    "99999d": 'of which "99999d" is more than 3650d',
    "24h,0MB": 'of which "0MB" is less than 16MB',
    "15MB": 'of which "15MB" is less than 16MB',
    "24h,36h": "which has two times",
    "200MB,24h,1GB": "which has two sizes",
  };
  for (const [text, why] of Object.entries(faults)) {
    t.throws(() => readSettings({ LOGGIA_BUS_KEEP: text }), {
      instanceOf: StartError,
      message: `LOGGIA_BUS_KEEP is ${JSON.stringify(text)}, ${why}; allowed: ${allowed}`,
    });
  }
});

test("a size of the bus is refused on Kafka, which has its own bounds", (t) => {
  t.is(readSettings({ ...CLUSTER, LOGGIA_BUS_KEEP: "36h" }).engines.kind, "cluster");
  t.throws(() => readSettings({ ...CLUSTER, LOGGIA_BUS_KEEP: "24h,200MB" }), {
    instanceOf: StartError,
    message: /^LOGGIA_BUS_KEEP is "24h,200MB", but Kafka .* omit the size, and set retention\.bytes [^\n]*$/,
  });
});

test("names of the service are host names without ports", (t) => {
  t.deepEqual(readSettings({}).hosts, []);
  const { hosts } = readSettings({ LOGGIA_HOSTS: "Logs.example.org, bücher.example,loggia" });
  t.deepEqual(hosts, ["logs.example.org", "xn--bcher-kva.example", "loggia"]);
  for (const wrong of ["logs.example.org:8080", "https://logs.example.org", "*.example.org", "a b", "a@b", "%61"])
    t.throws(() => readSettings({ LOGGIA_HOSTS: wrong }), { instanceOf: StartError, message: /^LOGGIA_HOSTS is / });
});

test("the address for producers is a plain URL", (t) => {
  t.is(readSettings({}).postUrl, null);
  t.is(readSettings({ LOGGIA_POST_URL: "https://in.example.org/" }).postUrl, "https://in.example.org");
  t.is(readSettings({ LOGGIA_POST_URL: "http://10.0.0.7:81/events/" }).postUrl, "http://10.0.0.7:81/events");
  for (const wrong of ["in.example.org", "ftp://in.example.org", "https://a:b@in.example.org", "https://x.org/?a=1"])
    t.throws(() => readSettings({ LOGGIA_POST_URL: wrong }), {
      instanceOf: StartError,
      message: /^LOGGIA_POST_URL is /,
    });
});

test("sets an admin and a log for the first start", (t) => {
  const settings = readSettings({ LOGGIA_ADMIN: "ann@example.org:pass:word", LOGGIA_LOG: "Shop:key-of-shop" });
  t.deepEqual(settings.admin, { email: "ann@example.org", password: "pass:word" });
  t.deepEqual(settings.log as unknown, { key: "shop", apiKey: "key-of-shop" });
});

test("sets a mail server with its options", (t) => {
  t.deepEqual(readSettings({}).channels, []);
  const from = { LOGGIA_MAIL_FROM: '"Loggia, events" <l@example.org>' };
  const file = join(temporaryFolder(t), "smtp");
  writeFileSync(file, "smtps://ann%40example.org:p%3Aw%2F@[2001:db8::1]\n");
  const { channels } = readSettings({ ...from, LOGGIA_SMTP_FILE: file });
  t.deepEqual(
    channels.map(({ kind, secrets }) => ({ kind, secrets })),
    [{ kind: "mail", secrets: ["p:w/"] }],
  );
  t.deepEqual(readMail("smtp://relay.example.org:25", "loggia@example.org"), {
    host: "relay.example.org",
    port: 25,
    secure: false,
    credentials: null,
    from: { name: "", address: "loggia@example.org" },
  });
  t.deepEqual(readMail(readFileSync(file, "utf8").trim(), from.LOGGIA_MAIL_FROM), {
    host: "2001:db8::1",
    port: 465,
    secure: true,
    credentials: { user: "ann@example.org", password: "p:w/" },
    from: { name: "Loggia, events", address: "l@example.org" },
  });
  t.is(readMail("smtp://localhost", "loggia@example.org")?.port, 587);
});

test("sets proxies by address and by network, and rates", (t) => {
  const { trustedProxies, rates, monitoring } = readSettings({
    LOGGIA_TRUSTED_PROXIES: "10.0.0.1, 192.168.0.0/16,fd00::/8",
    LOGGIA_RATE_FAILURES: "7",
    LOGGIA_OPS: "127.0.0.1:0",
  });
  const trusts = (address: string) => trustedProxies.check(address, address.includes(":") ? "ipv6" : "ipv4");
  t.deepEqual(["10.0.0.1", "10.0.0.2", "192.168.7.7", "fd12::1", "2001:db8::1"].map(trusts), [
    true,
    false,
    true,
    true,
    false,
  ]);
  t.is(rates.failures, 7);
  t.deepEqual(monitoring, { host: "127.0.0.1", port: 0 });
  t.deepEqual(readSettings({}).trustedProxies.rules, []);
  t.deepEqual(readSettings({}).rates, DEFAULT_RATES);
  t.is(readSettings({}).monitoring, null);
});

test("an error about the mail server's address does not show its password", (t) => {
  const bad = [
    "http://u:hunter2@h",
    "smtp://u:hunter2@h/path",
    "smtp://u:hunter2@h?x=1",
    "smtp://u:hunter2%@h",
    "u:hunter2@h:25",
  ];
  for (const LOGGIA_SMTP of bad) {
    const error = t.throws(() => readSettings({ LOGGIA_SMTP, LOGGIA_MAIL_FROM: "l@example.org" }), {
      instanceOf: StartError,
      message: /^LOGGIA_SMTP [^\n]+$/,
    });
    t.notRegex(error.message, /hunter2/);
  }
});

const FAULTS: readonly [NodeJS.ProcessEnv, RegExp][] = [
  [{ LOGGIA_API: "8080" }, /^LOGGIA_API is "8080"; allowed: host:port/],
  [{ LOGGIA_POST: "localhost:70000" }, /^LOGGIA_POST is "localhost:70000"; allowed: host:port.*65535/],
  [{ LOGGIA_ROLES: "post,reader" }, /^LOGGIA_ROLES is "reader"; allowed: one of post, pipeline, api/],
  [{ LOGGIA_ROLES: "post" }, /^LOGGIA_ROLES is "post"; allowed: all of post,pipeline,api on embedded engines/],
  [{ LOGGIA_LOG_LEVEL: "loud" }, /^LOGGIA_LOG_LEVEL is "loud"; allowed: one of fatal/],
  [{ LOGGIA_NAMESPACE: "Größe" }, /^LOGGIA_NAMESPACE is "Größe"; allowed: a lower-case letter/],
  [{ LOGGIA_ADMIN: "ann:short" }, /^LOGGIA_ADMIN must be e-mail:password/],
  [{ LOGGIA_LOG: "no_key" }, /^LOGGIA_LOG is "no_key"; allowed: key or key:apikey/],
  [{ LOGGIA_LOG: "alerts" }, /^LOGGIA_LOG is "alerts"/],
  [{ LOGGIA_LIMITS: "text=0" }, /^LOGGIA_LIMITS is "text=0"; allowed: for text a whole number from 1 to 8000, /],
  [
    { LOGGIA_LIMITS: "link=9,text=8001" },
    /allowed: for text a whole number from 1 to 8000, which the engines can hold$/,
  ],
  [{ LOGGIA_LIMITS: "data=65537" }, /allowed: for data a whole number from 1 to 65536, /],
  [
    { LOGGIA_LIMITS: "attributeName=500" },
    /^LOGGIA_LIMITS is "attributeName=500"; allowed: an attributeName and attributeValue that fit one term of Elasticsearch, of 32766 bytes; names of 500 and values of 7500 characters may take 36001$/,
  ],
  [{ LOGGIA_LIMITS: "title=5" }, /^LOGGIA_LIMITS is "title=5"; allowed: pairs of text, link/],
  [{ LOGGIA_APY: "x" }, /^LOGGIA_APY is not a setting\. Did you mean LOGGIA_API\? Allowed are LOGGIA_API, /],
  [{ LOGGIA_COLOUR: "x" }, /^LOGGIA_COLOUR is not a setting; allowed are LOGGIA_API, /],
  [{ LOGGIA_PORT: "8081" }, /^LOGGIA_PORT is not a setting\. Did you mean LOGGIA_POST\? /],
  [
    { KAFKA_BROKER: "k:9092", ELASTICSEARCH_URI: "http://e:9200" },
    /^KAFKA_BROKER is not a setting\. Did you mean KAFKA_BROKERS\? Allowed are KAFKA_BROKERS, KAFKA_PARTITIONS, [A-Z_, ]+$/,
  ],
  [{ ELASTICSEARCH_URI: "http://e:9200" }, /^ELASTICSEARCH_URI is not a setting\. Did you mean ELASTICSEARCH_URL\? /],
  [{ ELASTIC_SEARCH_URL: "http://e:9200" }, /^ELASTIC_SEARCH_URL is not a setting\. Did you mean ELASTICSEARCH_URL\? /],
  [{ ...CLUSTER, KAKFA_SASL: "plain" }, /^KAKFA_SASL is not a setting\. Did you mean KAFKA_SASL\? /],
  [
    { ...CLUSTER, KAFKA_PASSWORD_FIL: "/x" },
    /^KAFKA_PASSWORD_FIL is not a setting\. Did you mean KAFKA_PASSWORD_FILE\? /,
  ],
  [
    { ELASTICSEARCH_URL_FILE: "/run/secrets/url", KAFKA_BROKERS_FILE: "/run/secrets/brokers" },
    /^ELASTICSEARCH_URL_FILE is not a setting: ELASTICSEARCH_URL is not read from a file; set ELASTICSEARCH_URL itself$/,
  ],
  [{ LOGIA_ADMIN: "a@b:password" }, /^LOGIA_ADMIN is not a setting\. Did you mean LOGGIA_ADMIN\? /],
  [{ LOGGIA_TRUSTED_PROXIES: "10.0.0.1/33" }, /^LOGGIA_TRUSTED_PROXIES is "10.0.0.1\/33"; allowed: addresses such as/],
  [{ LOGGIA_TRUSTED_PROXIES: "all" }, /^LOGGIA_TRUSTED_PROXIES is "all"; allowed: addresses such as/],
  [{ LOGGIA_RATE_FAILURES: "0" }, /^LOGGIA_RATE_FAILURES is "0"; allowed: whole numbers from 1/],
  [{ LOGGIA_OPS: "9100" }, /^LOGGIA_OPS is "9100"/],
  [{ LOGGIA_SMTP: "smtp://h" }, /^LOGGIA_SMTP \(or LOGGIA_SMTP_FILE\) is set and LOGGIA_MAIL_FROM is not/],
  [{ LOGGIA_MAIL_FROM: "l@example.org" }, /^LOGGIA_MAIL_FROM is set and LOGGIA_SMTP is not/],
  [{ LOGGIA_SMTP: "smtp://h", LOGGIA_MAIL_FROM: "a@b, c@d" }, /^LOGGIA_MAIL_FROM is "a@b, c@d"; allowed: loggia@/],
  [{ LOGGIA_SMTP: "smtp://u@h", LOGGIA_MAIL_FROM: "l@example.org" }, /^LOGGIA_SMTP has a user or a password only/],
  [{ KAFKA_BROKERS: "k:9092" }, /^KAFKA_BROKERS is set and ELASTICSEARCH_URL is not/],
  [{ ELASTICSEARCH_URL: "http://e:9200" }, /^ELASTICSEARCH_URL is set and KAFKA_BROKERS is not/],
  [{ ...CLUSTER, ELASTICSEARCH_URL: "e:9200" }, /^ELASTICSEARCH_URL is "e:9200"; allowed: addresses such as http/],
  [{ ...CLUSTER, ELASTICSEARCH_URL: "http://u:p@e:9200" }, /^ELASTICSEARCH_URL contains credentials/],
  [{ ...CLUSTER, KAFKA_REPLICATION: "0" }, /^KAFKA_REPLICATION is "0"; allowed: whole numbers from 1/],
  [{ ...CLUSTER, ELASTICSEARCH_SHARDS: "0" }, /^ELASTICSEARCH_SHARDS is "0"; allowed: whole numbers from 1 to 1024/],
  [{ ...CLUSTER, ELASTICSEARCH_REPLICAS: "-1" }, /^ELASTICSEARCH_REPLICAS is "-1"; allowed: whole numbers from 0/],
  [{ ...CLUSTER, KAFKA_SASL: "plain" }, /^KAFKA_SASL is set, so KAFKA_USERNAME and KAFKA_PASSWORD/],
  [{ ...CLUSTER, KAFKA_USERNAME: "x" }, /KAFKA_SASL is not; set it/],
  [{ ...CLUSTER, ELASTICSEARCH_PASSWORD: "x" }, /must both be set/],
  [
    { ...CLUSTER, ELASTICSEARCH_CA_FILE: import.meta.filename },
    /^ELASTICSEARCH_CA_FILE is "[^"]+settings.test.ts"; allowed: a file of certificates in PEM, which this one is not$/,
  ],
  [
    { ...CLUSTER, KAFKA_TLS: "on", KAFKA_CA_FILE: import.meta.filename },
    /^KAFKA_CA_FILE is "[^"]+settings.test.ts"; allowed: a file of certificates in PEM, which this one is not$/,
  ],
  [
    { ...CLUSTER, ELASTICSEARCH_CA_FILE: "/nowhere/ca.pem" },
    /^ELASTICSEARCH_CA_FILE is "\/nowhere\/ca.pem", which can't be read/,
  ],
];

for (const [environment, message] of FAULTS) {
  test(`refused in one line: ${JSON.stringify(environment)}`, (t) => {
    const error = t.throws(() => readSettings(environment), { instanceOf: StartError });
    t.regex(error.message, message);
    t.false(error.message.includes("\n"));
  });
}

test("names near a setting that is set, and those of other programs, are ignored", (t) => {
  const environment = {
    ...CLUSTER,
    KAFKA_BROKER: "another program's",
    KAFKA_HOME: "/opt/kafka",
    KAFKA_HEAP_OPTS: "-Xmx1g",
    ELASTICSEARCH_HOSTS: "http://e:9200",
    KAFKA_TL: "",
    LOGGIA_AS: "ann@example.org:password",
  };
  t.is(readSettings(environment).engines.kind, "cluster");
});

test("the variables that Kubernetes sets for Services are ignored", (t) => {
  const links = (service: string) => ({
    [`${service}_SERVICE_HOST`]: "10.0.171.239",
    [`${service}_SERVICE_PORT`]: "8081",
    [`${service}_SERVICE_PORT_API`]: "8081",
    [`${service}_PORT`]: "tcp://10.0.171.239:8081",
    [`${service}_PORT_8081_TCP`]: "tcp://10.0.171.239:8081",
    [`${service}_PORT_8081_TCP_PROTO`]: "tcp",
    [`${service}_PORT_8081_TCP_PORT`]: "8081",
    [`${service}_PORT_8081_TCP_ADDR`]: "10.0.171.239",
    [`${service}_PORT_514_UDP`]: "udp://10.0.171.239:514",
  });
  const services = ["LOGGIA", "LOGGIA_POST", "LOGGIA_API", "KAFKA", "KAFKA_BROKERS", "ELASTICSEARCH"].map(links);
  const environment: NodeJS.ProcessEnv = Object.assign({}, ...services);
  t.is(readSettings(environment).engines.kind, "embedded");
  t.is(readSettings({ ...environment, ...CLUSTER }).engines.kind, "cluster");
});

test("tricks for speed are left out by name, by a setting that help does not list", (t) => {
  t.deepEqual([...readSettings({}).plain], []);
  const { plain } = readSettings({ LOGGIA_PLAIN: " fast-path, blocks,blocks" });
  t.deepEqual([...plain], ["fast-path", "blocks"]);
  t.throws(() => readSettings({ LOGGIA_PLAIN: "fast-path,block" }), {
    instanceOf: StartError,
    message:
      'LOGGIA_PLAIN is "fast-path,block"; allowed: some of fast-path, line-scanner, blocks, sums, list-cache, ' +
      "list-pages, column-statistics, attribute-columns, vectors, with commas",
  });
  t.false(LISTED_SETTINGS.some(({ name }) => name === "LOGGIA_PLAIN"));
  const unknown = t.throws(() => readSettings({ LOGGIA_NOTHING: "1" }), { instanceOf: StartError });
  t.false(unknown.message.includes("LOGGIA_PLAIN"));
});

test("every setting has a help text of one line", (t) => {
  for (const { name, help } of ALL_SETTINGS) t.regex(help, /^[^\n]{10,90}$/, name);
});

test("sockets of one address are merged, and a shared key is never shown", (t) => {
  const { listeners } = readSettings({
    LOGGIA_SYSLOG: "tcp://0.0.0.0:514/net?from=10.0.0.0/8, tcp://0.0.0.0:514/rest udp://[::1]:514",
    LOGGIA_FORWARD: "tcp://127.0.0.1:24224/shop?shared_key=a-shared-secret",
    LOGGIA_OTLP_GRPC: "127.0.0.1:4317",
  });
  t.deepEqual(
    listeners["syslog"]!.map(({ transport, host, port, routes }) => [
      transport,
      host,
      port,
      routes.map(({ log }) => log),
    ]),
    [
      ["tcp", "0.0.0.0", 514, ["net", "rest"]],
      ["udp", "::1", 514, [null]],
    ],
  );
  t.is(listeners["forward"]![0]!.routes[0]!.sharedKey, "a-shared-secret");
  t.like(listeners["otlp"]![0], { host: "127.0.0.1", port: 4317, transport: "tcp" });
  t.deepEqual(readSettings({}).listeners, { syslog: [], gelf: [], forward: [], lines: [], otlp: [] });
  for (const value of [
    "tcp://127.0.0.1:24224?shared_key=a-shared-secret",
    "udp://x:1/shop?shared_key=a-shared-secret",
  ]) {
    const error = t.throws(() => readSettings({ LOGGIA_FORWARD: value }), { instanceOf: StartError });
    t.false(error.message.includes("secret"), error.message);
  }
});
