import { isDeviceMessage } from "./mnemonic.ts";
import { momentFromLocal, UTC } from "../../../query/zone.ts";
import type { Zone } from "../../../query/zone.ts";
import {
  clockTime,
  latestMoment,
  validMidnight,
  USUAL_TIMES,
  withFraction,
  zoneOfOffset,
} from "../../kit/time-forms.ts";
import type { ProducerTime, TimeReading } from "../../kit/time-forms.ts";
import { isAbbreviation, zoneOfAbbreviation } from "../../kit/time-zones.ts";
import { readProducerTime } from "../../kit/times.ts";

const CLOCK = String.raw`(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?`;
const YEAR = String.raw`((?:19|20)\d\d)`;
/** The year may precede the month or the time of day, or follow that. */
const BSD = new RegExp(
  String.raw`([*.]?)(?:${YEAR} )?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (?:${YEAR} )?${CLOCK}` +
    String.raw`(?: ${YEAR}(?=:? ))?( ?:)?(?: {1,2}|$)`,
  "y",
);
/** A zone behind the time, as Cisco's devices send it: its name, or its offset. */
const ZONE = /([A-Z]{2,7}(?:[+-]\d{1,2})?|[+-]\d\d(?::?\d\d)?) ?:(?: |$)/y;
const ISO_WORD = /(\d{4}-\d\d-\d\dT\S{8,26})(?: |$)/y;
/** Firewalls send no zone: what precedes their messages is a host. */
const FIREWALL = /%(?:ASA|FTD|PIX|FWSM)-/y;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** A time in a header. `unread` is its text if its zone is unknown, else "". */
type HeaderTime = { readonly time: ProducerTime | null; readonly unread: string; readonly end: number };

/** Parses times of RFC 3164, without year and zone, and the variants that devices send. */
export class BsdTimes {
  /** Of times without one. null: none is set. */
  readonly #zone: Zone | null;
  /** Of ISO 8601 without a zone. */
  readonly #reading: TimeReading;
  readonly #year: number | null;
  /** Last time without its fraction. Most consecutive lines are of the same second. */
  #last = "";
  #last_ms = 0;

  constructor(zone: Zone | null, year: number | null) {
    this.#zone = zone;
    this.#reading = { ...USUAL_TIMES, local: { zone: zone ?? UTC, abbreviations: new Map() } };
    this.#year = year;
  }

  /**
   * Parses the time at `start`. Returns it with its end; null if there is none.
   * @param isDevice whether a word with a colon behind the time can only be a zone
   */
  read(line: string, start: number, now_ms: number, { isDevice = false } = {}): HeaderTime | null {
    BSD.lastIndex = start;
    const match = BSD.exec(line);
    if (match === null) return readIso(line, start, this.#reading);
    const [, mark, yearFirst, month = "", day = "", yearBefore, hour = "", minute = "", second = ""] = match;
    const [fraction = "", yearBehind, colon] = [match[9], match[10], match[11]];
    const word = colon === undefined ? zoneAt(line, BSD.lastIndex, isDevice || mark !== "") : "";
    const end = word === "" ? BSD.lastIndex : ZONE.lastIndex;
    const year = yearFirst ?? yearBefore ?? yearBehind ?? this.#year;
    const name = `${month}${day}${year}${hour}${minute}${second}${word}`;
    if (name !== this.#last) {
      const zone = word === "" ? (this.#zone ?? UTC) : this.#zoneNamed(word);
      if (zone === null) return { time: null, unread: line.slice(start, end).replace(/ ?: ?$/, ""), end };
      const clock_ms = clockTime(Number(hour), Number(minute), Number(second));
      const momentIn = (year: number): number | null => {
        const midnight = validMidnight(year, MONTHS.indexOf(month) + 1, Number(day));
        return midnight === null || clock_ms === null ? null : momentFromLocal(zone, midnight + clock_ms);
      };
      const last_ms = year === null ? latestMoment(momentIn, now_ms) : momentIn(Number(year));
      if (last_ms === null) return null;
      this.#last_ms = last_ms;
      this.#last = name;
    }
    return { time: withFraction(this.#last_ms, fraction), unread: "", end };
  }

  /** A name that several regions use, or none, means the zone that is set. */
  #zoneNamed(word: string): Zone | null {
    if (/^[+-]/.test(word)) return zoneOfOffset(word);
    return zoneOfAbbreviation(word, this.#reading.local) ?? this.#zone;
  }
}

/**
 * Returns the zone behind a time; "" if there is none. A program has its colon there too, so a name
 * is known, or a device's message follows it.
 */
function zoneAt(line: string, start: number, isDevice: boolean): string {
  ZONE.lastIndex = start;
  const word = ZONE.exec(line)?.[1] ?? "";
  if (word === "" || isDevice || isAbbreviation(word) || /^[+-]/.test(word)) return word;
  const end = ZONE.lastIndex;
  FIREWALL.lastIndex = end;
  const isZone = isDeviceMessage(line, end) && !FIREWALL.test(line);
  return isZone ? word : "";
}

function readIso(line: string, start: number, reading: TimeReading): HeaderTime | null {
  ISO_WORD.lastIndex = start;
  const word = ISO_WORD.exec(line)?.[1];
  const time = word === undefined ? null : readProducerTime(word, reading);
  return time === null ? null : { time, unread: "", end: ISO_WORD.lastIndex };
}
