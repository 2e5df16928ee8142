import type { ProducerTime } from "../../kit/time-forms.ts";
import { readProducerTime } from "../../kit/times.ts";
import { isDeviceMessage } from "./mnemonic.ts";
import type { BsdTimes } from "./times.ts";

/** What Cisco's devices put before a message. Texts are "" if they are missing. */
export type DeviceHeader = {
  readonly time: ProducerTime | null;
  /** A time of which the zone is unknown. */
  readonly unread: string;
  /** The `logging origin-id` of IOS, or the host of NX-OS and IOS-XR. */
  readonly host: string;
  /** The card of IOS-XR, such as `RP/0/RSP0/CPU0`. */
  readonly node: string;
  /** Numbers of the message, of which IOS can send two. */
  readonly sequence: readonly number[];
  /** Time since the device started, which IOS sends where it has no clock. */
  readonly uptime: string;
  /** Start of the message. */
  readonly end: number;
};

const UPTIME = String.raw`(?:\d{1,3}:\d\d:\d\d|\d{1,3}[ywd]\d{1,2}[wdh])`;
const PREFIX = new RegExp(
  // NX-OS leaves an empty host. IOS: `46: router1: 000123: `
  String.raw`(?: ?: +)?(?:(?<count>\d{1,10}): +)?` +
    String.raw`(?:(?!\d{1,10}: |${UPTIME}: )(?<origin>[^\s%/*.][^\s%/]{0,254}?) ?: +)?(?:(?<number>\d{1,10}): +)?` +
    // IOS-XR: `router1 RP/0/RSP0/CPU0:`
    String.raw`(?:(?:(?<host>[^\s%/:]{1,255}) )?(?<node>[A-Z\d]{1,4}(?:\/\w{1,8}){2,3}) ?: ?)?` +
    `(?:(?<uptime>${UPTIME}): )?`,
  "y",
);

/**
 * Reads the header of a Cisco device; null if there is none. That of any other message begins with
 * a time as well, so a header ends before a mnemonic, or has the number or card of Cisco's.
 */
export function readDeviceHeader(line: string, start: number, times: BsdTimes, now_ms: number): DeviceHeader | null {
  PREFIX.lastIndex = start;
  const { count, origin, number, host, node = "", uptime = "" } = PREFIX.exec(line)?.groups ?? {};
  const time_at = PREFIX.lastIndex;
  const timed = times.read(line, time_at, now_ms, { isDevice: true });
  const end = timed?.end ?? time_at;
  const sequence = [count, number].filter((one) => one !== undefined).map(Number);
  const isNumbered = timed !== null && (sequence.length > 0 || node !== "");
  if (!isNumbered && !isDeviceMessage(line, end)) return null;
  const { time = null, unread = "" } = timed ?? {};
  return { time, unread, host: host ?? origin ?? "", node, sequence, uptime, end };
}

const MERAKI = /(\d{9,10}\.\d{1,9}) (\S{1,255}) ([\w-]{1,64})(?: ?: ?| |$)/y;

/** The header of a message of Cisco Meraki. */
type MerakiHeader = {
  readonly time: ProducerTime;
  readonly host: string;
  /** Kind of the message, such as `flows` or `events`. */
  readonly app: string;
  readonly text: string;
};

/** Reads `1515988859.626061236 appliance flows …`; null for other messages. */
export function readMeraki(line: string, start: number): MerakiHeader | null {
  MERAKI.lastIndex = start;
  const [, seconds = "", host = "", app = ""] = MERAKI.exec(line) ?? [];
  const time = seconds === "" ? null : readProducerTime(seconds);
  return time === null ? null : { time, host, app, text: line.slice(MERAKI.lastIndex) };
}
