import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../query/calendar.ts";
import type { Zone, ZoneChange } from "../../../query/zone.ts";

/**
 * Time zones by name, from the browser's own database. Temporal is preferred where available: the
 * first `Intl.DateTimeFormat` of a page is slow to create.
 */

/** Interval between probes: two clock changes are never closer, at least since 1970. */
const PROBE_MS = 7 * DAY_MS;
/** How far around the requested moments a zone is known; groups by month need as much. */
const MARGIN_MS = 40 * DAY_MS;
const SECOND_MS = 1000;

/** Returns Temporal, or null if the browser lacks it. */
function temporal(): typeof Temporal | null {
  return (globalThis as { readonly Temporal?: typeof Temporal }).Temporal ?? null;
}

/** Returns the browser's own zone. */
export function ownZone(): string {
  return temporal()?.Now.timeZoneId() ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Current names for which some browsers list only an older one. */
const RENAMED = [
  "Africa/Asmara",
  "America/Argentina/Buenos_Aires",
  "America/Nuuk",
  "Asia/Ho_Chi_Minh",
  "Asia/Kathmandu",
  "Asia/Kolkata",
  "Asia/Yangon",
  "Atlantic/Faroe",
  "Europe/Kyiv",
  "Pacific/Chuuk",
  "Pacific/Pohnpei",
];

/** Returns the names of all zones, UTC first. */
export function zoneNames(): readonly string[] {
  const known = new Set([...Intl.supportedValuesOf("timeZone"), ...RENAMED]);
  known.delete("UTC");
  return ["UTC", ...[...known].sort()];
}

/** Returns a zone's name as the database spells it; null if there is no such zone. */
export function findZone(name: string): string | null {
  const typed = name.trim();
  const lower = typed.toLowerCase();
  const found = resolve(typed);
  // The full list of names is slow, so it is read only if needed.
  if (found === null || found.toLowerCase() === lower) return found;
  return zoneNames().find((zone) => zone.toLowerCase() === lower) ?? typed;
}

/** Returns the database's name of a zone, possibly a newer one; null for an unknown zone. */
function resolve(name: string): string | null {
  if (!/^[A-Za-z]/.test(name)) return null;
  const { Now } = temporal() ?? {};
  try {
    return (
      Now?.zonedDateTimeISO(name).timeZoneId ??
      new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone
    );
  } catch {
    return null;
  }
}

/** Returns the place of a zone: `Berlin` for `Europe/Berlin`. */
export function cityOfZone(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1).replaceAll("_", " ");
}

/** Returns the zone's offsets around these moments, or around `from` alone. */
export function zoneAround(name: string, from: number, to = from): Zone {
  const offset = offsets(name);
  const changes: ZoneChange[] = [];
  const start = from - MARGIN_MS;
  let [at, before] = [start, offset(start)];
  while (at < to + MARGIN_MS) {
    const next = at + PROBE_MS;
    const after = offset(next);
    if (after !== before) changes.push({ at_ms: changeBetween(offset, at, next), offset_ms: after });
    [at, before] = [next, after];
  }
  return { offset_ms: offset(start), changes };
}

/** Returns the first second of the later offset. */
function changeBetween(offset: (moment: number) => number, from: number, to: number): number {
  let [low, high] = [Math.floor(from / SECOND_MS), Math.floor(to / SECOND_MS)];
  const after = offset(to);
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (offset(middle * SECOND_MS) === after) high = middle;
    else low = middle;
  }
  return high * SECOND_MS;
}

/**
 * Returns a function for a zone's offset from UTC, made for frequent calls. It caches each week by
 * the offsets at its ends, since a clock changes at most once a week.
 */
export function clockOfZone(name: string): (moment: number) => number {
  let lookUp: ((moment: number) => number) | null = null;
  const weeks = new Map<number, number | null>();
  const offset = (moment: number): number => (lookUp ??= offsets(name))(moment);
  return (moment) => {
    const week = Math.floor(moment / PROBE_MS);
    let steady = weeks.get(week);
    if (steady === undefined) {
      const start = offset(week * PROBE_MS);
      steady = start === offset((week + 1) * PROBE_MS) ? start : null;
      weeks.set(week, steady);
    }
    return steady ?? offset(moment);
  };
}

/** Returns a function for a zone's offset from UTC, in milliseconds. */
function offsets(name: string): (moment: number) => number {
  const { Instant } = temporal() ?? {};
  if (Instant !== undefined)
    return (moment) =>
      Instant.fromEpochMilliseconds(Math.floor(moment)).toZonedDateTimeISO(name).offsetNanoseconds / 1e6;
  const format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
  return (moment) => readOffset(format.formatToParts(moment).find(({ type }) => type === "timeZoneName")!.value);
}

/** Parses `GMT+05:45` and `GMT`, with seconds for historic offsets, to milliseconds. */
function readOffset(text: string): number {
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(text) ?? [];
  const offset_ms = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * SECOND_MS;
  return sign === "-" ? -offset_ms : offset_ms;
}
