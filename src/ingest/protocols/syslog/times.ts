import { momentFromLocal, UTC } from "../../../query/zone.ts";
import type { Zone } from "../../../query/zone.ts";
import { clockTime, latestOf, midnightOf, USUAL_TIMES, withFraction } from "../../kit/time-forms.ts";
import type { ProducerTime, TimeReading } from "../../kit/time-forms.ts";
import { readProducerTime } from "../../kit/times.ts";

const CLOCK = String.raw`(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?`;
/** The year may precede or follow the time of day. */
const BSD = new RegExp(
  String.raw`[*.]?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (?:((?:19|20)\d\d) )?${CLOCK}` +
    String.raw`(?: ((?:19|20)\d\d)(?=:? ))?(?: (UTC|GMT)(?=:))?:?(?: |$)`,
  "y",
);
const ISO_WORD = /(\d{4}-\d\d-\d\dT\S{8,26})(?: |$)/y;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Parses times of RFC 3164, without year and zone, and the variants that devices send. */
export class BsdTimes {
  readonly #zone: Zone;
  /** Of ISO 8601 without a zone. */
  readonly #reading: TimeReading;
  readonly #year: number | null;
  /** Last time without its fraction. Most consecutive lines are of the same second. */
  #last = "";
  #last_ms = 0;

  constructor(zone: Zone, year: number | null) {
    this.#zone = zone;
    this.#reading = { ...USUAL_TIMES, local: { zone, abbreviations: new Map() } };
    this.#year = year;
  }

  /** Parses the time at `start`. Returns it with its end; null if there is none. */
  read(line: string, start: number, now_ms: number): { readonly time: ProducerTime; readonly end: number } | null {
    BSD.lastIndex = start;
    const match = BSD.exec(line);
    if (match === null) return readIso(line, start, this.#reading);
    const [, month = "", day = "", yearBefore, hour = "", minute = "", second = "", fraction = "", yearBehind, utc] =
      match;
    const end = BSD.lastIndex;
    const name = `${month}${day}${yearBefore}${hour}${minute}${second}${yearBehind}${utc}`;
    if (name !== this.#last) {
      const given = yearBefore ?? yearBehind ?? this.#year;
      const clock_ms = clockTime(Number(hour), Number(minute), Number(second));
      const momentIn = (year: number): number | null => {
        const midnight = midnightOf(year, MONTHS.indexOf(month) + 1, Number(day));
        if (midnight === null || clock_ms === null) return null;
        return momentFromLocal(utc === undefined ? this.#zone : UTC, midnight + clock_ms);
      };
      const last_ms = given === null ? latestOf(momentIn, now_ms) : momentIn(Number(given));
      if (last_ms === null) return null;
      this.#last_ms = last_ms;
      this.#last = name;
    }
    return { time: withFraction(this.#last_ms, fraction), end };
  }
}

function readIso(line: string, start: number, reading: TimeReading): ReturnType<BsdTimes["read"]> {
  ISO_WORD.lastIndex = start;
  const word = ISO_WORD.exec(line)?.[1];
  const time = word === undefined ? null : readProducerTime(word, reading);
  return time === null ? null : { time, end: ISO_WORD.lastIndex };
}
