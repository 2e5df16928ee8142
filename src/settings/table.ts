/**
 * Every setting with what it does, as `make help` and `loggia start --help` list them. Secrets may
 * also come from the file that `NAME_FILE` names.
 */
// prettier-ignore
export const SETTINGS = [
  { name: "LOGGIA_API", standard: "127.0.0.1:8080", help: "address of the API, host:port; port 0 takes a free one" },
  { name: "LOGGIA_POST", standard: "127.0.0.1:8081", help: "address for posting events, host:port; port 0 takes a free one" },
  { name: "LOGGIA_POST_URL", standard: "", help: "URL of LOGGIA_POST behind a proxy, as producers reach it, such as https://in.example.org" },
  { name: "LOGGIA_DATA", standard: "data", help: "folder of the embedded engines' files" },
  { name: "LOGGIA_BUS_KEEP", standard: "24h", help: "how long the embedded bus keeps what is in the store, for replays: such as 90m, 24h or 7d" },
  { name: "LOGGIA_ROLES", standard: "post,pipeline,api", help: "what this process does; fewer than all needs a cluster" },
  { name: "LOGGIA_ADMIN", standard: "", help: "e-mail:password of the first admin, for a store without accounts (drawn where not given)", secret: true },
  { name: "LOGGIA_LOG", standard: "", help: "key or key:apikey of the first log, for a store without accounts", secret: true },
  { name: "LOGGIA_LOG_LEVEL", standard: "info", help: "fatal, error, warn, info, debug, trace or silent" },
  { name: "LOGGIA_NAMESPACE", standard: "loggia", help: "prefix of topics and indices, so that several services can share a cluster" },
  { name: "LOGGIA_LIMITS", standard: "", help: "limits of the fields of events, such as text=2000,data=10000,attributeValue=8000" },
  { name: "LOGGIA_ELASTICSEARCH_VERSION", standard: "8.19.0", help: "version of Elasticsearch that producers which post by _bulk are told" },
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

export type SettingName = (typeof SETTINGS)[number]["name"];
