import type { Catalog } from "../../catalog/catalog.ts";
import { HOST_CLOCK } from "../../events/clock.ts";
import type { PostClock } from "../../events/clock.ts";
import type { LogKey } from "../../events/event.ts";
import { DATE_FORMS, readDate } from "../../query/dates.ts";
import { UTC } from "../../query/zone.ts";
import { CREATED_AHEAD_MS } from "../../store/expiry.ts";
import { quote } from "../../events/quote.ts";

/** Range of creation times that an event may have. */
export type CreatedRange = {
  /**
   * Latest time of the post, in milliseconds since the Unix epoch. Creation times may not be far
   * ahead of it. A host's clock that is behind thus refuses no event with a correct time.
   */
  readonly read_ms: number;
  /** Time of the post by the trusted clock, which events expire by. */
  readonly trusted_ms: number;
  /** Days that the log keeps events after their creation; null: for ever. */
  readonly retentionDays: number | null;
  /**
   * Whether a time before 1970 or ahead of the clock is kept as an attribute, and the event gets
   * the time of its post. Default: false, such an event is invalid
   */
  readonly keepsClaims?: boolean;
};

/** Times at which a post was read. */
export type PostTimes = Pick<CreatedRange, "read_ms" | "trusted_ms">;

/** Returns the times of a post that is read now. */
export function postTimesBy(clock: PostClock): PostTimes {
  return { read_ms: clock.latest(), trusted_ms: clock.now() };
}

/** Returns the range of creation times that a log accepts. */
export function createdRange(
  log: string,
  { catalog, clock = HOST_CLOCK }: { readonly catalog: Pick<Catalog, "log">; readonly clock?: PostClock },
): CreatedRange {
  const retentionDays = catalog.log(log as LogKey)?.retentionDays ?? null;
  return { ...postTimesBy(clock), retentionDays };
}

/** Attribute with the time that a producer gave, if it is not valid as `created`. */
export const CLAIMED_CREATED = "claimed_created";

const DAY_MS = 86_400_000;
const AHEAD_MIN = CREATED_AHEAD_MS / 60_000;
/** Selects ISO 8601 among the forms that {@link readDate} accepts. */
const ISO = /^\s*\d{4}-/;
const MILLISECONDS = /^\s*\d{12,}\s*$/;
/** Form of times in responses of the API. */
const JSON_DATE = /^\/Date\((?<ms>-?\d{1,15})\)\/$/;
const EXPECTED = "a time such as 2011-06-19T13:54:33.911Z, or milliseconds since 1970, is expected";

/**
 * Reads when an event happened: ISO 8601 (UTC without an offset) or milliseconds since the Unix
 * epoch. Returns null if no time is given.
 */
export function readCreated(value: unknown, range: CreatedRange, faults: string[]): number | null {
  if (value === undefined || value === null || value === "") return null;
  const ms = parseTime(value);
  if (typeof ms !== "number") {
    faults.push(`created is ${describeValue(value)}, ${EXPECTED}${ms.why === null ? "" : `: ${ms.why}`}`);
    return null;
  }
  const { read_ms, retentionDays } = range;
  if (ms > read_ms + CREATED_AHEAD_MS) {
    faults.push(
      `created is ${isoTime(ms)}, more than ${AHEAD_MIN} minutes ahead of the clock, which shows ${isoTime(read_ms)}`,
    );
  } else if (ms < 0) {
    faults.push(`created is ${isoTime(ms)}, before 1970`);
  } else if (ms < oldestKept(range)) {
    faults.push(`created is ${isoTime(ms)}, older than the ${retentionDays} days that the log keeps`);
  }
  return ms;
}

/**
 * Returns the time that an event claims, in ISO 8601, if it is before 1970 or ahead of the clock,
 * and such times are kept; otherwise null.
 */
export function claimedTime(value: unknown, { read_ms, keepsClaims = false }: CreatedRange): string | null {
  if (!keepsClaims || value === undefined || value === null || value === "") return null;
  const ms = parseTime(value);
  return typeof ms === "number" && (ms < 0 || ms > read_ms + CREATED_AHEAD_MS) ? isoTime(ms) : null;
}

/** Returns the oldest time that a log keeps, in milliseconds since the Unix epoch. */
export function oldestKept({ trusted_ms, retentionDays }: Pick<CreatedRange, "trusted_ms" | "retentionDays">): number {
  return retentionDays === null ? -Infinity : trusted_ms - retentionDays * DAY_MS;
}

/** Like {@link readCreated}, for a form, where every value is text. Digits are milliseconds. */
export function readFormCreated(text: string, range: CreatedRange, faults: string[]): number | null {
  return readCreated(/^\s*[+-]?\d+\s*$/.test(text) ? Number(text) : text.trim(), range, faults);
}

/** Returns milliseconds since the Unix epoch, or a specific reason why the value is no time. */
function parseTime(value: unknown): number | { readonly why: string | null } {
  if (typeof value === "number") return Number.isSafeInteger(Math.trunc(value)) ? Math.trunc(value) : { why: null };
  if (typeof value !== "string") return { why: null };
  const answered = JSON_DATE.exec(value)?.groups?.["ms"];
  if (answered !== undefined) return Number(answered);
  if (!ISO.test(value)) return { why: MILLISECONDS.test(value) ? "milliseconds are a number, without quotes" : null };
  const date = readDate(value, UTC);
  if (date.kind === "fault") return { why: date.reason === DATE_FORMS ? null : date.reason };
  return date.kind === "day" ? date.start : date.at;
}

function describeValue(value: unknown): string {
  if (typeof value === "string") return quote(value);
  return typeof value === "number" ? String(value) : JSON.stringify(value).slice(0, 40);
}

function isoTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
