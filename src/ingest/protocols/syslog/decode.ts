import type { Zone } from "../../../query/zone.ts";
import { USUAL } from "../../kit/choice.ts";
import { eventOfDocument } from "../../kit/document.ts";
import { add, put } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { objectIn } from "../../kit/json.ts";
import { CUT_TAG } from "../../kit/cut-tag.ts";
import type { ProducerEvent } from "../../kit/endpoint.ts";
import type { ProducerTime } from "../../kit/time-forms.ts";
import { messageText } from "../../kit/message-text.ts";
import { severityOfSyslog } from "../../kit/severity.ts";
import { readProducerTime } from "../../kit/times.ts";
import { readDeviceHeader, readMeraki } from "./devices.ts";
import type { DeviceHeader } from "./devices.ts";
import { mnemonicOf } from "./mnemonic.ts";
import { BsdTimes } from "./times.ts";
import { readStructuredData } from "./structured-data.ts";

export type SyslogOptions = {
  /** Time zone of times without one, which is UTC if none is set. */
  readonly zone: Zone | null;
  /** Year of times without one; null: the latest year that does not put the time in the future. */
  readonly year: number | null;
  /** Whether messages that are JSON objects are mapped by the names of their fields without `@cee:`, too. */
  readonly json: boolean;
};

/** A message as an event, and the API key in its structured data, if any. */
export type SyslogMessage = { readonly event: ProducerEvent; readonly secret: string | null };

const SEVERITIES = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"] as const;
const FACILITIES = (
  "kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clock " +
  "local0 local1 local2 local3 local4 local5 local6 local7"
).split(" ");
const PRIORITY = /^<(\d{1,3})>/;
const MAX_PRIORITY = 191;
const NOTHING: readonly string[] = Object.freeze([]);
const CUT: readonly string[] = Object.freeze([CUT_TAG]);

/** Fields of a header. `text` is the message after it. */
type Header = {
  readonly time: ProducerTime | null;
  /** A time of which the zone is unknown. */
  readonly unread: string;
  readonly host: string;
  readonly app: string;
  readonly process: string;
  readonly message: string;
  readonly text: string;
  readonly device?: DeviceHeader;
};

/**
 * Decodes syslog messages, as in RFC 5424 and RFC 3164 and as devices send them. A malformed
 * message becomes the text of an event.
 */
export class SyslogDecoder {
  readonly #times: BsdTimes;
  readonly #json: boolean;

  constructor({ zone, year, json }: SyslogOptions) {
    this.#times = new BsdTimes(zone, year);
    this.#json = json;
  }

  /**
   * Decodes a message.
   * @param isCut whether the message was truncated
   */
  read(bytes: Buffer, isCut: boolean, now_ms: number): SyslogMessage {
    const message = this.#read(bytes, isCut, now_ms);
    const mayHaveFields = this.#json || message.event.text.startsWith(COOKIE);
    return mayHaveFields ? { ...message, event: withFields(message.event) } : message;
  }

  #read(bytes: Buffer, isCut: boolean, now_ms: number): SyslogMessage {
    const line = messageText(bytes, isCut);
    const [head = "", digits] = PRIORITY.exec(line) ?? [];
    const priority = digits === undefined ? -1 : Number(digits);
    const tags = isCut ? CUT : NOTHING;
    if (priority < 0 || priority > MAX_PRIORITY) return plain(line, new Map(), -1, tags);
    const attributes: MutableAttributes = new Map();
    const isNew = line.startsWith("1 ", head.length);
    const secret: Secret = { key: null };
    const header = isNew
      ? (readHeader(line, head.length + 2, attributes, secret) ?? readMerakiHeader(line, head.length + 2, attributes))
      : this.#readBsdHeader(line, head.length, now_ms);
    if (header === null) return plain(line, attributes, priority, tags);
    const { device } = header;
    const text = header.text.startsWith("\ufeff") ? header.text.slice(1) : header.text;
    const message = header.message === "" ? mnemonicOf(text) : header.message;
    // In sorted order, so that encoding need not sort the names.
    if (header.app !== "") put(attributes, "app_name", header.app);
    put(attributes, "facility", FACILITIES[priority >> 3]!);
    if (header.host !== "") put(attributes, "hostname", header.host);
    if (message !== "") put(attributes, "msg_id", message);
    if (device !== undefined && device.node !== "") put(attributes, "node", device.node);
    if (header.process !== "") put(attributes, "proc_id", numberOf(header.process));
    for (const number of device?.sequence ?? []) add(attributes, "sequence_id", number);
    put(attributes, "severity", SEVERITIES[priority & 7]!);
    const isTimeUnread = header.unread !== "";
    if (isTimeUnread) put(attributes, "time", header.unread);
    if (device !== undefined && device.uptime !== "") put(attributes, "uptime", device.uptime);
    const severity = severityOfSyslog(priority & 7);
    const source = header.app === "" ? header.host : header.app;
    const event = { text, severity, source, geo: null, tags, time: header.time, isTimeUnread, attributes };
    return { event, secret: secret.key };
  }

  /** Parses a time after a blank, as Go's srslog sends it. */
  #readAfterBlank(line: string, start: number, now_ms: number): ReturnType<BsdTimes["read"]> {
    return line[start] === " " ? this.#times.read(line, start + 1, now_ms) : null;
  }

  /** Parses `Mmm dd hh:mm:ss host tag[process]: text`. Each part may be missing. */
  #readBsdHeader(line: string, start: number, now_ms: number): Header {
    const found = this.#times.read(line, start, now_ms) ?? this.#readAfterBlank(line, start, now_ms);
    if (found === null) {
      const other = this.#readDevice(line, start, now_ms, NO_HEADER) ?? readMeraki(line, start);
      if (other !== null) return { ...NO_HEADER, ...other };
      return { ...NO_HEADER, ...readTag(line, start, TAG_WITH_PROCESS) };
    }
    const { time, unread, end } = found;
    const blank = line.indexOf(" ", end);
    const first = blank === -1 ? line.slice(end) : line.slice(end, blank);
    // The tag follows the time directly.
    const isTag = first.endsWith(":") || first.endsWith("]");
    const host = isTag || !HOST.test(first) ? "" : first;
    const rest = host === "" ? end : Math.min(line.length, end + host.length + 1);
    const header = { ...NO_HEADER, time, unread, host: valueOf(host) };
    // A mnemonic follows, after the header of a relay and that of the device.
    const mayBeDevice = line.includes("%", end);
    return (
      (mayBeDevice ? this.#readDevice(line, rest, now_ms, header) : null) ?? { ...header, ...readTag(line, rest, TAG) }
    );
  }

  /** Parses the header of a network device; null if there is none. */
  #readDevice(line: string, start: number, now_ms: number, around: Header): Header | null {
    const device = readDeviceHeader(line, start, this.#times, now_ms);
    if (device === null) return null;
    const { time, unread, host } = device;
    return {
      ...around,
      time: time ?? around.time,
      unread: unread || around.unread,
      ...(host !== "" && { host }),
      ...readTag(line, device.end, TAG_WITH_PROCESS),
      device,
    };
  }
}

const NO_HEADER: Header = Object.freeze({
  time: null,
  unread: "",
  host: "",
  app: "",
  process: "",
  message: "",
  text: "",
});

const HOST = /^[^\s[\]<>"=]{1,255}$/;
/** A tag ends with a colon or with its process. */
const TAG = /([^\s:[\]]{1,100})(?::|\[([^\]\s]{0,100})\]:?) ?/y;
/** Without a time, only a word with a process is a tag; otherwise any word might be one. */
const TAG_WITH_PROCESS = /([\w./-]{1,100})\[(\d{1,10})\]: ?/y;

function readTag(line: string, start: number, pattern: RegExp): Pick<Header, "app" | "process" | "text"> {
  pattern.lastIndex = start;
  const [whole = "", app = "", process = ""] = pattern.exec(line) ?? [];
  return { app, process, text: line.slice(start + whole.length) };
}

type Secret = { key: string | null };

/** Parses the header of RFC 5424 after its version; null if it is malformed. */
function readHeader(line: string, start: number, attributes: MutableAttributes, secret: Secret): Header | null {
  const ends: number[] = [];
  for (let at = start, i = 0; i < 5; i++) {
    const blank = line.indexOf(" ", at);
    if (blank === -1 || blank === at) return null;
    ends.push(blank);
    at = blank + 1;
  }
  const [time_end = 0, host_end = 0, app_end = 0, process_end = 0, message_end = 0] = ends;
  const stamp = line.slice(start, time_end);
  const time = stamp === "-" ? null : readProducerTime(stamp);
  if (time === null && stamp !== "-") return null;
  const end = readStructuredData(line, message_end + 1, attributes, (key) => (secret.key = key));
  if (end === -1) return null;
  return {
    time,
    unread: "",
    host: valueOf(line.slice(time_end + 1, host_end)),
    app: valueOf(line.slice(host_end + 1, app_end)),
    process: valueOf(line.slice(app_end + 1, process_end)),
    message: valueOf(line.slice(process_end + 1, message_end)),
    text: line.slice(end + 1),
  };
}

/** Parses a message of Meraki, which has a version as RFC 5424 and no more of it. */
function readMerakiHeader(line: string, start: number, attributes: MutableAttributes): Header | null {
  const header = readMeraki(line, start);
  if (header === null) return null;
  attributes.clear();
  return { ...NO_HEADER, ...header };
}

/** Announces that a message is a JSON object. */
const COOKIE = "@cee:";
/** Matches JSON as loggers send it, with or without the cookie. */
const JSON_OBJECT = /^(?:@cee:\s*)?(?<json>\{.*\})\s*$/s;

/** Maps the fields of a message that is a JSON object. They take precedence over the header. */
function withFields(event: ProducerEvent): ProducerEvent {
  const json = JSON_OBJECT.exec(event.text)?.groups?.["json"];
  const document = json === undefined ? null : objectIn(json);
  if (document === null) return event;
  const { source, severity, time, tags } = event;
  const read = eventOfDocument(document, USUAL);
  const attributes = new Map(read.attributes);
  for (const [name, value] of event.attributes) put(attributes, name, value);
  return {
    ...read,
    text: read.text === "" ? event.text : read.text,
    source: read.source === "" || read.sourceKind !== undefined ? source || read.source : read.source,
    severity: read.severity ?? severity,
    time: read.time ?? time,
    tags: [...tags, ...read.tags],
    attributes,
  };
}

function valueOf(field: string): string {
  return field === "-" ? "" : field;
}

/** Returns a message of which at most the priority was read. */
function plain(line: string, attributes: MutableAttributes, priority: number, tags: readonly string[]): SyslogMessage {
  attributes.clear();
  if (priority >= 0) {
    put(attributes, "facility", FACILITIES[priority >> 3]!);
    put(attributes, "severity", SEVERITIES[priority & 7]!);
  }
  const severity = priority < 0 ? null : severityOfSyslog(priority & 7);
  const event = { text: line, severity, source: "", geo: null, tags, time: null, attributes };
  return { event, secret: null };
}

const WHOLE = /^(?:0|[1-9]\d{0,14})$/;

function numberOf(text: string): number | string {
  return WHOLE.test(text) ? Number(text) : text;
}
