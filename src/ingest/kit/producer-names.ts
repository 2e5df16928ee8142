import { parseSeverity, severityOfNextcloud, severityOfOtel, severityOfSyslog } from "./severity.ts";
import type { Severity } from "./severity.ts";
import type { MutableAttributes } from "./flatten.ts";
import { TIME_MEMBERS } from "./times.ts";

/** Names that producers use for a field, most specific first. Dots stand for nested objects. */
const NAMES = {
  text:
    "message msg log record.message fields.message textPayload jsonPayload.message short_message _msg MESSAGE " +
    "@message Message RenderedMessage @m event message.message message.msg message.text Body " +
    // Names that applications use, too. Behind them is what loggers print without a message.
    "text body.text body request @mt MessageTemplate",
  time:
    "@timestamp timestamp time ts datetime _time eventTime Timestamp @t record.time.timestamp asctime instant " +
    "timeMillis msec time_iso8601 time_local __REALTIME_TIMESTAMP " +
    // Names that applications use, too.
    "date created",
  severity:
    // A word says more than a number, of which there are several scales.
    "log.level level_name level severity loglevel log_level lvl levelname severity_text SeverityText " +
    "otel.log.severity.text detected_level Level LogLevel @l level.levelStr level.label level.name error_severity " +
    "severity_number SeverityNumber otel.log.severity.number record.level.name PRIORITY s",
  source:
    "service.name service_name service app application appname app_name " +
    "labels.app kubernetes.labels.app name channel " +
    "program PROGRAM process.name ident SYSLOG_IDENTIFIER syslog_identifier _SYSTEMD_UNIT _COMM " +
    "container.name kubernetes.container.name kubernetes.container_name container_name container job source",
  host: "host.name hostname host _HOSTNAME source_host instance server_name",
  logger: "logger log.logger logger_name loggerName SourceContext Category target c",
  user: "user.name user.id user.email enduser.id user username usr.name usr.id",
  link: "url.full http.url view.url link",
  latitude: "geo.location.lat client.geo.location.lat source.geo.location.lat",
  longitude: "geo.location.lon client.geo.location.lon source.geo.location.lon",
  ip: "client.ip client.address source.ip",
} as const;
export type ProducerField = keyof typeof NAMES;

/** Returns the names that producers use for a field, most specific first. */
export function producerNames(field: ProducerField): readonly string[] {
  return NAMES[field].split(" ");
}

/** Prefixes that the OpenTelemetry Collector's exporters add. Prefixed names are never the text. */
const PREFIXES = ["", "attributes.", "Attributes.", "resource.attributes.", "Resource.", "resources."];
const PREFIXED: ReadonlySet<string> = new Set<ProducerField>([
  "source",
  "host",
  "user",
  "link",
  "ip",
  "latitude",
  "longitude",
]);

/** Returns whether attributes with a name are those of a logger that uses it for a field. */
type Condition = (attributes: MutableAttributes) => boolean;

function isBeside(...names: readonly string[]): Condition {
  return (attributes) => names.every((name) => attributes.has(name));
}

/** Names that mean a field only in the objects of one logger. */
const CONDITIONS: ReadonlyMap<string, Condition> = new Map<string, Condition>([
  // pino and bunyan, of which the level may be configured to be a word.
  ["name", (attributes) => isPinoLevel(attributes.get("level")) || isBeside("pid", "hostname")(attributes)],
  ["Category", isBeside("LogLevel")],
  ["target", isBeside("fields.message")],
  // MongoDB
  ["s", isBeside("t.$date")],
  ["c", isBeside("t.$date")],
  // Access logs of nginx, whose variables these are. `msec` may be a duration elsewhere.
  ["request", isBeside("remote_addr")],
  ["msec", isBeside("remote_addr")],
]);

/** Field of a name, and the rank of the name: 0 is the most specific. */
type Meaning = {
  readonly field: ProducerField;
  readonly rank: number;
  readonly condition?: Condition;
  /** The name of an object that is the time, of which this is a member. */
  readonly object?: string;
};
const MEANINGS = new Map<string, Meaning>(
  Object.entries(NAMES).flatMap(([field, names]) =>
    names.split(" ").flatMap((name, n) =>
      (PREFIXED.has(field) ? PREFIXES : [""]).map((prefix, i): [string, Meaning] => {
        const condition = CONDITIONS.get(prefix + name);
        const meaning = { field: field as ProducerField, rank: n * PREFIXES.length + i };
        return [prefix + name, condition === undefined ? meaning : { ...meaning, condition }];
      }),
    ),
  ),
);

// Members of objects that are times. MongoDB's logs name theirs `t`.
for (const [n, object] of [...producerNames("time"), "t"].entries()) {
  for (const member of TIME_MEMBERS) {
    MEANINGS.set(`${object}.${member}`, { field: "time", rank: n * PREFIXES.length, object });
  }
}

/** Returns what an attribute's name means; undefined if it means no field. */
export function meaningOfName(name: string, attributes: MutableAttributes): Meaning | undefined {
  const meaning = MEANINGS.get(name);
  return meaning?.condition?.(attributes) === false ? undefined : meaning;
}

/** First names of the members by which an object is a logger's. Applications use the others, too. */
export const LOGGER_MEMBERS: ReadonlySet<string> = new Set(
  [...producerNames("text"), ...producerNames("time"), ...producerNames("severity")]
    .filter((name) => !CONDITIONS.has(name) && name !== "text" && name !== "created")
    .map((name) => name.split(".")[0]!),
);

/** Names of numbers on OpenTelemetry's severity scale, which differs from other scales. */
const OTEL_NUMBERS: ReadonlySet<string> = new Set(["severity_number", "SeverityNumber", "otel.log.severity.number"]);

/**
 * Returns the severity that the attribute with a name means; null if its value is none. A number's
 * scale is that of its logger.
 */
export function severityNamed(name: string, attributes: MutableAttributes): Severity | null {
  const value = attributes.get(name);
  if (OTEL_NUMBERS.has(name)) return severityOfOtel(Number(value));
  if (name === "PRIORITY") return severityOfSyslog(value) ?? parseSeverity(value);
  const severity = parseSeverity(value);
  if (severity !== null || name !== "level") return severity;
  if (attributes.has("short_message")) return severityOfSyslog(value);
  return attributes.has("reqId") ? severityOfNextcloud(value) : null;
}

function isPinoLevel(value: unknown): boolean {
  return typeof value === "number" && parseSeverity(value) !== null;
}
