import { LoggiaError } from "../../errors.ts";
import { MOMENT_LIMIT } from "../../query/calendar.ts";
import { readDate } from "../../query/dates.ts";
import { UTC } from "../../query/zone.ts";

const EPOCH_MS = /^-?\d{1,16}$/;
const ISO = /^\d{4}-/;

/**
 * Parses a moment in a body: milliseconds since the Unix epoch, or ISO 8601, in UTC without an
 * offset.
 * @throws LoggiaError `bad_parameter`
 */
export function readMomentField(name: string, given: number | string): number {
  const moment = typeof given === "number" ? given : momentOf(given.trim());
  if (Number.isInteger(moment) && Math.abs(moment) <= MOMENT_LIMIT) return moment;
  throw new LoggiaError(
    "bad_parameter",
    `The field ${name} must be a moment: milliseconds since 1970-01-01 UTC, or ISO 8601 such as 2026-11-21T08:00:00Z`,
  );
}

function momentOf(text: string): number {
  if (EPOCH_MS.test(text)) return Number(text);
  const date = ISO.test(text) ? readDate(text, UTC) : null;
  if (date === null || date.kind === "fault") return Number.NaN;
  return date.kind === "day" ? date.start : date.at;
}
