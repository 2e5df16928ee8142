import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import type { AccountLimits } from "./catalog/catalog.ts";
import { ACCOUNT_LIMIT_SETTINGS } from "./catalog/quotas.ts";
import { StartError } from "./errors.ts";
import { type LogKey, parseLogKey } from "./events/event.ts";
import { DEFAULT_LIMITS, type FieldLimits } from "./events/limits.ts";
import { DEFAULT_RATES, type Rates } from "./gate/gate.ts";

export type Address = { readonly host: string; readonly port: number };

export const ROLES = ["post", "pipeline", "api"] as const;
export type Role = (typeof ROLES)[number];

export type KafkaSettings = {
  readonly brokers: readonly string[];
  /** Certificate authorities in PEM, the system's own where null; false: no TLS. */
  readonly tls: false | { readonly ca: string | null };
  readonly sasl: {
    readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
    readonly username: string;
    readonly password: string;
  } | null;
  readonly partitions: number;
};

export type ElasticsearchSettings = {
  readonly nodes: readonly string[];
  readonly auth: { readonly username: string; readonly password: string } | { readonly apiKey: string } | null;
  readonly ca: string | null;
};

export type MailSettings = {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte, as `smtps:` means it. */
  readonly secure: boolean;
  readonly credentials: { readonly user: string; readonly password: string } | null;
  readonly from: { readonly name: string; readonly address: string };
};

export type Settings = {
  readonly api: Address;
  readonly post: Address;
  readonly data: string;
  readonly roles: ReadonlySet<Role>;
  /** Made at the first start; null: drawn and printed once. */
  readonly admin: { readonly email: string; readonly password: string } | null;
  readonly log: { readonly key: LogKey; readonly apiKey: string | null } | null;
  readonly engines:
    | { readonly kind: "embedded" }
    | { readonly kind: "cluster"; readonly kafka: KafkaSettings; readonly elasticsearch: ElasticsearchSettings };
  readonly namespace: string;
  readonly logLevel: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";
  readonly limits: FieldLimits;
  /** File of a GeoIP database; null: addresses stay addresses. */
  readonly geoip: string | null;
  /** How to mail people about events; null: nobody is mailed. */
  readonly mail: MailSettings | null;
  /** Where health and metrics are told beside the other addresses; null: only there. */
  readonly monitoring: Address | null;
  readonly rates: Rates;
  /** Whose `X-Forwarded-For` and `X-Forwarded-Host` are believed. */
  readonly trustedProxies: BlockList;
  /** Names by which browsers may call the API, besides loopback names and the machine's own. */
  readonly hosts: readonly string[];
  readonly accountLimits: AccountLimits;
};

/** Every setting with what it does, as `make help` and `loggia start --help` list them. Secrets may also come from the file that `NAME_FILE` names. */
// prettier-ignore
export const SETTINGS = [
  { name: "LOGGIA_API", standard: "127.0.0.1:8080", help: "address of the API, host:port; port 0 takes a free one" },
  { name: "LOGGIA_POST", standard: "127.0.0.1:8081", help: "address for posting events, host:port; port 0 takes a free one" },
  { name: "LOGGIA_DATA", standard: "data", help: "folder of the embedded engines' files" },
  { name: "LOGGIA_ROLES", standard: "post,pipeline,api", help: "what this process does; fewer than all needs a cluster" },
  { name: "LOGGIA_ADMIN", standard: "", help: "e-mail:password of the first admin, for a store without accounts (drawn where not given)", secret: true },
  { name: "LOGGIA_LOG", standard: "", help: "key or key:apikey of the first log, for a store without accounts", secret: true },
  { name: "LOGGIA_LOG_LEVEL", standard: "info", help: "fatal, error, warn, info, debug, trace or silent" },
  { name: "LOGGIA_NAMESPACE", standard: "loggia", help: "prefix of topics and indices, so that several services can share a cluster" },
  { name: "LOGGIA_LIMITS", standard: "", help: "longest fields in characters, such as text=2000,data=10000" },
  { name: "LOGGIA_GEOIP", standard: "", help: "MaxMind database (.mmdb) of cities, to place events posted with geo=ip:<address>" },
  { name: "LOGGIA_SMTP", standard: "", help: "mail server for notifications, smtp(s)://user:password@host:port", secret: true },
  { name: "LOGGIA_MAIL_FROM", standard: "", help: "sender of notifications, such as Loggia <loggia@example.org>" },
  { name: "LOGGIA_OPS", standard: "", help: "address for health and metrics, host:port; the API and posting tell no metrics then" },
  { name: "LOGGIA_TRUSTED_PROXIES", standard: "", help: "address or address/bits,… of proxies whose X-Forwarded-For and -Host are believed" },
  { name: "LOGGIA_HOSTS", standard: "", help: "names by which browsers call the API, such as logs.example.org,…; addresses always work" },
  { name: "LOGGIA_RATE_ADDRESS", standard: "100000", help: "requests a second from one address, beyond which it gets 429" },
  { name: "LOGGIA_RATE_CALLER", standard: "100000", help: "requests a second by one person, with all keys of their logs" },
  { name: "LOGGIA_RATE_FAILURES", standard: "20", help: "wrong passwords and keys a minute from one address" },
  { name: "LOGGIA_RATE_QUERIES", standard: "8", help: "queries at a time by one person, with all keys of their logs; more wait, then get 429" },
  { name: "LOGGIA_RATE_QUERIES_ALL", standard: "32", help: "queries at a time by all; more wait, then get 503" },
  { name: "LOGGIA_ANSWERS_MB", standard: "256", help: "memory of all answers of the API at a time; one person gets half of it" },
  { name: "LOGGIA_LOGS_PER_ACCOUNT", standard: "20", help: "logs that an account may own; 0: only service admins create logs" },
  { name: "LOGGIA_API_KEYS_PER_ACCOUNT", standard: "400", help: "API keys of all logs that an account owns" },
  { name: "LOGGIA_CLASS_FILTERS_PER_ACCOUNT", standard: "20000", help: "class filters of all logs that an account owns" },
  { name: "LOGGIA_SHARES_PER_ACCOUNT", standard: "2000", help: "shares of all logs that an account owns" },
  { name: "KAFKA_BROKERS", standard: "", help: "host:port,… of Kafka; with ELASTICSEARCH_URL: run on a cluster" },
  { name: "KAFKA_PARTITIONS", standard: "6", help: "partitions of a topic when it is made, 1 to 1000" },
  { name: "KAFKA_TLS", standard: "off", help: "on: speak TLS with the brokers" },
  { name: "KAFKA_CA_FILE", standard: "", help: "certificate authorities of the brokers, PEM" },
  { name: "KAFKA_SASL", standard: "", help: "plain, scram-sha-256 or scram-sha-512" },
  { name: "KAFKA_USERNAME", standard: "", help: "name for SASL" },
  { name: "KAFKA_PASSWORD", standard: "", help: "password for SASL", secret: true },
  { name: "ELASTICSEARCH_URL", standard: "", help: "http(s)://host:port,… of Elasticsearch; with KAFKA_BROKERS: run on a cluster" },
  { name: "ELASTICSEARCH_USERNAME", standard: "", help: "user of Elasticsearch" },
  { name: "ELASTICSEARCH_PASSWORD", standard: "", help: "that user's password", secret: true },
  { name: "ELASTICSEARCH_API_KEY", standard: "", help: "API key of Elasticsearch, instead of user and password", secret: true },
  { name: "ELASTICSEARCH_CA_FILE", standard: "", help: "certificate authorities of Elasticsearch, PEM" },
] as const satisfies readonly { name: string; standard: string; help: string; secret?: true }[];

type Name = (typeof SETTINGS)[number]["name"];

/** The settings that `environment` says. @throws StartError that names the variable, its value and what is allowed */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  refuseUnknown(environment);
  const get = (name: Name): string => readVariable(environment, name);
  const roles = readRoles(get("LOGGIA_ROLES"));
  const engines = readEngines(get);
  if (engines.kind === "embedded" && roles.size < ROLES.length) {
    throw wrong(
      "LOGGIA_ROLES",
      get("LOGGIA_ROLES"),
      "all of post,pipeline,api on embedded engines: their files belong to one process. Set KAFKA_BROKERS and ELASTICSEARCH_URL to split the roles",
    );
  }
  return {
    api: readAddress("LOGGIA_API", get("LOGGIA_API")),
    post: readAddress("LOGGIA_POST", get("LOGGIA_POST")),
    data: get("LOGGIA_DATA"),
    roles,
    admin: readAdmin(get("LOGGIA_ADMIN")),
    log: readLog(get("LOGGIA_LOG")),
    engines,
    namespace: readMatch(
      "LOGGIA_NAMESPACE",
      get("LOGGIA_NAMESPACE"),
      /^[a-z][a-z0-9-]{0,62}$/,
      "a lower-case letter, then at most 62 letters, digits and hyphens",
    ),
    logLevel: readOneOf("LOGGIA_LOG_LEVEL", get("LOGGIA_LOG_LEVEL"), [
      "fatal",
      "error",
      "warn",
      "info",
      "debug",
      "trace",
      "silent",
    ]),
    limits: readLimits(get("LOGGIA_LIMITS")),
    geoip: get("LOGGIA_GEOIP") || null,
    mail: readMail(get("LOGGIA_SMTP"), get("LOGGIA_MAIL_FROM")),
    monitoring: get("LOGGIA_OPS") === "" ? null : readAddress("LOGGIA_OPS", get("LOGGIA_OPS")),
    rates: readRates(get),
    trustedProxies: readProxies(get("LOGGIA_TRUSTED_PROXIES")),
    hosts: readHosts(get("LOGGIA_HOSTS")),
    accountLimits: readAccountLimits(get),
  };
}

const RATE_SETTINGS = {
  address: "LOGGIA_RATE_ADDRESS",
  caller: "LOGGIA_RATE_CALLER",
  failures: "LOGGIA_RATE_FAILURES",
  queries: "LOGGIA_RATE_QUERIES",
  queriesTotal: "LOGGIA_RATE_QUERIES_ALL",
  answers_mb: "LOGGIA_ANSWERS_MB",
} as const satisfies Record<keyof Rates, Name>;

function readRates(get: (name: Name) => string): Rates {
  const rates = Object.entries(RATE_SETTINGS).map(([rate, name]) => [rate, readWhole(name, get(name), 1, 1_000_000)]);
  return { ...DEFAULT_RATES, ...(Object.fromEntries(rates) as Rates) };
}

function readAccountLimits(get: (name: Name) => string): AccountLimits {
  const limits = Object.entries(ACCOUNT_LIMIT_SETTINGS).map(([kind, name]) => {
    // A log comes with a key and a share, so that nobody could create one without these.
    const least = kind === "logs" || kind === "classFilters" ? 0 : 1;
    return [kind, readWhole(name, get(name), least, 10_000_000)];
  });
  return Object.fromEntries(limits) as AccountLimits;
}

function readProxies(value: string): BlockList {
  const proxies = new BlockList();
  for (const entry of value.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const [address = "", bits, ...rest] = entry.split("/");
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    if (version === 0 || rest.length > 0 || (bits !== undefined && !(/^\d+$/.test(bits) && Number(bits) <= most)))
      throw wrong("LOGGIA_TRUSTED_PROXIES", value, "addresses such as 10.0.0.1, 10.0.0.0/8 or fd00::/8, with commas");
    proxies.addSubnet(address, bits === undefined ? most : Number(bits), version === 6 ? "ipv6" : "ipv4");
  }
  return proxies;
}

function readHosts(value: string): readonly string[] {
  const names = value.split(",").map((part) => part.trim());
  return names.filter(Boolean).map((name) => {
    const hostname = /^[^\s:/?#@\\[\]%*]+$/.test(name) ? URL.parse(`http://${name}`)?.hostname : undefined;
    if (hostname === undefined)
      throw wrong("LOGGIA_HOSTS", value, "names such as logs.example.org, without ports, with commas");
    return hostname;
  });
}

function readVariable(environment: NodeJS.ProcessEnv, name: Name): string {
  const setting: { standard: string; secret?: true } = SETTINGS.find((known) => known.name === name)!;
  const value = environment[name]?.trim() ?? "";
  const file = setting.secret === true ? (environment[`${name}_FILE`]?.trim() ?? "") : "";
  if (file === "") return value === "" ? setting.standard : value;
  if (value !== "") throw new StartError(`${name} and ${name}_FILE are both set; set one of them`);
  return readFile(`${name}_FILE`, file).trim();
}

function readFile(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new StartError(`${name} is ${JSON.stringify(file)}, which can't be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Certificates in PEM. Node takes any other text for no certificate at all, without a word, and then trusts no server. */
function readAuthorities(name: Name, file: string): string | null {
  if (file === "") return null;
  const pem = readFile(name, file);
  try {
    void new X509Certificate(pem);
    return pem;
  } catch (error) {
    const allowed = "a file of certificates in PEM, which this one is not";
    throw new StartError(wrong(name, file, allowed).message, { cause: error });
  }
}

/** Variables of the command's other parts, which `start` does not read. */
const CLIENT_VARIABLES: ReadonlySet<string> = new Set(["LOGGIA_KEY", "LOGGIA_AS"]);

/** A misspelt variable would silently mean its default. */
function refuseUnknown(environment: NodeJS.ProcessEnv): void {
  const known = new Set<string>(
    SETTINGS.flatMap((setting) => ("secret" in setting ? [setting.name, `${setting.name}_FILE`] : [setting.name])),
  );
  for (const name of Object.keys(environment)) {
    if (name.startsWith("LOGGIA_") && !known.has(name) && !CLIENT_VARIABLES.has(name)) {
      const names = [...known].filter((other) => other.startsWith("LOGGIA_")).join(", ");
      throw new StartError(`${name} is not a setting; allowed are ${names}`);
    }
  }
}

function readEngines(get: (name: Name) => string): Settings["engines"] {
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

function readKafka(get: (name: Name) => string, brokers: string): KafkaSettings {
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
  };
}

function readElasticsearch(get: (name: Name) => string, url: string): ElasticsearchSettings {
  const nodes = url.split(",").map((node) => node.trim());
  for (const node of nodes) {
    const parsed = URL.parse(node);
    if (parsed === null || !/^https?:$/.test(parsed.protocol))
      throw wrong("ELASTICSEARCH_URL", url, "addresses such as http://host:9200, several separated by commas");
    if (parsed.username !== "" || parsed.password !== "")
      throw new StartError(
        "ELASTICSEARCH_URL holds credentials, where logs may show them; set ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD instead",
      );
  }
  const ca = get("ELASTICSEARCH_CA_FILE");
  const username = get("ELASTICSEARCH_USERNAME");
  const password = get("ELASTICSEARCH_PASSWORD");
  const apiKey = get("ELASTICSEARCH_API_KEY");
  if ((username === "") !== (password === ""))
    throw new StartError("ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD go together; one of them is not set");
  if (apiKey !== "" && username !== "")
    throw new StartError("ELASTICSEARCH_API_KEY and ELASTICSEARCH_USERNAME are both set; set one of them");
  return {
    nodes,
    auth: apiKey !== "" ? { apiKey } : username !== "" ? { username, password } : null,
    ca: readAuthorities("ELASTICSEARCH_CA_FILE", ca),
  };
}

function readMail(server: string, from: string): MailSettings | null {
  if (server === "" && from === "") return null;
  if (server === "" || from === "") {
    const [set, missing] =
      server === "" ? ["LOGGIA_MAIL_FROM", "LOGGIA_SMTP"] : ["LOGGIA_SMTP (or LOGGIA_SMTP_FILE)", "LOGGIA_MAIL_FROM"];
    throw new StartError(`${set} is set and ${missing} is not; mail needs both`);
  }
  const sender = /^(?:([^<>\p{Cc}]*)<([^<>@\s]+@[^<>@\s]+)>|([^<>@\s]+@[^<>@\s]+))$/u.exec(from);
  if (sender === null) throw wrong("LOGGIA_MAIL_FROM", from, "loggia@example.org or Loggia <loggia@example.org>");
  const name = (sender[1] ?? "").trim().replace(/^"(.*)"$/, "$1");
  return { ...readMailServer(server), from: { name, address: sender[2] ?? sender[3] ?? "" } };
}

/** The value is a secret: only its form is told. */
function readMailServer(server: string): Omit<MailSettings, "from"> {
  const allowed = "LOGGIA_SMTP must be smtp://host:port or smtps://host:port, with user:password@ where it needs them";
  const url = URL.parse(server);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") throw new StartError(allowed);
  if (!/^\/?$/.test(url.pathname) || url.search !== "" || url.hash !== "") throw new StartError(allowed);
  if ((url.username === "") !== (url.password === ""))
    throw new StartError("LOGGIA_SMTP gives one of user and password; they go together");
  const secure = url.protocol === "smtps:";
  try {
    const user = decodeURIComponent(url.username);
    const password = decodeURIComponent(url.password);
    return {
      host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
      secure,
      credentials: user === "" ? null : { user, password },
    };
  } catch (error) {
    throw new StartError("LOGGIA_SMTP has a % that no two hex digits follow; write it as %25", { cause: error });
  }
}

function readAddress(name: Name, value: string): Address {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/i.exec(value);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw wrong(name, value, "host:port such as 127.0.0.1:8080, with a port from 0 to 65535");
  return { host: match[1] ?? match[2] ?? "", port };
}

function readRoles(value: string): ReadonlySet<Role> {
  const roles = value.split(",").map((role) => readOneOf("LOGGIA_ROLES", role.trim(), ROLES));
  return new Set(roles);
}

function readAdmin(value: string): Settings["admin"] {
  if (value === "") return null;
  const colon = value.indexOf(":");
  const email = value.slice(0, colon);
  const password = value.slice(colon + 1);
  // The value is a secret: only its form is told.
  if (colon < 1 || !email.includes("@") || password.length < 8)
    throw new StartError("LOGGIA_ADMIN must be e-mail:password, with a password of at least 8 characters");
  return { email, password };
}

function readLog(value: string): Settings["log"] {
  if (value === "") return null;
  const [name = "", ...rest] = value.split(":");
  const key = parseLogKey(name);
  if (key === null)
    throw wrong(
      "LOGGIA_LOG",
      name,
      "key or key:apikey, the key being 1 to 63 letters, digits and hyphens, the first no hyphen, and none of bookmarks, alerts and classfilters",
    );
  const apiKey = rest.length === 0 ? null : rest.join(":");
  if (apiKey !== null && apiKey.length < 8)
    throw new StartError("LOGGIA_LOG gives an API key of fewer than 8 characters");
  return { key, apiKey };
}

function readLimits(value: string): FieldLimits {
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const pair of value.split(",").filter((part) => part.trim() !== "")) {
    const [name = "", number = ""] = pair.split("=").map((part) => part.trim());
    if (!(name in DEFAULT_LIMITS))
      throw wrong(
        "LOGGIA_LIMITS",
        value,
        `pairs of ${Object.keys(DEFAULT_LIMITS).join(", ")} and a number, such as text=2000`,
      );
    limits[name] = readWhole("LOGGIA_LIMITS", number, 1, LIMIT_MAXIMA[name as keyof FieldLimits], value);
  }
  return limits as FieldLimits;
}

/** What the engines can hold: a term of Elasticsearch has at most 32,766 bytes, and a character up to four. */
const LIMIT_MAXIMA: FieldLimits = {
  text: 8_000,
  link: 8_000,
  source: 2_000,
  user: 2_000,
  tags: 2_000,
  value: 300,
  geo: 300,
  data: 10_000,
  email: 2_000,
  page: 8_000,
  attributes: 1_000,
  attributeName: 500,
  attributeValue: 6_500,
  attributesBytes: 65_536,
};

function readWhole(name: Name, text: string, least: number, most: number, whole = text): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= least && number <= most)) throw wrong(name, whole, `whole numbers from ${least} to ${most}`);
  return number;
}

function readMatch(name: Name, value: string, pattern: RegExp, allowed: string): string {
  if (!pattern.test(value)) throw wrong(name, value, allowed);
  return value;
}

function readOneOf<const T extends string>(name: Name, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw wrong(name, value, `one of ${allowed.join(", ")}`);
  return found;
}

function wrong(name: Name, value: string, allowed: string): StartError {
  return new StartError(`${name} is ${JSON.stringify(value)}; allowed: ${allowed}`);
}
