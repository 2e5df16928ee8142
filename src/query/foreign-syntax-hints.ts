import { queryFault } from "./fault.ts";
import type { QueryFault } from "./fault.ts";
import type { TextSpan } from "./syntax.ts";

/** Hints about words of other query languages, which name the equivalent in LQL. */

/** Adds a hint to a fault if its word belongs to another query language. */
export function withForeignSyntaxHint(text: string, fault: QueryFault): QueryFault {
  const hint = foreignSyntaxHint(text, fault.span);
  return hint === null ? fault : queryFault(text, fault.span, fault.what, hint);
}

const UNITS: readonly (readonly [written: RegExp, unit: string])[] = [
  [/^(?:m|mi|mins?|minutes?)$/i, "MINUTES"],
  [/^(?:h|hrs?|hours?)$/i, "HOURS"],
  [/^(?:d|days?)$/i, "DAYS"],
  [/^(?:w|weeks?)$/i, "WEEKS"],
  [/^(?:mon|mo|months?)$/i, "MONTHS"],
];

const FIELD_BEFORE = /(@(?:'[^']*'|[^\s'"(),@]+)|(?<![\p{L}\p{N}_])[\p{L}_][\p{L}\p{N}_]*)\s+(NOT\s+)?$/iu;
const BOUNDS_BEHIND = /^\s*('[^']*'|[\w.@-]+)\s+AND\s+('[^']*'|[\w.-]+)/i;

/** @param span of the unexpected text */
function foreignSyntaxHint(text: string, { start, end }: TextSpan): string | null {
  const word = text.slice(start, end).toUpperCase();
  const [before, behind] = [text.slice(0, start), text.slice(end)];
  if (word === "=" && before.endsWith("=")) return "Equality is a single =.";
  if (word === "~") return "Write MATCHES 'expression'.";
  if (/^(?:I?LIKE|RLIKE|REGEXP)$/.test(word)) return "Write CONTAINS 'part', or MATCHES 'expression'.";
  if (word === "BETWEEN") return betweenHint(before, behind);
  if (word === "IN" && /\bHAVING\b/i.test(before)) return "Compare with each: COUNT = 1 OR COUNT = 2.";
  if (word === "YESTERDAY") return yesterdayHint(before);
  if (word === "AGO") return "Write a moment with a step, such as NOW - HOURS(1).";
  return countHint(text, word, before, start) ?? stepHint(word, before, behind);
}

function betweenHint(before: string, behind: string): string {
  const [, field = "value", not] = FIELD_BEFORE.exec(before) ?? [];
  const [, low = "1", high = "10"] = BOUNDS_BEHIND.exec(behind) ?? [];
  const range = `${field} >= ${low} AND ${field} <= ${high}`;
  return not === undefined ? `Write ${range}.` : `Write NOT (${range}).`;
}

/** Comparisons use the start of a day; OCCURS takes it as a whole. */
function yesterdayHint(before: string): string {
  return /[<>]=?\s*$/.test(before) ? "Write TODAY - DAYS(1)." : "Write OCCURS(TODAY - DAYS(1), TODAY).";
}

/** Recognizes `COUNT(DISTINCT user)` and `COUNT(@took)` of SQL. */
function countHint(text: string, word: string, before: string, start: number): string | null {
  if (/\bCOUNT\s*\(\s*DISTINCT\s*$/i.test(before)) {
    const field = /^\(?\s*(@?[^\s(),]+)/u.exec(text.slice(start))?.[1] ?? "user";
    return `Write DISTINCT(${field}).`;
  }
  const field = word === ")" ? /\bCOUNT\s*\(\s*(@?[^\s(),]+)\s*$/iu.exec(before)?.[1] : undefined;
  return field === undefined ? null : `Write COUNT(${field} IS NOT NULL).`;
}

/** Recognizes `NOW - 1h` and `NOW - 1 HOUR`. */
function stepHint(word: string, before: string, behind: string): string | null {
  if (!/(?:NOW|TODAY|[\d)'"])\s*[-+]\s*$/i.test(before)) return null;
  const [, count, attached = ""] = /^'?(\d+)\s*([a-z]*)'?$/i.exec(word) ?? [];
  if (count === undefined) return null;
  const written = attached === "" ? (/^\s*([a-z]+)/i.exec(behind)?.[1] ?? "") : attached;
  const unit = UNITS.find(([pattern]) => pattern.test(written))?.[1];
  if (unit !== undefined) return `Write ${unit}(${count}).`;
  return "Write a step such as MINUTES(5), HOURS(1) or DAYS(1).";
}
