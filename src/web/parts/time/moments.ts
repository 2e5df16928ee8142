import { HOUR_MS, MINUTE_MS } from "../../../query/calendar.ts";
import { clockOfZone } from "./zones.ts";

/** Formats of moments in a named time zone. */

export type Formats = {
  /** `14:03:27.482` */
  readonly time: (moment: number) => string;
  /** `14:03`, with seconds if not zero */
  readonly clock: (moment: number) => string;
  /** `Tue 24 Nov` */
  readonly day: (moment: number) => string;
  /** `24 Nov 2026` */
  readonly date: (moment: number) => string;
  /** `24 Nov 14:05`, with seconds if not zero */
  readonly short: (moment: number) => string;
  /** `24 Nov 2026, 14:03:24.115 +01:00` */
  readonly whole: (moment: number) => string;
  /** `Tue 24 Nov 2026, 13:15:00 +01:00` */
  readonly spoken: (moment: number) => string;
  /** `2026-11-24T14:03:24.115+01:00`, as short as it is exact */
  readonly iso: (moment: number) => string;
};

/** Returns a format beside `moment`: time on its day, date and time in its year, else the date. */
export function clockFrom(moment: number, { time, date, short }: Formats): (moment: number) => string {
  const today = date(moment);
  return (other) => {
    const day = date(other);
    if (day === today) return time(other);
    return day.slice(-4) === today.slice(-4) ? short(Math.floor(other / MINUTE_MS) * MINUTE_MS) : day;
  };
}

type Parts = Readonly<
  Record<
    "weekday" | "day" | "month" | "number" | "year" | "hour" | "minute" | "second" | "milliseconds" | "offset",
    string
  >
>;

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Returns the formats of a zone. Creating them is slow: keep them while the zone is the same. */
export function formatsOfZone(zone: string): Formats {
  const parts = partsOf(zone);
  const say =
    (words: (parts: Parts) => string) =>
    (moment: number): string =>
      words(parts(moment));
  const time = ({ hour, minute, second, milliseconds }: Parts) => `${hour}:${minute}:${second}.${milliseconds}`;
  const clock = (found: Parts) => `${found.hour}:${found.minute}${restOf(found)}`;
  return {
    time: say(time),
    clock: say(clock),
    day: say(({ weekday, day, month }) => `${weekday} ${day} ${month}`),
    date: say(({ day, month, year }) => `${day} ${month} ${year}`),
    short: say((found) => `${found.day} ${found.month} ${clock(found)}`),
    whole: say((found) => `${found.day} ${found.month} ${found.year}, ${time(found)} ${found.offset}`),
    spoken: say(
      ({ weekday, day, month, year, hour, minute, second, offset }) =>
        `${weekday} ${day} ${month} ${year}, ${hour}:${minute}:${second} ${offset}`,
    ),
    iso(moment) {
      const found = parts(moment);
      const { year, number, day, offset } = found;
      // Historic offsets have seconds, which an ISO date can't express.
      if (offset === "+00:00" || offset.length > 6)
        return new Date(moment).toISOString().replace(/(?::00)?\.000Z$/, "Z");
      return `${year.padStart(4, "0")}-${number}-${day.padStart(2, "0")}T${clock(found)}${offset}`;
    },
  };
}

/** Returns seconds and milliseconds, omitted if zero. */
function restOf({ second, milliseconds }: Parts): string {
  if (milliseconds !== "000") return `:${second}.${milliseconds}`;
  return second === "00" ? "" : `:${second}`;
}

const WEEKDAYS = "Sun Mon Tue Wed Thu Fri Sat".split(" ");

function partsOf(zone: string): (moment: number) => Parts {
  const offsetAt = clockOfZone(zone);
  return (moment) => {
    const offset = offsetAt(moment);
    const local = new Date(moment + offset);
    const month = local.getUTCMonth();
    return {
      weekday: WEEKDAYS[local.getUTCDay()]!,
      day: String(local.getUTCDate()),
      month: MONTHS[month]!,
      number: twoDigits(month + 1),
      year: String(local.getUTCFullYear()),
      hour: twoDigits(local.getUTCHours()),
      minute: twoDigits(local.getUTCMinutes()),
      second: twoDigits(local.getUTCSeconds()),
      milliseconds: String(local.getUTCMilliseconds()).padStart(3, "0"),
      offset: offsetText(offset),
    };
  };
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

/** Formats an offset as `+01:00`; historic offsets have seconds. */
function offsetText(offset_ms: number): string {
  const size = Math.abs(offset_ms);
  const [hours, minutes, seconds] = [size / HOUR_MS, (size % HOUR_MS) / MINUTE_MS, (size % MINUTE_MS) / 1000];
  const words = `${offset_ms < 0 ? "-" : "+"}${twoDigits(Math.floor(hours))}:${twoDigits(Math.floor(minutes))}`;
  return seconds === 0 ? words : `${words}:${twoDigits(seconds)}`;
}
