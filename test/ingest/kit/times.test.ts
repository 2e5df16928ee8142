import test from "ava";
import fc from "fast-check";

import {
  parseSeverity,
  severityOfNextcloud,
  severityOfOtel,
  severityOfSyslog,
} from "../../../src/ingest/kit/severity.ts";
import { timeDigits, readProducerTime } from "../../../src/ingest/kit/times.ts";

const MS = Date.UTC(2026, 10, 20, 10, 0, 0, 123);

test("a time is read by its magnitude, or as ISO 8601", (t) => {
  const same: readonly unknown[] = [
    MS,
    String(MS),
    MS / 1000,
    String(MS / 1000),
    MS * 1000,
    `${MS}000000`,
    new Date(MS).toISOString(),
    "2026-11-20 12:00:00,123+02:00",
    "2026-11-20T10:00:00.123000000Z",
  ];
  for (const value of same) t.deepEqual(readProducerTime(value), { ms: MS, ns: 0 }, String(value));
  t.deepEqual(readProducerTime("2026-11-20T10:00:00.123456789123Z"), { ms: MS, ns: 456_789 });
  t.deepEqual(readProducerTime("2026-11-20T10:00:00.1234Z"), { ms: MS, ns: 400_000 });
  t.deepEqual(readProducerTime(`${MS / 1000}456`), { ms: MS, ns: 456_000 });
  t.deepEqual(readProducerTime(`${MS}456789`), { ms: MS, ns: 456_789 });
  t.is(timeDigits({ ms: MS, ns: 456_789 }), `${MS}456789`);
});

test("a number is a time from 10^8 on, in the unit that its magnitude tells", (t) => {
  for (const value of [0, -1, -1e9, 0.005, 12.345678, 20_190_501, 99_999_999, 99_999_999.9]) {
    t.is(readProducerTime(value), null, String(value));
    t.is(readProducerTime(String(value)), null, String(value));
  }
  const bounds: readonly (readonly [string, number])[] = [
    ["100000000", 1e11],
    ["99999999999", 99_999_999_999_000],
    ["100000000000", 1e11],
    ["99999999999999", 99_999_999_999_999],
    ["100000000000000", 1e11],
    ["99999999999999999", 99_999_999_999_999],
    ["100000000000000000", 1e11],
    ["9223372036854775807", 9_223_372_036_854],
  ];
  for (const [digits, ms] of bounds) t.is(readProducerTime(digits)?.ms, ms, digits);
});

test("times in the usual format are read like those with another zone", (t) => {
  const date = fc.date({ min: new Date(0), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true });
  fc.assert(
    fc.property(date, fc.stringMatching(/^(?:[0-9]{3,9})?$/), (moment, fraction) => {
      const text = moment.toISOString().slice(0, 19) + (fraction === "" ? "" : `.${fraction}`);
      const usual = readProducerTime(`${text}Z`);
      t.deepEqual(usual, readProducerTime(`${text}+00:00`), text);
      t.deepEqual(readProducerTime(`${text} +0000`), usual);
      t.is(usual?.ms, Date.parse(`${text.slice(0, 23)}Z`));
    }),
  );
  for (const wrong of ["2026-00-01", "2026-1-001", "2026-11-00", "20x6-11-01"]) {
    t.is(readProducerTime(`${wrong}T00:00:00Z`), null, wrong);
  }
  for (const wrong of ["24:00:01", "00:60:00", "00:00:6x", "00:00:00.12x"]) {
    t.is(readProducerTime(`2026-11-01T${wrong}Z`), null, wrong);
  }
});

test("invalid times are absent", (t) => {
  for (const value of [
    "",
    "soon",
    "2026-13-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-02-01T24:01:00Z",
    1e300,
    -1e300,
    NaN,
    Infinity,
    null,
    true,
    [],
    {},
    "1e5",
    "9".repeat(30),
  ]) {
    t.is(readProducerTime(value), null, JSON.stringify(value));
  }
});

test("severities of producers map to one of six", (t) => {
  const words = [
    "EMERG",
    "Critical",
    "err",
    "WARNING",
    "Notice",
    "information",
    "verbose",
    "\u001b[31merror\u001b[39m",
    "DEBUG5",
    "50",
    10,
    "5",
    7,
    "x",
    "",
    99,
  ];
  t.deepEqual(words.map(parseSeverity), [
    ...(["fatal", "fatal", "error", "warn", "info", "info", "trace", "error", "debug", "error", "trace"] as const),
    null,
    null,
    null,
    null,
    null,
  ]);
  t.deepEqual([0, 1, 8, 9, 16, 17, 24, 25].map(severityOfOtel), [
    ...([null, "trace", "debug", "info", "warn", "error", "fatal", null] as const),
  ]);
  t.deepEqual([0, 3, "4", 6, 7, 8, ""].map(severityOfSyslog), ["fatal", "error", "warn", "info", "debug", null, null]);
  t.deepEqual([0, "1", 2, 3, 4, 5].map(severityOfNextcloud), ["debug", "info", "warn", "error", "fatal", null]);
});
