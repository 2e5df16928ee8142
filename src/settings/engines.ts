import { StartError } from "../errors.ts";
import type { SettingName } from "./table.ts";
import { readAddress, readAuthorities, readOneOf, readWhole, wrong } from "./values.ts";

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

export function readEngines(get: (name: SettingName) => string): EngineSettings {
  const brokers = get("KAFKA_BROKERS");
  const url = get("ELASTICSEARCH_URL");
  if (brokers === "" && url === "") return { kind: "embedded" };
  if (brokers === "" || url === "") {
    const [set, missing] =
      brokers === ""
        ? (["ELASTICSEARCH_URL", "KAFKA_BROKERS"] as const)
        : (["KAFKA_BROKERS", "ELASTICSEARCH_URL"] as const);
    throw new StartError(`${set} is set and ${missing} is not; a cluster needs both, embedded engines need neither`);
  }
  return { kind: "cluster", kafka: readKafka(get, brokers), elasticsearch: readElasticsearch(get, url) };
}

function readKafka(get: (name: SettingName) => string, brokers: string): KafkaSettings {
  const ca = get("KAFKA_CA_FILE");
  const tls = readOneOf("KAFKA_TLS", get("KAFKA_TLS"), ["on", "off"]) === "on";
  if (ca !== "" && !tls) throw wrong("KAFKA_CA_FILE", ca, "nothing, unless KAFKA_TLS is on");
  const mechanism = get("KAFKA_SASL");
  const username = get("KAFKA_USERNAME");
  const password = get("KAFKA_PASSWORD");
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
    tls: tls && { ca: readAuthorities("KAFKA_CA_FILE", ca) },
    sasl:
      mechanism === ""
        ? null
        : {
            mechanism: readOneOf("KAFKA_SASL", mechanism, ["plain", "scram-sha-256", "scram-sha-512"]),
            username,
            password,
          },
    partitions: readWhole("KAFKA_PARTITIONS", get("KAFKA_PARTITIONS"), 1, 1000),
    replicationFactor: readOptional("KAFKA_REPLICATION", get("KAFKA_REPLICATION"), 1, 32_767),
  };
}

function readElasticsearch(get: (name: SettingName) => string, url: string): ElasticsearchSettings {
  const nodes = url.split(",").map((node) => node.trim());
  for (const node of nodes) {
    const parsed = URL.parse(node);
    if (parsed === null || !/^https?:$/.test(parsed.protocol))
      throw wrong("ELASTICSEARCH_URL", url, "addresses such as http://host:9200, several separated by commas");
    if (parsed.username !== "" || parsed.password !== "")
      throw new StartError(
        "ELASTICSEARCH_URL contains credentials, which logs may show; " +
          "set ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD instead",
      );
  }
  const ca = get("ELASTICSEARCH_CA_FILE");
  const username = get("ELASTICSEARCH_USERNAME");
  const password = get("ELASTICSEARCH_PASSWORD");
  const apiKey = get("ELASTICSEARCH_API_KEY");
  if ((username === "") !== (password === ""))
    throw new StartError("ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD must both be set; one of them is not");
  if (apiKey !== "" && username !== "")
    throw new StartError("ELASTICSEARCH_API_KEY and ELASTICSEARCH_USERNAME are both set; set one of them");
  return {
    nodes,
    auth: apiKey !== "" ? { apiKey } : username !== "" ? { username, password } : null,
    ca: readAuthorities("ELASTICSEARCH_CA_FILE", ca),
    shards: readWhole("ELASTICSEARCH_SHARDS", get("ELASTICSEARCH_SHARDS"), 1, 1024),
    replicas: readOptional("ELASTICSEARCH_REPLICAS", get("ELASTICSEARCH_REPLICAS"), 0, 10),
  };
}

function readOptional(name: SettingName, value: string, least: number, most: number): number | undefined {
  return value === "" ? undefined : readWhole(name, value, least, most);
}
