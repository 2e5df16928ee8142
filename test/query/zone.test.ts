import test from "ava";

import { LoggiaError } from "../../src/errors.ts";
import { parseZone } from "../../src/query/zone.ts";

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
  for (const [tz, offset_min] of OFFSETS) t.is(parseZone(tz), offset_min, String(tz));
});

test("anything else is named", (t) => {
  for (const tz of ["14.01", "-12.5", "15", "5,5", "Europe/Berlin", "1e1", "0x5", "NaN", "--5", "5:30", "."]) {
    const message = `The parameter tz is ${JSON.stringify(tz)}; it must be a number of hours from -12 to 14, such as -5 or 5.75`;
    t.throws(() => parseZone(tz), { instanceOf: LoggiaError, code: "bad_parameter", message });
  }
});
