import { LoggiaError } from "../errors.ts";
import { quote } from "../events/quote.ts";
import { didYouMean } from "./fault.ts";

/**
 * How far a clock is ahead of UTC, as numbers, so that every store reckons with the same ones.
 * Offsets are milliseconds, negative to the west.
 */
export type Zone = {
  /** Before the first change, and always where there is none. */
  readonly offset_ms: number;
  /** In the order of time. */
  readonly changes: readonly ZoneChange[];
};

/** From `at_ms` on (milliseconds since the Unix epoch) the clock is `offset_ms` ahead of UTC. */
export type ZoneChange = { readonly at_ms: number; readonly offset_ms: number };

/**
 * A stretch of time without a change. `repeated` says that the clock shows its times for the second
 * time, as it does after it was set back. `from_ms` is inclusive, `to_ms` exclusive; the first and
 * the last one are unbounded.
 */
export type Stretch = {
  readonly from_ms: number;
  readonly to_ms: number;
  readonly offset_ms: number;
  readonly repeated: boolean;
};

const MINUTE_MS = 60_000;
const HOURS = /^[+-]?(?:\d{1,2}(?:\.\d*)?|\.\d+)$/;
const WEST = -12;
const EAST = 14;
/** A name of the IANA time zone database; it begins with a letter, so that an offset is none. */
const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;
const LONGEST_NAME = 64;
/** Changes before are those of local mean times; changes after follow no law that is known yet. */
const FIRST_CHANGE_MS = Date.UTC(1900, 0, 1);
const LAST_CHANGE_MS = Date.UTC(2100, 0, 1);

export const UTC: Zone = fixedZone(0);

/** The zone of a clock that is always so many minutes east of UTC. */
export function fixedZone(offset_min: number): Zone {
  return Object.freeze({ offset_ms: offset_min * MINUTE_MS, changes: Object.freeze([]) });
}

/**
 * The zone that the parameter `tz` names: hours east of UTC, with fractions where the clock of a
 * country has them (5.75 is Nepal), or a name of the IANA time zone database in any case, with its
 * daylight saving. Absent or empty: UTC.
 *
 * @throws LoggiaError `bad_parameter`
 */
export function parseZone(tz: string | null, place: "parameter" | "field" = "parameter"): Zone {
  // A plus sign that was not encoded arrives as a blank.
  const text = (tz ?? "").trim();
  if (text === "") return UTC;
  const hours = HOURS.test(text) ? Number(text) : NaN;
  // `+ 0` turns minus zero into zero.
  if (hours >= WEST && hours <= EAST) return fixedZone(Math.round(hours * 60) + 0);
  const zone = NAME.test(text) && text.length <= LONGEST_NAME ? namedZone(text) : null;
  if (zone !== null) return zone;
  const allowed = `a number of hours from ${WEST} to ${EAST}, such as -5 or 5.75, or a time zone such as Europe/Berlin`;
  const hint = NAME.test(text) ? didYouMean(text, Intl.supportedValuesOf("timeZone")) : null;
  throw new LoggiaError(
    "bad_parameter",
    `The ${place} tz is ${quote(text)}; it must be ${allowed}${hint === null ? "" : `. ${hint}`}`,
  );
}

const zones = new Map<string, Zone>();

/**
 * Null where the database has no zone of that name. The database is finite, and so is what is
 * remembered.
 */
function namedZone(name: string): Zone | null {
  let zoned: Temporal.ZonedDateTime;
  try {
    zoned = Temporal.Instant.fromEpochMilliseconds(FIRST_CHANGE_MS).toZonedDateTimeISO(name);
  } catch {
    return null;
  }
  const id = zoned.timeZoneId;
  const known = zones.get(id);
  if (known !== undefined) return known;
  const zone = Object.freeze({ offset_ms: offsetOf(zoned), changes: Object.freeze(changesAfter(zoned)) });
  zones.set(id, zone);
  return zone;
}

function changesAfter(from: Temporal.ZonedDateTime): ZoneChange[] {
  const changes: ZoneChange[] = [];
  let zoned = from.getTimeZoneTransition("next");
  while (zoned !== null && zoned.epochMilliseconds < LAST_CHANGE_MS) {
    changes.push(Object.freeze({ at_ms: zoned.epochMilliseconds, offset_ms: offsetOf(zoned) }));
    zoned = zoned.getTimeZoneTransition("next");
  }
  return changes;
}

function offsetOf(zoned: Temporal.ZonedDateTime): number {
  return Math.round(zoned.offsetNanoseconds / 1_000_000);
}

/** How far the clock is ahead of UTC at a moment, in milliseconds. */
export function offsetAt({ offset_ms, changes }: Zone, moment: number): number {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (changes[middle]!.at_ms <= moment) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? offset_ms : changes[low - 1]!.offset_ms;
}

/** No clock differs from UTC by as much. */
const FURTHEST_MS = 26 * 60 * MINUTE_MS;

/**
 * The moment at which the clock shows `local`, which is the moment at which a clock of UTC shows
 * the same. Of two it is the first; a time that the clock leaves out is read as the clock ran
 * before.
 */
export function momentOf(zone: Zone, local: number): number {
  const before_ms = offsetAt(zone, local - FURTHEST_MS);
  const offsets = [before_ms, offsetAt(zone, local + FURTHEST_MS)];
  const moments = offsets.map((offset_ms) => local - offset_ms);
  const shown = moments.filter((moment, i) => offsetAt(zone, moment) === offsets[i]);
  return shown.length === 0 ? local - before_ms : Math.min(...shown);
}

/** The stretches of a zone that hold moments from `from_ms` to `to_ms`. */
export function stretchesOf(zone: Zone, from_ms = -Infinity, to_ms = Infinity): Stretch[] {
  const stretches: Stretch[] = [];
  const add = (stretch: Stretch): void => {
    const { from_ms: start, to_ms: end } = stretch;
    if (start < end && start <= to_ms && end > from_ms) stretches.push(stretch);
  };
  let [start, offset_ms] = [-Infinity, zone.offset_ms];
  for (const change of zone.changes) {
    add({ from_ms: start, to_ms: change.at_ms, offset_ms, repeated: false });
    const repeated_to = change.at_ms + Math.max(0, offset_ms - change.offset_ms);
    add({ from_ms: change.at_ms, to_ms: repeated_to, offset_ms: change.offset_ms, repeated: true });
    [start, offset_ms] = [repeated_to, change.offset_ms];
  }
  add({ from_ms: start, to_ms: Infinity, offset_ms, repeated: false });
  return stretches;
}
