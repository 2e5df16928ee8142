import test from "ava";
import * as fc from "fast-check";

import { LoggiaError } from "../../src/errors.ts";
import { fixedZone, momentFromLocal, offsetAt, parseZone, offsetPeriods } from "../../src/query/zone.ts";

const OFFSETS: readonly (readonly [string | null, number])[] = [
  [null, 0],
  ["", 0],
  ["0", 0],
  ["-0", 0],
  ["2", 120],
  ["+2", 120],
  [" 5.5", 330],
  ["5.75", 345],
  ["-3.5", -210],
  ["-12", -720],
  ["14", 840],
  ["13.999999", 840],
  [".5", 30],
  ["-0.001", 0],
  ["5.75000000000001", 345],
  ["5.616666666666666", 337],
  ["-.5000000000000000000", -30],
];

test("hours from UTC become minutes", (t) => {
  for (const [tz, offset_min] of OFFSETS) t.deepEqual(parseZone(tz), fixedZone(offset_min), String(tz));
});

test("any other value is a name of a time zone", (t) => {
  for (const tz of [
    "14.01",
    "-12.5",
    "15",
    "5,5",
    "Europe/Nowhere",
    "Europe",
    "+01:00",
    "1e1",
    "0x5",
    "NaN",
    "--5",
    "5:30",
    ".",
  ]) {
    const message = `The parameter tz is ${JSON.stringify(tz)}; it must be a number of hours from -12 to 14, such as -5 or 5.75, or a time zone such as Europe/Berlin`;
    t.throws(() => parseZone(tz), { instanceOf: LoggiaError, code: "bad_parameter", message });
  }
});

test("a misspelt time zone is refused with a suggestion", (t) => {
  const error = t.throws(() => parseZone("Europe/Berln"), { instanceOf: LoggiaError, code: "bad_parameter" });
  t.regex(error.message, /Did you mean Europe\/Berlin\?$/);
});

test("names are those of the time zone database, in any case, links included", (t) => {
  t.is(parseZone("europe/berlin"), parseZone("Europe/Berlin"));
  t.deepEqual(parseZone("US/Pacific"), parseZone("America/Los_Angeles"));
  t.deepEqual(parseZone("Etc/UTC"), fixedZone(0));
  t.deepEqual(parseZone("Etc/GMT+5"), fixedZone(-300));
});

const NAMED = ["Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "America/Havana", "Africa/Casablanca"];
const named = fc.constantFrom(...NAMED);
/** Moments of the hundred years around today, including hours of clock changes. */
const moments = fc
  .tuple(fc.integer({ min: 0, max: 4_000_000_000 }), fc.integer({ min: 0, max: 999 }))
  .map(([seconds, ms]) => seconds * 1000 + ms);
const shifts = fc.integer({ min: -7_200_000, max: 7_200_000 });

function nearChange(name: string, moment: number, shift: number): number {
  const { changes } = parseZone(name);
  return changes[moment % changes.length]!.at_ms + shift;
}

test("offsets and moments equal those of Temporal", (t) => {
  const property = fc.property(named, moments, shifts, (name, moment, shift) => {
    for (const at of [moment, nearChange(name, moment, shift)]) {
      const zoned = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(name);
      t.is(offsetAt(parseZone(name), at), zoned.offsetNanoseconds / 1e6);
      const local = zoned.toPlainDateTime();
      const shown = local.toZonedDateTime("UTC").epochMilliseconds;
      t.is(momentFromLocal(parseZone(name), shown), local.toZonedDateTime(name).epochMilliseconds);
      // Local times that a clock change skips are included.
      const any = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO("UTC").toPlainDateTime();
      t.is(momentFromLocal(parseZone(name), at), any.toZonedDateTime(name).epochMilliseconds);
    }
  });
  fc.assert(property, { numRuns: 500 });
});

test("stretches adjoin without a gap, and mark times that a clock change repeats", (t) => {
  const property = fc.property(named, moments, shifts, (name, moment, shift) => {
    const zone = parseZone(name);
    const at = nearChange(name, moment, shift);
    const holding = offsetPeriods(zone).filter(({ from_ms, to_ms }) => from_ms <= at && at < to_ms);
    t.is(holding.length, 1);
    t.is(holding[0]!.offset_ms, offsetAt(zone, at));
    t.is(holding[0]!.repeated, momentFromLocal(zone, at + offsetAt(zone, at)) !== at);
    t.true(offsetPeriods(zone, at, at).some((stretch) => stretch.from_ms === holding[0]!.from_ms));
  });
  fc.assert(property, { numRuns: 500 });
});
