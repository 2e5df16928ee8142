import { utcMidnight, daysInMonth } from "./calendar.ts";
import { fixedZone, momentFromLocal } from "./zone.ts";
import type { Zone } from "./zone.ts";

/**
 * The meaning of a written date: a whole day, given by its first moment, or a single moment. In
 * milliseconds since the Unix epoch.
 */
export type WrittenDate =
  | { readonly kind: "day"; readonly start: number }
  | { readonly kind: "moment"; readonly at: number }
  | { readonly kind: "fault"; readonly reason: string };

const TIME = String.raw`(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d{1,9}))?)?`;
const ZONE = String.raw`(?<zone>Z|[+-]\d\d(?::?\d\d)?)`;
const AMERICAN = new RegExp(String.raw`^(?<month>\d{1,2})/(?<day>\d{1,2})/(?<year>\d{4})(?: +${TIME})?$`);
const ISO = new RegExp(String.raw`^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:(?:T| +)${TIME} ?${ZONE}?)?$`, "i");
/** Hint for a text that is not a date. */
export const DATE_FORMS = "write 9/19/2011, 2011-09-19, or '2011-09-19T14:00' in quotes";

/**
 * Parses `9/19/2011` (month first) or `2011-09-19`, either with a time after a blank, and ISO 8601
 * with or without an offset.
 *
 * @param zone used if the date has no offset
 */
export function readDate(text: string, zone: Zone): WrittenDate {
  const groups = (AMERICAN.exec(text.trim()) ?? ISO.exec(text.trim()))?.groups;
  if (groups === undefined) return fault(DATE_FORMS);
  const [year, month, day] = [Number(groups["year"]), Number(groups["month"]), Number(groups["day"])];
  if (month < 1 || month > 12) return fault(`there is no month ${month}`);
  const days = daysInMonth(year, month);
  if (day < 1 || day > days) return fault(`the month ${month}/${year} has ${days} days`);
  const offset_min = readOffset(groups["zone"]);
  if (Number.isNaN(offset_min)) return fault(`there is no offset ${groups["zone"]}`);
  const written = offset_min === null ? zone : fixedZone(offset_min);
  const midnight = utcMidnight(year, month, day);
  if (groups["hour"] === undefined) return { kind: "day", start: momentFromLocal(written, midnight) };
  const [hour, minute, second] = [Number(groups["hour"]), Number(groups["minute"]), Number(groups["second"] ?? 0)];
  if (hour > 23 || minute > 59 || second > 59) return fault("times go from 00:00:00 to 23:59:59");
  const milliseconds = Number((groups["fraction"] ?? "").padEnd(3, "0").slice(0, 3));
  const time_ms = ((hour * 60 + minute) * 60 + second) * 1000 + milliseconds;
  return { kind: "moment", at: momentFromLocal(written, midnight + time_ms) };
}

/** Returns minutes east of UTC; NaN if the offset is out of range; null if none is given. */
function readOffset(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (text.toUpperCase() === "Z") return 0;
  const hours = Number(text.slice(1, 3));
  const minutes = Number(text.slice(3).replace(":", ""));
  if (hours > 18 || minutes > 59) return NaN;
  return (text.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}

function fault(reason: string): WrittenDate {
  return { kind: "fault", reason };
}
