import { momentFromLocal } from "../../../query/zone.ts";
import type { Zone } from "../../../query/zone.ts";
import type { ProducerTime } from "../../kit/endpoint.ts";
import { readProducerTime, timeOfUsual } from "../../kit/times.ts";

const ISO = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?:Z|([+-])(\d\d):?(\d\d))$/i;

/** Parses a time in ISO 8601 with a zone; null if it is malformed. */
export function isoTime(text: string): ProducerTime | null {
  const usual = timeOfUsual(text);
  if (usual !== null) return usual;
  const match = ISO.exec(text);
  if (match === null) return readProducerTime(text);
  const [, year, month, day, hour, minute, second, fraction = "", sign, zoneHour = "0", zoneMinute = "0"] = match;
  const local = utcOf(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  if (local === null) return readProducerTime(text);
  const ahead_min = 60 * Number(zoneHour) + Number(zoneMinute);
  return withFraction(local - (sign === "-" ? -ahead_min : ahead_min) * 60_000, fraction);
}

const CLOCK = String.raw`(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?`;
/** The year may precede or follow the time of day. */
const BSD = new RegExp(
  String.raw`[*.]?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (?:((?:19|20)\d\d) )?${CLOCK}` +
    String.raw`(?: ((?:19|20)\d\d)(?=:? ))?(?: (UTC|GMT)(?=:))?:?(?: |$)`,
  "y",
);
const ISO_WORD = /(\d{4}-\d\d-\d\dT\S{8,26})(?: |$)/y;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Later times are of an earlier year. This allows for clock differences and unknown zones. */
const AHEAD_MS = 86_400_000;
const YEARS_BACK = 10;

/** Parses times of RFC 3164, without year and zone, and the variants that devices send. */
export class BsdTimes {
  readonly #zone: Zone;
  readonly #year: number | null;
  /** Last time without its fraction. Most consecutive lines are of the same second. */
  #last = "";
  #last_ms = 0;

  constructor(zone: Zone, year: number | null) {
    this.#zone = zone;
    this.#year = year;
  }

  /** Parses the time at `start`. Returns it with its end; null if there is none. */
  read(line: string, start: number, now_ms: number): { readonly time: ProducerTime; readonly end: number } | null {
    BSD.lastIndex = start;
    const match = BSD.exec(line);
    if (match === null) return readIso(line, start);
    const [, month = "", day = "", yearBefore, hour = "", minute = "", second = "", fraction = "", yearBehind, utc] =
      match;
    const end = BSD.lastIndex;
    const name = `${month}${day}${yearBefore}${hour}${minute}${second}${yearBehind}${utc}`;
    if (name !== this.#last) {
      const given = yearBefore ?? yearBehind;
      const moments = (given === undefined ? this.#years(now_ms) : [Number(given)])
        .map((year) => utcOf(year, MONTHS.indexOf(month), Number(day), Number(hour), Number(minute), Number(second)))
        .filter((local) => local !== null)
        .map((local) => (utc === undefined ? momentFromLocal(this.#zone, local) : local));
      const last_ms = moments.find((ms) => ms <= now_ms + AHEAD_MS) ?? moments[0];
      if (last_ms === undefined) return null;
      this.#last_ms = last_ms;
      this.#last = name;
    }
    return { time: withFraction(this.#last_ms, fraction), end };
  }

  /** Returns the next year and the nine before it, among which there is a leap year. */
  #years(now_ms: number): readonly number[] {
    if (this.#year !== null) return [this.#year];
    const next = new Date(now_ms).getUTCFullYear() + 1;
    return Array.from({ length: YEARS_BACK }, (_, back) => next - back);
  }
}

function readIso(line: string, start: number): { readonly time: ProducerTime; readonly end: number } | null {
  ISO_WORD.lastIndex = start;
  const word = ISO_WORD.exec(line)?.[1];
  const time = word === undefined ? null : isoTime(word);
  return time === null ? null : { time, end: ISO_WORD.lastIndex };
}

/** Returns null for an invalid date or time. A leap second is mapped to the second before. */
function utcOf(year: number, month: number, day: number, hour: number, minute: number, second: number): number | null {
  if (month < 0 || month > 11 || day < 1 || hour > 23 || minute > 59 || second > 60) return null;
  const ms = Date.UTC(year, month, day, hour, minute, Math.min(second, 59));
  return new Date(ms).getUTCDate() === day ? ms : null;
}

function withFraction(ms: number, fraction: string): ProducerTime {
  if (fraction === "") return { ms, ns: 0 };
  const digits = fraction.padEnd(9, "0");
  return { ms: ms + Number(digits.slice(0, 3)), ns: Number(digits.slice(3, 9)) };
}
