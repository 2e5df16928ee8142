import { LoggiaError } from "../errors.ts";
import { quote } from "../events/quote.ts";
import { didYouMean } from "./fault.ts";

/**
 * How far a clock is ahead of UTC, as numbers, so that all stores compute with the same ones.
 * Offsets are milliseconds, negative to the west.
 */
export type Zone = {
  /** Offset before the first change; the only one if there are no changes. */
  readonly offset_ms: number;
  /** In chronological order. */
  readonly changes: readonly ZoneChange[];
};

/** From `at_ms` on (milliseconds since the Unix epoch), the clock is `offset_ms` ahead of UTC. */
export type ZoneChange = { readonly at_ms: number; readonly offset_ms: number };

/**
 * A stretch of time without a change. `repeated`: the clock shows these times for the second time,
 * after it was set back. `from_ms` is inclusive, `to_ms` exclusive; the first and last stretch are
 * unbounded.
 */
export type OffsetPeriod = {
  readonly from_ms: number;
  readonly to_ms: number;
  readonly offset_ms: number;
  readonly repeated: boolean;
};

const MINUTE_MS = 60_000;
const HOURS = /^[+-]?(?:\d{1,2}(?:\.\d*)?|\.\d+)$/;
const WEST = -12;
const EAST = 14;
/** A name of the IANA time zone database. The initial letter distinguishes it from an offset. */
const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;
const LONGEST_NAME = 64;
/** Earlier changes concern local mean times; later ones are not known yet. */
const FIRST_CHANGE_MS = Date.UTC(1900, 0, 1);
const LAST_CHANGE_MS = Date.UTC(2100, 0, 1);

export const UTC: Zone = fixedZone(0);

/** Returns the zone of a clock that is always `offset_min` minutes ahead of UTC. */
export function fixedZone(offset_min: number): Zone {
  return Object.freeze({ offset_ms: offset_min * MINUTE_MS, changes: Object.freeze([]) });
}

/**
 * Parses the parameter `tz`: hours east of UTC, possibly with a fraction (5.75 is Nepal), or a
 * case-insensitive name of the IANA time zone database, with daylight saving. Absent or empty means
 * UTC.
 *
 * @throws LoggiaError `bad_parameter`
 */
export function parseZone(tz: string | null, place: "parameter" | "field" = "parameter"): Zone {
  // A plus sign that was not percent-encoded arrives as a blank.
  const text = (tz ?? "").trim();
  if (text === "") return UTC;
  const hours = HOURS.test(text) ? Number(text) : NaN;
  // Adding 0 turns -0 into 0.
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

/** Returns null if the database lacks the zone. The cache is bounded by the number of zones. */
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

/** Returns how far the clock is ahead of UTC at a moment, in milliseconds. */
export function offsetAt({ offset_ms, changes }: Zone, moment: number): number {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (changes[middle]!.at_ms <= moment) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? offset_ms : changes[low - 1]!.offset_ms;
}

/** Larger than any offset from UTC. */
const FURTHEST_MS = 26 * 60 * MINUTE_MS;

/**
 * Returns the moment at which the clock shows the local time `local`. Of two such moments it is the
 * first; a skipped time is read with the offset before the change.
 */
export function momentFromLocal(zone: Zone, local: number): number {
  const before_ms = offsetAt(zone, local - FURTHEST_MS);
  const offsets = [before_ms, offsetAt(zone, local + FURTHEST_MS)];
  const moments = offsets.map((offset_ms) => local - offset_ms);
  const shown = moments.filter((moment, i) => offsetAt(zone, moment) === offsets[i]);
  return shown.length === 0 ? local - before_ms : Math.min(...shown);
}

/** Returns the stretches of a zone that overlap the range from `from_ms` to `to_ms`. */
export function offsetPeriods(zone: Zone, from_ms = -Infinity, to_ms = Infinity): OffsetPeriod[] {
  const stretches: OffsetPeriod[] = [];
  const add = (stretch: OffsetPeriod): void => {
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
