import { StartError } from "../errors.ts";
import { readGroup, type Setting, type SettingValues } from "./setting.ts";
import {
  invalidSetting,
  oneWordOf,
  optionalNumber,
  readAddress,
  readAuthorities,
  readOneOf,
  readText,
  wholeNumber,
} from "./values.ts";

/** Settings of Kafka and Elasticsearch. {@link readEngines} checks them together. */
// prettier-ignore
export const ENGINE_SETTINGS = {
  brokers: { name: "KAFKA_BROKERS", standard: "", help: "host:port,… of Kafka; with ELASTICSEARCH_URL: run on a cluster", read: readText },
  partitions: { name: "KAFKA_PARTITIONS", standard: "6", help: "partitions of a topic when it is created, 1 to 1000", read: wholeNumber(1, 1000) },
  replication: { name: "KAFKA_REPLICATION", standard: "", help: "copies of each record in topics that are created (3, or one on each broker)", read: optionalNumber(1, 32_767) },
  tls: { name: "KAFKA_TLS", standard: "off", help: "on: connect to the brokers with TLS", read: oneWordOf(["on", "off"]) },
  brokersCa: { name: "KAFKA_CA_FILE", standard: "", help: "certificate authorities of the brokers, PEM", read: readText },
  mechanism: { name: "KAFKA_SASL", standard: "", help: "plain, scram-sha-256 or scram-sha-512", read: readText },
  brokersUser: { name: "KAFKA_USERNAME", standard: "", help: "name for SASL", read: readText },
  brokersPassword: { name: "KAFKA_PASSWORD", standard: "", help: "password for SASL", secret: true, read: readText },
  url: { name: "ELASTICSEARCH_URL", standard: "", help: "http(s)://host:port,… of Elasticsearch; with KAFKA_BROKERS: run on a cluster", read: readText },
  shards: { name: "ELASTICSEARCH_SHARDS", standard: "1", help: "primary shards of a month of events, from the next month on, 1 to 1024", read: wholeNumber(1, 1024) },
  replicas: { name: "ELASTICSEARCH_REPLICAS", standard: "", help: "copies beside each primary shard, 0 to 10 (1, on one node 0)", read: optionalNumber(0, 10) },
  user: { name: "ELASTICSEARCH_USERNAME", standard: "", help: "user of Elasticsearch", read: readText },
  password: { name: "ELASTICSEARCH_PASSWORD", standard: "", help: "that user's password", secret: true, read: readText },
  apiKey: { name: "ELASTICSEARCH_API_KEY", standard: "", help: "API key of Elasticsearch, instead of user and password", secret: true, read: readText },
  ca: { name: "ELASTICSEARCH_CA_FILE", standard: "", help: "certificate authorities of Elasticsearch, PEM", read: readAuthorities },
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

type EngineValues = SettingValues<typeof ENGINE_SETTINGS>;

type KafkaSettings = {
  readonly brokers: readonly string[];
  /** Certificate authorities in PEM, null: the system's own; false: no TLS. */
  readonly tls: false | { readonly ca: string | null };
  readonly sasl: {
    readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
    readonly username: string;
    readonly password: string;
  } | null;
  readonly partitions: number;
  /** Copies of each record in new topics; undefined: three, or one on each broker. */
  readonly replicationFactor: number | undefined;
};

type ElasticsearchSettings = {
  readonly nodes: readonly string[];
  readonly auth: { readonly username: string; readonly password: string } | { readonly apiKey: string } | null;
  readonly ca: string | null;
  /** Primary shards of each new index of the store. */
  readonly shards: number;
  /** Replicas of each shard; undefined: one if the cluster has a second node. */
  readonly replicas: number | undefined;
};

export type EngineSettings =
  | { readonly kind: "embedded" }
  | { readonly kind: "cluster"; readonly kafka: KafkaSettings; readonly elasticsearch: ElasticsearchSettings };

/**
 * Reads {@link ENGINE_SETTINGS}.
 * @throws StartError that names the variables that contradict each other
 */
export function readEngines(environment: NodeJS.ProcessEnv): EngineSettings {
  const values = readGroup(ENGINE_SETTINGS, environment);
  const { brokers, url } = values;
  if (brokers === "" && url === "") return { kind: "embedded" };
  if (brokers === "" || url === "") {
    const [set, missing] =
      brokers === ""
        ? (["ELASTICSEARCH_URL", "KAFKA_BROKERS"] as const)
        : (["KAFKA_BROKERS", "ELASTICSEARCH_URL"] as const);
    throw new StartError(`${set} is set and ${missing} is not; a cluster needs both, embedded engines need neither`);
  }
  return { kind: "cluster", kafka: readKafka(values), elasticsearch: readElasticsearch(values) };
}

function readKafka(values: EngineValues): KafkaSettings {
  const { brokers, brokersCa, mechanism, brokersUser: username, brokersPassword: password } = values;
  const hasTls = values.tls === "on";
  if (brokersCa !== "" && !hasTls) throw invalidSetting("KAFKA_CA_FILE", brokersCa, "nothing, unless KAFKA_TLS is on");
  if (mechanism === "" && (username !== "" || password !== ""))
    throw new StartError(
      "KAFKA_USERNAME or KAFKA_PASSWORD is set and KAFKA_SASL is not; set it to plain, scram-sha-256 or scram-sha-512",
    );
  if (mechanism !== "" && (username === "" || password === ""))
    throw new StartError(
      "KAFKA_SASL is set, so KAFKA_USERNAME and KAFKA_PASSWORD (or KAFKA_PASSWORD_FILE) must be set too",
    );
  return {
    brokers: brokers.split(",").map((broker) => {
      const { host, port } = readAddress("KAFKA_BROKERS", broker.trim());
      return `${host.includes(":") ? `[${host}]` : host}:${port}`;
    }),
    tls: hasTls && { ca: readAuthorities("KAFKA_CA_FILE", brokersCa) },
    sasl:
      mechanism === ""
        ? null
        : {
            mechanism: readOneOf("KAFKA_SASL", mechanism, ["plain", "scram-sha-256", "scram-sha-512"]),
            username,
            password,
          },
    partitions: values.partitions,
    replicationFactor: values.replication,
  };
}

function readElasticsearch(values: EngineValues): ElasticsearchSettings {
  const { url, user: username, password, apiKey } = values;
  const nodes = url.split(",").map((node) => node.trim());
  for (const node of nodes) {
    const parsed = URL.parse(node);
    if (parsed === null || !/^https?:$/.test(parsed.protocol))
      throw invalidSetting("ELASTICSEARCH_URL", url, "addresses such as http://host:9200, several separated by commas");
    if (parsed.username !== "" || parsed.password !== "")
      throw new StartError(
        "ELASTICSEARCH_URL contains credentials, which logs may show; " +
          "set ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD instead",
      );
  }
  if ((username === "") !== (password === ""))
    throw new StartError("ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD must both be set; one of them is not");
  if (apiKey !== "" && username !== "")
    throw new StartError("ELASTICSEARCH_API_KEY and ELASTICSEARCH_USERNAME are both set; set one of them");
  return {
    nodes,
    auth: apiKey !== "" ? { apiKey } : username !== "" ? { username, password } : null,
    ca: values.ca,
    shards: values.shards,
    replicas: values.replicas,
  };
}
