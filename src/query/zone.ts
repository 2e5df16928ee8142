import { LoggiaError } from "../errors.ts";
import { shorten } from "./fault.ts";

const HOURS = /^[+-]?(?:\d{1,2}(?:\.\d*)?|\.\d+)$/;
const WEST = -12;
const EAST = 14;

/**
 * The offset that the parameter `tz` names, in minutes east of UTC: hours, with fractions where the clock of a country has them
 * (5.75 is Nepal). Absent or empty: 0.
 *
 * @throws LoggiaError `bad_parameter`
 */
export function parseZone(tz: string | null): number {
  // A plus sign that was not encoded arrives as a blank.
  const text = (tz ?? "").trim();
  if (text === "") return 0;
  const hours = HOURS.test(text) ? Number(text) : NaN;
  if (!(hours >= WEST && hours <= EAST)) {
    const allowed = `a number of hours from ${WEST} to ${EAST}, such as -5 or 5.75`;
    throw new LoggiaError(
      "bad_parameter",
      `The parameter tz is ${JSON.stringify(shorten(text))}; it must be ${allowed}`,
    );
  }
  // `+ 0` turns minus zero into zero.
  return Math.round(hours * 60) + 0;
}
