import { MINUTE_MS, civil, daysInMonth } from "./calendar.ts";

/** What a date that somebody wrote means: a whole day, given by its first moment, or one moment. In milliseconds since the Unix epoch. */
export type WrittenDate =
  | { readonly kind: "day"; readonly start: number }
  | { readonly kind: "moment"; readonly at: number }
  | { readonly kind: "fault"; readonly reason: string };

const TIME = String.raw`(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d{1,9}))?)?`;
const ZONE = String.raw`(?<zone>Z|[+-]\d\d(?::?\d\d)?)`;
const AMERICAN = new RegExp(String.raw`^(?<month>\d{1,2})/(?<day>\d{1,2})/(?<year>\d{4})(?: +${TIME})?$`);
const ISO = new RegExp(String.raw`^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:(?:T| +)${TIME} ?${ZONE}?)?$`, "i");
/** What is said of a text that is no date at all. */
export const DATE_FORMS = "write 9/19/2011, 2011-09-19, or '2011-09-19T14:00' in quotes";

/**
 * Reads `9/19/2011` (month first), `2011-09-19`, either with a time behind a blank, and ISO 8601 with or without offset.
 *
 * @param offset_min where the date names no offset of its own: minutes east of UTC
 */
export function readDate(text: string, offset_min: number): WrittenDate {
  const groups = (AMERICAN.exec(text.trim()) ?? ISO.exec(text.trim()))?.groups;
  if (groups === undefined) return fault(DATE_FORMS);
  const [year, month, day] = [Number(groups["year"]), Number(groups["month"]), Number(groups["day"])];
  if (month < 1 || month > 12) return fault(`there is no month ${month}`);
  const days = daysInMonth(year, month);
  if (day < 1 || day > days) return fault(`the month ${month}/${year} has ${days} days`);
  const zone_min = readZone(groups["zone"]) ?? offset_min;
  if (Number.isNaN(zone_min)) return fault(`there is no offset ${groups["zone"]}`);
  const start = civil(year, month, day) - zone_min * MINUTE_MS;
  if (groups["hour"] === undefined) return { kind: "day", start };
  const [hour, minute, second] = [Number(groups["hour"]), Number(groups["minute"]), Number(groups["second"] ?? 0)];
  if (hour > 23 || minute > 59 || second > 59) return fault("times go from 00:00:00 to 23:59:59");
  const milliseconds = Number((groups["fraction"] ?? "").padEnd(3, "0").slice(0, 3));
  return { kind: "moment", at: start + ((hour * 60 + minute) * 60 + second) * 1000 + milliseconds };
}

/** Minutes east of UTC; NaN where no clock runs so far off; null where none is written. */
function readZone(text: string | undefined): number | null {
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
