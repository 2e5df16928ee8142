import type { PostClock } from "../../events/clock.ts";
import { DATE_FORMS, readDate } from "../../query/dates.ts";
import { UTC } from "../../query/zone.ts";
import { CREATED_AHEAD_MS } from "../../store/expiry.ts";
import { quote } from "../../events/quote.ts";

/** From when to when an event may be created. */
export type Keeps = {
  /**
   * The latest that the moment of the post may be, in milliseconds since the Unix epoch: nothing
   * may be far ahead of it. A host's clock that is behind refuses no event for its right time.
   */
  readonly read_ms: number;
  /** The moment of the post by the time that is believed, by which events expire. */
  readonly believed_ms: number;
  /** For how long the log keeps what was created; null: for ever. */
  readonly retentionDays: number | null;
};

/** The moments of a post that is read now. */
export function momentsBy(clock: PostClock): Pick<Keeps, "read_ms" | "believed_ms"> {
  return { read_ms: clock.latest(), believed_ms: clock.now() };
}

const DAY_MS = 86_400_000;
const AHEAD_MIN = CREATED_AHEAD_MS / 60_000;
/** Of what {@link readDate} takes, what is ISO 8601. */
const ISO = /^\s*\d{4}-/;
const MILLISECONDS = /^\s*\d{12,}\s*$/;
/** As answers of the API have it. */
const ANSWERED = /^\/Date\((?<ms>-?\d{1,15})\)\/$/;
const EXPECTED = "a time such as 2011-06-19T13:54:33.911Z, or milliseconds since 1970, is expected";

/**
 * Reads when an event happened: ISO 8601 (UTC where it names no offset), milliseconds since the
 * Unix epoch, or nothing, which is null.
 */
export function readCreated(value: unknown, keeps: Keeps, faults: string[]): number | null {
  if (value === undefined || value === null || value === "") return null;
  const ms = momentOf(value);
  if (typeof ms !== "number") {
    faults.push(`created is ${written(value)}, ${EXPECTED}${ms.why === null ? "" : `: ${ms.why}`}`);
    return null;
  }
  const { read_ms, believed_ms, retentionDays } = keeps;
  if (ms > read_ms + CREATED_AHEAD_MS) {
    faults.push(
      `created is ${show(ms)}, more than ${AHEAD_MIN} minutes ahead of the clock, which shows ${show(read_ms)}`,
    );
  } else if (ms < 0) {
    faults.push(`created is ${show(ms)}, before 1970`);
  } else if (retentionDays !== null && ms < believed_ms - retentionDays * DAY_MS) {
    faults.push(`created is ${show(ms)}, older than the ${retentionDays} days that the log keeps`);
  }
  return ms;
}

/** The same of a form, where all that is posted is text: digits alone are milliseconds. */
export function readFormCreated(text: string, keeps: Keeps, faults: string[]): number | null {
  return readCreated(/^\s*[+-]?\d+\s*$/.test(text) ? Number(text) : text.trim(), keeps, faults);
}

/** In milliseconds since the Unix epoch, or why it is none, where more can be said than what is expected. */
function momentOf(value: unknown): number | { readonly why: string | null } {
  if (typeof value === "number") return Number.isSafeInteger(Math.trunc(value)) ? Math.trunc(value) : { why: null };
  if (typeof value !== "string") return { why: null };
  const answered = ANSWERED.exec(value)?.groups?.["ms"];
  if (answered !== undefined) return Number(answered);
  if (!ISO.test(value)) return { why: MILLISECONDS.test(value) ? "milliseconds are a number, without quotes" : null };
  const date = readDate(value, UTC);
  if (date.kind === "fault") return { why: date.reason === DATE_FORMS ? null : date.reason };
  return date.kind === "day" ? date.start : date.at;
}

function written(value: unknown): string {
  if (typeof value === "string") return quote(value);
  return typeof value === "number" ? String(value) : JSON.stringify(value).slice(0, 40);
}

function show(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
