import { HOUR_MS, MINUTE_MS, addDays, addMonths, utcMidnight, startOfDay } from "../../../query/calendar.ts";
import { spanOfOccurs } from "../../../query/when.ts";
import { UTC, momentFromLocal, offsetAt } from "../../../query/zone.ts";
import type { Zone } from "../../../query/zone.ts";
import { readQuery, withClause } from "./compose.ts";
import type { EditableQuery } from "./compose.ts";
import { textWithInserted } from "./pieces.ts";
import { formatsOfZone } from "../time/moments.ts";
import type { Formats } from "../time/moments.ts";
import { zoneAround } from "../time/zones.ts";

/** From inclusive, to exclusive, in milliseconds since the Unix epoch. */
export type Moments = { readonly from: number; readonly to: number };

/**
 * A range as chosen and as written in the address. Each end is milliseconds since the Unix epoch,
 * or `now`, `today` (its midnight), `week` (Monday's) or `month` (that of the first), followed by
 * steps: `now-24h` or `-24h`, `today-1d`, `week-1w`. `all` is the beginning of time. Steps of `d`,
 * `w` and `M` move the calendar; `m` and `h` are lengths of time.
 */
export type WrittenRange = { readonly from: string; readonly to: string };

/** Ranges that can be chosen by name. */
export const PRESETS: readonly { readonly name: string; readonly range: WrittenRange }[] = [
  { name: "Last 15 minutes", range: { from: "-15m", to: "now" } },
  { name: "Last hour", range: { from: "-1h", to: "now" } },
  { name: "Last 6 hours", range: { from: "-6h", to: "now" } },
  { name: "Last 24 hours", range: { from: "-24h", to: "now" } },
  { name: "Today", range: { from: "today", to: "now" } },
  { name: "Yesterday", range: { from: "today-1d", to: "today" } },
  { name: "This week", range: { from: "week", to: "now" } },
  { name: "Last 7 days", range: { from: "-7d", to: "now" } },
  { name: "Last 30 days", range: { from: "-30d", to: "now" } },
  { name: "Last 90 days", range: { from: "-90d", to: "now" } },
  { name: "All events", range: { from: "all", to: "now" } },
];

/** The start of `all`, before any event. */
export const BEGINNING = 0;

/** First and last day that LQL can express. */
const [FIRST, LAST] = [utcMidnight(1, 1, 1), utcMidnight(9999, 12, 31)];
const DEFAULT_MS = 24 * HOUR_MS;
/** Years that are searched for clock changes, limited because the search takes milliseconds. */
const [CLOCK_FROM, CLOCK_TO] = [utcMidnight(1990, 1, 1), utcMidnight(2060, 1, 1)];

/** Returns the moments of a range. An invalid end falls back to the last 24 hours. */
export function resolveRange({ from, to }: WrittenRange, zone: string, now_ms: number): Moments {
  const end = momentOfEnd(to, zone, now_ms) ?? now_ms;
  const start = momentOfEnd(from, zone, now_ms) ?? within(end - DEFAULT_MS);
  return start <= end ? { from: start, to: end } : { from: end, to: start };
}

/** Returns the same range with absolute ends, as a link keeps it. */
export function exactRange(moments: Moments): WrittenRange {
  return { from: String(moments.from), to: String(moments.to) };
}

export function isSameRange(a: WrittenRange, b: WrittenRange): boolean {
  return a.from === b.from && a.to === b.to;
}

const END = /^(?<anchor>now|today|week|month|all)?(?<steps>(?:[+-]\d{1,6}[mhdwM])*)$/;

/** Returns the moment of one end; null if it can't be parsed. */
export function momentOfEnd(text: string, zone: string, now_ms: number): number | null {
  // `-0` is 0.
  if (/^-?\d{1,15}$/.test(text)) return within(Number(text) + 0);
  const { anchor, steps } = END.exec(text)?.groups ?? {};
  if (steps === undefined || (anchor === undefined && steps === "")) return null;
  let moment = anchorOf(anchor ?? "now", zone, now_ms);
  for (const [, sign, count, unit] of steps.matchAll(/([+-])(\d+)([mhdwM])/g)) {
    moment = stepFrom(within(moment), (sign === "-" ? -1 : 1) * Number(count), unit!, zone);
  }
  return Number.isNaN(moment) ? null : within(moment);
}

function within(moment: number): number {
  return Math.min(Math.max(moment, FIRST), LAST);
}

function anchorOf(anchor: string, zone: string, now_ms: number): number {
  if (anchor === "all") return BEGINNING;
  if (anchor === "now") return now_ms;
  const around = zoneAround(zone, now_ms);
  const today = startOfDay(now_ms, around);
  const date = new Date(today + offsetAt(around, today));
  if (anchor === "week") return addDays(today, -((date.getUTCDay() + 6) % 7), around);
  return anchor === "month" ? addDays(today, 1 - date.getUTCDate(), around) : today;
}

function stepFrom(moment: number, count: number, unit: string, zone: string): number {
  if (unit === "m") return moment + count * MINUTE_MS;
  if (unit === "h") return moment + count * HOUR_MS;
  const local = moment + offsetAt(zoneAround(zone, moment), moment);
  const moved = unit === "M" ? addMonths(local, count, UTC) : addDays(local, unit === "w" ? 7 * count : count, UTC);
  // The caller rejects a step outside the calendar.
  return Number.isNaN(moved) ? moved : momentFromLocal(zoneAround(zone, within(moved)), within(moved));
}

const UNIT_WORDS: Readonly<Record<string, string>> = { m: "minute", h: "hour", d: "day", w: "week", M: "month" };

/** Returns the name of a range: `Last 24 hours`, or its two moments. */
export function rangeName(range: WrittenRange, moments: Moments, formats: Formats): string {
  const preset = PRESETS.find((each) => isSameRange(each.range, range));
  if (preset !== undefined) return preset.name;
  const [, count, unit] = /^(?:now)?-(\d+)([mhdwM])$/.exec(range.from) ?? [];
  if (unit === undefined || range.to !== "now") return `${formats.short(moments.from)} to ${formats.short(moments.to)}`;
  return `Last ${count === "1" ? "" : `${count} `}${UNIT_WORDS[unit]}${count === "1" ? "" : "s"}`;
}

const SECOND_MS = 1_000;

/** Formats two moments: from 15 minutes on to the minute, from one minute on to the second. */
export function rangeText({ from, to }: Moments, formats: Formats): string {
  const unit = to - from >= 15 * MINUTE_MS ? MINUTE_MS : to - from >= MINUTE_MS ? SECOND_MS : 1;
  const [start, end] = [from, to].map((moment) => formats.short(Math.floor(moment / unit) * unit));
  return `${from === BEGINNING ? "until" : `${start} to`} ${end}`;
}

/** Returns an OCCURS clause for two moments, exact to the millisecond, with dates in a zone. */
export function occursClause({ from, to }: Moments, zone: string): string {
  const { iso } = formatsOfZone(zone);
  return `OCCURS('${iso(from)}', '${iso(to)}')`;
}

/** Reports whether a query has its own range, which takes precedence. */
export function hasOwnRange(parsed: EditableQuery): boolean {
  return parsed.clauses.has("occurs");
}

/** Moves the query's own range to two moments; null if it has none or can't be parsed. */
export function withOwnRange(text: string, moments: Moments, zone: string): string | null {
  const parsed = readQuery(text);
  return parsed !== null && hasOwnRange(parsed) ? withClause(parsed, "occurs", occursClause(moments, zone)) : null;
}

/** Returns the range of a query's events: its own if it has one, else the chosen one. */
export function momentsOfQuery(parsed: EditableQuery | null, chosen: Moments, zone: string, now_ms: number): Moments {
  const occurs = parsed?.query.clauses.occurs ?? null;
  if (parsed === null || occurs === null) return chosen;
  // A range on another time, such as the time of storage, does not limit `created`.
  const field = occurs.field?.text.toLowerCase() ?? "created";
  if (field !== "created") return { from: BEGINNING, to: now_ms };
  try {
    const spanIn = (around: Zone) => spanOfOccurs({ text: parsed.text, now_ms, zone: around }, occurs);
    // An approximate range is enough to find the clock changes that apply.
    const near = spanIn(zoneAround(zone, now_ms));
    const ends = [near.from, near.to ?? now_ms, now_ms].map((end) => Math.min(Math.max(end, CLOCK_FROM), CLOCK_TO));
    const { from, to } = spanIn(zoneAround(zone, Math.min(...ends), Math.max(...ends)));
    const end = to ?? now_ms;
    return from < end ? { from: within(from), to: within(end) } : chosen;
  } catch {
    // The list reports the error of the query.
    return chosen;
  }
}

/** Adds a range to the query, unless it has its own. */
export function withRange(parsed: EditableQuery, moments: Moments, zone = "UTC"): string {
  return hasOwnRange(parsed) ? parsed.text : textWithInserted(parsed.text, parsed.end, occursClause(moments, zone));
}
