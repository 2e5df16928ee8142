import { fixedZone, offsetAt, parseZone, UTC } from "../../query/zone.ts";
import type { Zone } from "../../query/zone.ts";

/** The zone of texts that name none. */
export type LocalZone = {
  readonly zone: Zone;
  /** Abbreviations that the zone uses, in upper case, with minutes east of UTC. */
  readonly abbreviations: ReadonlyMap<string, number>;
};

const MINUTE_MS = 60_000;
const HALF_YEAR_MS = 182 * 86_400_000;

/**
 * Abbreviations that mean one offset wherever they are used, in hours east of UTC. Those that
 * several regions use, such as CST, IST and BST, are below.
 */
const ABBREVIATIONS: ReadonlyMap<string, number> = new Map(
  // prettier-ignore
  Object.entries({
    Z: 0, UTC: 0, GMT: 0, UT: 0, WET: 0, WEST: 1, CET: 1, CEST: 2, EET: 2, EEST: 3, SAST: 2,
    JST: 9, KST: 9, HKT: 8, AWST: 8, ACST: 9.5, ACDT: 10.5, AEST: 10, AEDT: 11, NZST: 12, NZDT: 13,
    EST: -5, EDT: -4, MST: -7, MDT: -6, AKST: -9, AKDT: -8, HST: -10,
  }).map(([name, hours]) => [name, 60 * hours]),
);

/** Abbreviations whose offset depends on the year, by a zone that uses them. */
const CHANGED: ReadonlyMap<string, string> = new Map([["MSK", "Europe/Moscow"]]);

/**
 * Abbreviations that mean an offset only in these zones: the name of standard time, with its hours
 * east of UTC, and that of daylight saving time.
 */
const REGIONAL: readonly { readonly zones: RegExp; readonly names: string; readonly hours: number }[] = [
  { zones: /^(?:America|US|Canada|Mexico)\/|^CST6CDT$/i, names: "CST CDT", hours: -6 },
  { zones: /^(?:America\/Havana|Cuba)$/i, names: "CST CDT", hours: -5 },
  {
    zones: /^(?:Asia\/(?:Shanghai|Chongqing|Chungking|Harbin|Macau|Macao|Taipei)|PRC|ROC)$/i,
    names: "CST",
    hours: 8,
  },
  { zones: /^(?:America|US|Canada|Mexico)\/|^PST8PDT$/i, names: "PST PDT", hours: -8 },
  { zones: /^Asia\/Manila$/i, names: "PST", hours: 8 },
  { zones: /^(?:America|Canada|Atlantic)\//i, names: "AST ADT", hours: -4 },
  { zones: /^Asia\/(?:Kolkata|Calcutta)$/i, names: "IST", hours: 5.5 },
  { zones: /^(?:Asia\/(?:Jerusalem|Tel_Aviv)|Israel)$/i, names: "IST IDT", hours: 2 },
  { zones: /^(?:Europe\/Dublin|Eire)$/i, names: "GMT IST", hours: 0 },
  { zones: /^(?:Europe\/(?:London|Belfast|Jersey|Guernsey|Isle_of_Man)|GB|GB-Eire)$/i, names: "GMT BST", hours: 0 },
  { zones: /^(?:Pacific\/(?:Pago_Pago|Samoa|Midway)|US\/Samoa)$/i, names: "SST", hours: -11 },
];

/** The zone of texts without one in protocols. */
export const LOCAL_UTC: LocalZone = Object.freeze({ zone: UTC, abbreviations: new Map() });

/**
 * Returns a zone with its abbreviations.
 *
 * @param name as for the parameter `tz`
 * @throws LoggiaError `bad_parameter`
 */
export function localZoneNamed(name: string, now_ms: number): LocalZone {
  const zone = parseZone(name);
  const offsets_min = [now_ms, now_ms + HALF_YEAR_MS].map((at_ms) => offsetAt(zone, at_ms) / MINUTE_MS);
  const [winter, summer] = [Math.min(...offsets_min), Math.max(...offsets_min)];
  const abbreviations = new Map<string, number>();
  for (const { zones, names, hours } of REGIONAL) {
    if (!zones.test(name) || winter !== 60 * hours) continue;
    const [standard, daylight] = names.split(" ");
    abbreviations.set(standard!, winter);
    if (daylight !== undefined && summer !== winter) abbreviations.set(daylight, summer);
  }
  return { zone, abbreviations };
}

/** Returns the zone of this machine; UTC if it has none that is known. */
export function localZoneOfMachine(now_ms: number): LocalZone {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return timeZone === undefined ? LOCAL_UTC : localZoneNamed(timeZone, now_ms);
}

/**
 * Returns the zone that an abbreviation means beside `local`; null if it is unknown, or several
 * regions use it and `local` is in none of them.
 */
export function zoneOfAbbreviation(abbreviation: string, local: LocalZone): Zone | null {
  const name = abbreviation.toUpperCase();
  const offset_min = local.abbreviations.get(name) ?? ABBREVIATIONS.get(name);
  if (offset_min !== undefined) return fixedZone(offset_min);
  const changed = CHANGED.get(name);
  return changed === undefined ? null : zoneNamed(changed);
}

/** Returns whether a word in upper case is an abbreviation of zones, of which several may use it. */
export function isAbbreviation(word: string): boolean {
  return ABBREVIATIONS.has(word) || CHANGED.has(word) || REGIONAL_NAMES.has(word);
}

const REGIONAL_NAMES: ReadonlySet<string> = new Set(REGIONAL.flatMap(({ names }) => names.split(" ")));

/** Returns a zone by its name; null if it is unknown. */
export function zoneNamed(name: string): Zone | null {
  try {
    return parseZone(name);
  } catch {
    return null;
  }
}
