import { BlockList, isIP } from "node:net";
import type { AccountLimits } from "./catalog/catalog.ts";
import { ACCOUNT_LIMIT_SETTINGS } from "./catalog/quotas.ts";
import { StartError } from "./errors.ts";
import { type LogKey, parseLogKey } from "./events/event.ts";
import {
  attributeTerm_bytes,
  DEFAULT_LIMITS,
  type FieldLimits,
  HIGHEST_LIMITS,
  TERM_MAX_BYTES,
} from "./events/limits.ts";
import type { ProtocolSettings } from "./ingest/kit/endpoint.ts";
import { PROTOCOL_SETTINGS, PROTOCOLS } from "./ingest/protocols/list.ts";
import { DEFAULT_RATES, type Rates } from "./ratelimit/rate-limiter.ts";
import { type BusKeep, readBusKeep } from "./settings/bus-keep.ts";
import { type EngineSettings, readEngines } from "./settings/engines.ts";
import { type ListenerSettings, readSockets } from "./settings/listeners.ts";
import { type MailSettings, readMail } from "./settings/mail.ts";
import { defaultMemory, MIN_MEMORY, type MemoryShares, parseMemory, shareMemory } from "./settings/memory.ts";
import { readPlain, type Trick } from "./settings/plain.ts";
import { type SettingName, type SettingRow, SETTINGS } from "./settings/table.ts";
import { refuseUnknown } from "./settings/unknown.ts";
import { type Address, readAddress, readFile, readMatch, readOneOf, readWhole, wrong } from "./settings/values.ts";

/** All settings, those of the protocols included. */
export const ALL_SETTINGS: readonly SettingRow[] = [...SETTINGS, ...PROTOCOL_SETTINGS];
/** The settings that help lists. */
export const LISTED_SETTINGS: readonly SettingRow[] = ALL_SETTINGS.filter(({ forTests }) => forTests !== true);

export const ROLES = ["post", "pipeline", "api"] as const;
export type Role = (typeof ROLES)[number];

export type Settings = {
  readonly api: Address;
  readonly post: Address;
  /**
   * URL at which producers reach `post`, without a trailing slash; null: its port on the host of
   * the API.
   */
  readonly postUrl: string | null;
  readonly data: string;
  /** How long and how much the embedded bus keeps of the records that the store holds. */
  readonly busKeep: BusKeep;
  /** Memory shares of a process with embedded engines. */
  readonly memory: MemoryShares;
  readonly roles: ReadonlySet<Role>;
  /** Made at the first start; null: generated and printed once. */
  readonly admin: { readonly email: string; readonly password: string } | null;
  readonly log: { readonly key: LogKey; readonly apiKey: string | null } | null;
  readonly engines: EngineSettings;
  readonly namespace: string;
  readonly logLevel: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";
  readonly limits: FieldLimits;
  /** Settings of protocols, apart from their listeners. */
  readonly protocols: ProtocolSettings;
  /** Listeners for protocols other than HTTP. */
  readonly listeners: ListenerSettings;
  /** File of a GeoIP database; null: addresses are not located. */
  readonly geoip: string | null;
  /** Mail server for notices about events; null: no mail is sent. */
  readonly mail: MailSettings | null;
  /**
   * Additional address for health and metrics; null: they are served on the other addresses only.
   */
  readonly monitoring: Address | null;
  readonly rates: Rates;
  /** Proxies whose `X-Forwarded-For` and `X-Forwarded-Host` are trusted. */
  readonly trustedProxies: BlockList;
  /**
   * Host names by which browsers may call the API, besides loopback names and the machine's own.
   */
  readonly hosts: readonly string[];
  readonly accountLimits: AccountLimits;
  /** What is there for speed alone and left out. */
  readonly plain: ReadonlySet<Trick>;
};

/**
 * Reads the settings from `environment`.
 * @throws StartError that names the variable, its value and what is allowed
 */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  refuseUnknown(environment, ALL_SETTINGS);
  const get = (name: SettingName): string =>
    readVariable(
      environment,
      SETTINGS.find((row) => row.name === name)!,
    );
  const roles = readRoles(get("LOGGIA_ROLES"));
  const engines = readEngines(get);
  if (engines.kind === "embedded" && roles.size < ROLES.length) {
    throw wrong(
      "LOGGIA_ROLES",
      get("LOGGIA_ROLES"),
      "all of post,pipeline,api on embedded engines: their files belong to one process. " +
        "Set KAFKA_BROKERS and ELASTICSEARCH_URL to split the roles",
    );
  }
  return {
    api: readAddress("LOGGIA_API", get("LOGGIA_API")),
    post: readAddress("LOGGIA_POST", get("LOGGIA_POST")),
    postUrl: readPostUrl(get("LOGGIA_POST_URL")),
    data: get("LOGGIA_DATA"),
    busKeep: readBusKeep(get("LOGGIA_BUS_KEEP"), engines.kind === "embedded"),
    memory: readMemory(get("LOGGIA_MEMORY")),
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
    protocols: readProtocolSettings(environment),
    listeners: readListeners(environment),
    geoip: get("LOGGIA_GEOIP") || null,
    mail: readMail(get("LOGGIA_SMTP"), get("LOGGIA_MAIL_FROM")),
    monitoring: get("LOGGIA_OPS") === "" ? null : readAddress("LOGGIA_OPS", get("LOGGIA_OPS")),
    rates: readRates(get),
    trustedProxies: readProxies(get("LOGGIA_TRUSTED_PROXIES")),
    hosts: readHosts(get("LOGGIA_HOSTS")),
    accountLimits: readAccountLimits(get),
    plain: readPlain(get("LOGGIA_PLAIN")),
  };
}

function readMemory(value: string): MemoryShares {
  const bytes = value === "" ? defaultMemory() : parseMemory(value);
  if (bytes === null) {
    throw wrong("LOGGIA_MEMORY", value, `a number and MB or GB, such as 512MB, from ${MIN_MEMORY / 2 ** 20}MB on`);
  }
  return shareMemory(bytes);
}

const RATE_SETTINGS = {
  address: "LOGGIA_RATE_ADDRESS",
  caller: "LOGGIA_RATE_CALLER",
  failures: "LOGGIA_RATE_FAILURES",
  queries: "LOGGIA_RATE_QUERIES",
  queriesTotal: "LOGGIA_RATE_QUERIES_ALL",
  answers_mb: "LOGGIA_ANSWERS_MB",
} as const satisfies Record<keyof Rates, SettingName>;

function readRates(get: (name: SettingName) => string): Rates {
  const rates = Object.entries(RATE_SETTINGS).map(([rate, name]) => [rate, readWhole(name, get(name), 1, 1_000_000)]);
  return { ...DEFAULT_RATES, ...(Object.fromEntries(rates) as Rates) };
}

function readAccountLimits(get: (name: SettingName) => string): AccountLimits {
  const limits = Object.entries(ACCOUNT_LIMIT_SETTINGS).map(([kind, name]) => {
    // Creating a log also creates a key and a share, so with a limit of 0 it would always fail.
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

function readPostUrl(value: string): string | null {
  if (value === "") return null;
  const url = URL.parse(value);
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === "";
  if (!isPlain || url.search + url.hash !== "")
    throw wrong("LOGGIA_POST_URL", value, "a URL such as https://in.example.org, without credentials and query");
  return url.href.replace(/\/$/, "");
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

function readProtocolSettings(environment: NodeJS.ProcessEnv): ProtocolSettings {
  const rows = PROTOCOLS.flatMap(({ settings = [] }) => settings);
  return new Map(
    rows.map((row) => [row.name, readMatch(row.name, readVariable(environment, row), row.pattern, row.allowed)]),
  );
}

function readListeners(environment: NodeJS.ProcessEnv): ListenerSettings {
  const listeners = PROTOCOLS.flatMap(({ name, sockets }) => {
    if (sockets === undefined) return [];
    const { setting, syntax } = sockets;
    return [[name, readSockets(setting.name, readVariable(environment, setting), syntax)] as const];
  });
  return Object.fromEntries(listeners);
}

function readVariable(environment: NodeJS.ProcessEnv, setting: SettingRow): string {
  const { name } = setting;
  const value = environment[name]?.trim() ?? "";
  const file = setting.secret === true ? (environment[`${name}_FILE`]?.trim() ?? "") : "";
  if (file === "") return value === "" ? setting.standard : value;
  if (value !== "") throw new StartError(`${name} and ${name}_FILE are both set; set one of them`);
  return readFile(`${name}_FILE`, file).trim();
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
  // The value is a secret, so only its format is shown.
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
      "key or key:apikey, the key being 1 to 63 letters, digits and hyphens, the first no hyphen, " +
        "and none of bookmarks, alerts and classfilters",
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
    const most = HIGHEST_LIMITS[name as keyof FieldLimits];
    limits[name] = /^\d+$/.test(number) ? Number(number) : Number.NaN;
    if (!(limits[name] >= 1 && limits[name] <= most))
      throw wrong("LOGGIA_LIMITS", value, `for ${name} a whole number from 1 to ${most}, which the engines can hold`);
  }
  const term_bytes = attributeTerm_bytes(limits as FieldLimits);
  if (term_bytes > TERM_MAX_BYTES) {
    const { attributeName, attributeValue } = limits;
    throw wrong(
      "LOGGIA_LIMITS",
      value,
      `an attributeName and attributeValue that fit one term of Elasticsearch, of ${TERM_MAX_BYTES} bytes; ` +
        `names of ${attributeName} and values of ${attributeValue} characters may take ${term_bytes}`,
    );
  }
  return limits as FieldLimits;
}
