import type { FieldChoice } from "../../ingest/kit/choice.ts";
import { eventOfAttributes } from "../../ingest/kit/document.ts";
import { put } from "../../ingest/kit/flatten.ts";
import type { MutableAttributes } from "../../ingest/kit/flatten.ts";
import { eventOfGroups } from "./groups.ts";
import type { LineEvent } from "./groups.ts";

/** A format that programs write without being told to. */
export type LineFormat = {
  /** Whole records, with the groups of `--pattern`. The first that matches counts. */
  readonly forms: readonly RegExp[];
  /** Forms that other programs write, too. They do not show that a file is of this format. */
  readonly moreForms?: readonly RegExp[];
  /** The source of events that name no other. */
  readonly source?: string;
  /** How times are written, if that is no known form: see `--time-format`. */
  readonly timeFormat?: string;
  /** Matches the first line of a record, if records may have several. */
  readonly start?: RegExp;
};

const QUOTED = String.raw`(?:[^"\\]|\\.)*`;

/** What nginx calls `combined` and Apache `common`, `combined` or `vhost_combined`. */
const ACCESS = new RegExp(
  String.raw`^(?:(?<server_name>[^\s:]+):(?<server_port>\d+) )?(?<remote_addr>[^\s:]\S*|::\S*) (?:-|(?<ident>\S+)) ` +
    String.raw`(?:-|(?<user>[^[]*[^[\s])) \[(?<created>\d\d\/\w{3}\/\d{4}:[\d:]{8} [+-]\d{4})\] ` +
    String.raw`"(?:-|(?<text>${QUOTED}))" (?<status>\d{3}) (?:-|(?<body_bytes_sent>\d+))` +
    String.raw`(?: "(?:-|(?<http_referer>${QUOTED}))" "(?:-|(?<http_user_agent>${QUOTED}))"` +
    String.raw`(?: "(?:-|(?<http_x_forwarded_for>${QUOTED}))")?)?(?: (?<more>.*))?$`,
  "su",
);

const NGINX_ERROR =
  /^(?<created>\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d) \[(?<level>\w+)\] (?<pid>\d+)#(?<tid>\d+): (?:\*(?<connection>\d+) )?(?<text>.*)$/su;

const APACHE_ERROR = new RegExp(
  String.raw`^\[(?<created>\w{3} \w{3} [\d ]\d [\d:.]+ \d{4})\] \[(?:(?<module>[\w-]*):)?(?<level>\w+)\] ` +
    String.raw`(?:\[pid (?<pid>\d+)(?::tid (?<tid>\d+))?\] )?(?:\[client (?<client>[^\]]+)\] )?(?<text>.*)$`,
  "su",
);

/** Syslog's files: the header that a daemon such as rsyslog writes, without a priority. */
const SYSLOG = new RegExp(
  String.raw`^(?<created>[A-Z][a-z]{2} [\d ]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]{8,16}(?:Z|[+-]\d\d:\d\d)) ` +
    String.raw`(?<hostname>[^\s:[\]]+) (?:(?<app_name>[^\s:[\]]{1,100})(?:\[(?<proc_id>[^\]\s]{1,100})\])?: ?)?` +
    String.raw`(?<text>.*)$`,
  "su",
);

const HAPROXY_BEGIN =
  String.raw`^(?:[A-Z][a-z\dT:.+ -]{8,40} (?<hostname>[^\s[\]]+) |[\dT:.+Z-]{19,35} (?<hostname>[^\s[\]]+) )?` +
  String.raw`(?:(?<app_name>haproxy)\[(?<proc_id>\d+)\]: )?(?<text>(?<client_ip>[\da-fA-F.:]+):(?<client_port>\d+) ` +
  String.raw`\[(?<created>\d\d\/\w{3}\/\d{4}:[\d:.]+)\] (?<frontend>\S+) (?<backend>[^\s/]+)\/(?<server>\S+) `;
const HAPROXY_COUNTS =
  String.raw`(?<actconn>\d+)\/(?<feconn>\d+)\/(?<beconn>\d+)\/(?<srv_conn>\d+)\/\+?(?<retries>\d+) ` +
  String.raw`(?<srv_queue>\d+)\/(?<backend_queue>\d+)`;
const HAPROXY_HTTP = new RegExp(
  HAPROXY_BEGIN +
    String.raw`(?<TR>-?\d+)\/(?<Tw>-?\d+)\/(?<Tc>-?\d+)\/(?<Tr>-?\d+)\/\+?(?<Ta>-?\d+) ` +
    String.raw`(?<status>-?\d{1,3}) \+?(?<bytes_read>\d+) \S+ \S+ (?<termination_state>\S{4}) ${HAPROXY_COUNTS}.*)$`,
  "su",
);
const HAPROXY_TCP = new RegExp(
  HAPROXY_BEGIN +
    String.raw`(?<Tw>-?\d+)\/(?<Tc>-?\d+)\/\+?(?<Tt>-?\d+) \+?(?<bytes_read>\d+) (?<termination_state>\S\S) ` +
    String.raw`${HAPROXY_COUNTS}.*)$`,
  "su",
);

const POSTGRES_TIME = String.raw`(?<created>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [\w+-]{1,6})`;
const POSTGRES_TEXT =
  String.raw`(?<error_severity>DEBUG\d?|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC|DETAIL|HINT|CONTEXT|STATEMENT): ` +
  String.raw` ?(?<text>.*)$`;
const POSTGRES = new RegExp(
  String.raw`^${POSTGRES_TIME} (?:\[(?<pid>\d+)(?:-\d+)?\]:? )?(?:(?<user>[^@\s]+)@(?<dbname>\S+) )?${POSTGRES_TEXT}`,
  "su",
);
/** As Amazon's RDS writes them. */
const POSTGRES_RDS = new RegExp(
  String.raw`^${POSTGRES_TIME}:(?<client>[^:\s]*):(?<user>[^@:\s]*)@(?<dbname>[^:\s]*):\[(?<pid>\d+)\]:${POSTGRES_TEXT}`,
  "su",
);

/** The names of `--format`, beside {@link CRI_FORMAT}. */
export const LINE_FORMATS: ReadonlyMap<string, LineFormat> = new Map<string, LineFormat>([
  ["nginx", { forms: [ACCESS, NGINX_ERROR], source: "nginx" }],
  ["nginx-error", { forms: [NGINX_ERROR], source: "nginx" }],
  ["apache", { forms: [ACCESS, APACHE_ERROR], source: "apache" }],
  ["haproxy", { forms: [HAPROXY_HTTP, HAPROXY_TCP], moreForms: [SYSLOG], source: "haproxy" }],
  [
    "postgres",
    {
      forms: [POSTGRES, POSTGRES_RDS],
      source: "postgres",
      // DETAIL, STATEMENT and so on belong to the message before them.
      start:
        /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?!.{0,200}[\s:](?:DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION|BACKTRACE): {2})/u,
    },
  ],
  [
    "klog",
    {
      forms: [
        /^(?<level>[IWEF])(?<created>\d{4} \d\d:\d\d:\d\d\.\d{1,9}) +(?<pid>\d+) (?<caller>[^\s\]]+:\d+)\] (?<text>.*)$/su,
      ],
      timeFormat: "%m%d %H:%M:%S.%f",
      start: /^[IWEF]\d{4} \d\d:\d\d:\d\d\./u,
    },
  ],
  ["syslog", { forms: [SYSLOG] }],
]);

/** Lines of containers in Kubernetes, which are joined before their texts are read. */
export const CRI_FORMAT = "cri";
/** Lines of keys and values, which have no expression. */
export const LOGFMT_FORMAT = "logfmt";
export const FORMAT_NAMES: readonly string[] = [...LINE_FORMATS.keys(), CRI_FORMAT, LOGFMT_FORMAT];

/** Returns the event of a record; null if it has none of the format's forms. */
export function eventInFormat(name: string, record: string, choice: FieldChoice): LineEvent | null {
  if (name === LOGFMT_FORMAT) return eventOfLogfmt(record, choice);
  const { forms = [], moreForms = [], source = "" } = LINE_FORMATS.get(name) ?? {};
  for (const form of [...forms, ...moreForms]) {
    const groups = form.exec(record)?.groups;
    if (groups === undefined) continue;
    const event = eventOfGroups(groups, record, choice);
    const attributes = new Map([...event.attributes].map(([key, value]) => [key, numberOf(value)]));
    return { ...event, ...(event.source === "" && source !== "" && { source, sourceKind: "logger" }), attributes };
  }
  return null;
}

const NUMBER = /^-?(?:0|[1-9]\d{0,14})$/;

function numberOf<Value>(value: Value): Value | number {
  return typeof value === "string" && NUMBER.test(value) ? Number(value) : value;
}

/** A key and its value, which may be quoted, or a key alone. */
const PAIR = /(?<key>[^\s="]{1,200})(?:=(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<plain>[^\s"]*)))?(?: +|$)/suy;
const ESCAPED = /\\(?<character>.)/gsu;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/** Reads `time=… level=info msg="a b"`; null if the line does not begin so, or holds anything else. */
function eventOfLogfmt(line: string, choice: FieldChoice): LineEvent | null {
  const attributes: MutableAttributes = new Map();
  PAIR.lastIndex = 0;
  const text = line.trim();
  if (!/^[^\s="]{1,200}=/u.test(text)) return null;
  while (PAIR.lastIndex < text.length) {
    const groups = PAIR.exec(text)?.groups;
    if (groups === undefined) return null;
    const { key = "", quoted, plain = quoted === undefined ? "true" : "" } = groups;
    put(attributes, key, quoted === undefined ? numberOf(plain) : unescaped(quoted));
  }
  const event = eventOfAttributes(attributes, choice, {});
  return event.text.trim() === "" ? { ...event, text: line } : event;
}

function unescaped(text: string): string {
  return text.replaceAll(ESCAPED, (_, character: string) => ESCAPES[character] ?? character);
}
