import { LoggiaError } from "../errors.ts";

/** Most events whose data a query reads, on any store. */
export const MAX_READ_EVENTS = 1_000_000;

/**
 * Returns the error of a query that would have to read the data of too many events.
 * @param range a range that would do, from (inclusive) to (exclusive), in milliseconds since the
 * Unix epoch; `to` is Infinity if it has no end, and null stands for an unknown range
 */
export function tooWide(
  reason: string,
  range: { readonly from_ms: number; readonly to_ms: number } | null,
): LoggiaError {
  const remedy = "ask for a shorter time, or for whole words that the data contains";
  return new LoggiaError("too_wide", `${reason}: ${remedy}${range === null ? "" : `, for example ${occurs(range)}`}`);
}

function occurs({ from_ms, to_ms }: { readonly from_ms: number; readonly to_ms: number }): string {
  const end = to_ms > MAX_DATE_MS ? "" : `, ${moment(to_ms)}`;
  return `OCCURS(${moment(from_ms)}${end})`;
}

/** The latest moment of a `Date`. */
const MAX_DATE_MS = 8.64e15;

/** Writes a moment for a query, with an offset, so that it means the same on every clock. */
function moment(ms: number): string {
  return `'${new Date(ms).toISOString().replace(".000Z", "Z").replace(/:00Z$/, "Z")}'`;
}
