import { readDate } from "../../../query/dates.ts";
import { offsetAt } from "../../../query/zone.ts";
import { momentOfEnd } from "../../parts/query/range.ts";
import type { Formats } from "../../parts/time/moments.ts";
import { zoneAround } from "../../parts/time/zones.ts";

/** Ends of a range as typed, and as the range picker shows them. */

const MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const WORDS_AGO =
  /^(?:(?<sign>now)\s*)?(?:-\s*)?(?<count>\d{1,6})\s*(?<unit>m|h|d|w|min|minutes?|hours?|days?|weeks?|months?)\s*(?<ago>ago)?$/i;

/**
 * Parses an end as typed: `14:00`, `24 Nov`, `24 Nov 2026, 14:00:00 +01:00`, the dates of LQL, `now
 * - 3h`, `3 hours ago`, `today`; null for anything else.
 */
export function readEnd(typed: string, zone: string, now_ms: number): string | null {
  const text = typed.trim();
  if (momentOfEnd(text.replace(/\s+/g, ""), zone, now_ms) !== null) return text.replace(/\s+/g, "");
  const { sign, count, unit, ago } = WORDS_AGO.exec(text)?.groups ?? {};
  if (unit !== undefined && (sign ?? ago) !== undefined) return `now-${count}${shortUnit(unit)}`;
  if (/^yesterday$/i.test(text)) return "today-1d";
  const date = readWritten(text, zone, now_ms);
  return date === null ? null : String(date);
}

function shortUnit(word: string): string {
  return /^mo/i.test(word) ? "M" : word[0]!.toLowerCase();
}

/** Parses a date. A missing year means this year, a missing day means today. */
function readWritten(text: string, zone: string, now_ms: number): number | null {
  const around = zoneAround(zone, now_ms);
  const today = new Date(now_ms + offsetAt(around, now_ms)).toISOString().slice(0, 10);
  const spelt =
    /^(?:[a-z]{2,9},? )?(?<day>\d{1,2})\.? (?<month>[a-z]{3})[a-z]*\.?(?: (?<year>\d{4}))?(?:,? (?<time>\d.*))?$/i.exec(
      text,
    )?.groups;
  let iso = /^\d{1,2}:\d\d/.test(text) ? `${today} ${text}` : text;
  if (spelt !== undefined) {
    const month = MONTH_NAMES.indexOf(spelt["month"]!.toLowerCase()) + 1;
    const { day, year = today.slice(0, 4), time } = spelt;
    iso = `${year}-${String(month).padStart(2, "0")}-${day!.padStart(2, "0")}${time === undefined ? "" : ` ${time}`}`;
  }
  const rough = readDate(iso, around);
  if (rough.kind === "fault") return null;
  const near = rough.kind === "day" ? rough.start : rough.at;
  const exact = readDate(iso, zoneAround(zone, near));
  return exact.kind === "fault" ? null : exact.kind === "day" ? exact.start : exact.at;
}

/** Formats an end for the picker: relative ones in words, moments as date and time. */
export function writeEnd(end: string, formats: Formats): string {
  if (!/^-?\d+$/.test(end))
    return end
      .replace(/([+-])(?=\d)/g, " $1 ")
      .replace(/^ - /, "now - ")
      .trim();
  const [whole, offset] = [formats.whole(Number(end)), / [+-]\d\d:\d\d$/];
  return whole
    .replace(offset, "")
    .replace(/\.000$/, "")
    .replace(/(\d\d:\d\d):00$/, "$1");
}
