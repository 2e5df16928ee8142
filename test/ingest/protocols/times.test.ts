import test from "ava";

import { severityOf, severityOfOtel, severityOfSyslog } from "../../../src/ingest/protocols/severity.ts";
import { digitsOf, timeOf } from "../../../src/ingest/protocols/times.ts";

const MS = Date.UTC(2026, 10, 20, 10, 0, 0, 123);

test("a moment is told by its size, or by ISO 8601", (t) => {
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
  for (const value of same) t.deepEqual(timeOf(value), { ms: MS, ns: 0 }, String(value));
  t.deepEqual(timeOf("2026-11-20T10:00:00.123456789123Z"), { ms: MS, ns: 456_789 });
  t.deepEqual(timeOf("2026-11-20T10:00:00.1234Z"), { ms: MS, ns: 400_000 });
  t.deepEqual(timeOf(`${MS / 1000}456`), { ms: MS, ns: 456_000 });
  t.deepEqual(timeOf(`${MS}456789`), { ms: MS, ns: 456_789 });
  t.is(digitsOf({ ms: MS, ns: 456_789 }), `${MS}456789`);
  t.deepEqual(timeOf(0), { ms: 0, ns: 0 });
});

test("what names no moment is none", (t) => {
  for (const value of [
    "",
    "soon",
    "2026-13-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-02-01T24:00:00Z",
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
    t.is(timeOf(value), null, JSON.stringify(value));
  }
});

test("severities of producers are one of six", (t) => {
  const words = [
    "EMERG",
    "Critical",
    "err",
    "WARNING",
    "Notice",
    "information",
    "verbose",
    "5",
    "50",
    7,
    10,
    "x",
    "",
    99,
  ];
  t.deepEqual(words.map(severityOf), [
    ...(["fatal", "fatal", "error", "warn", "info", "info", "trace", "info", "error", "debug", "trace"] as const),
    null,
    null,
    null,
  ]);
  t.deepEqual([0, 1, 8, 9, 16, 17, 24, 25].map(severityOfOtel), [
    ...([null, "trace", "debug", "info", "warn", "error", "fatal", null] as const),
  ]);
  t.deepEqual([0, 3, 4, 6, 7, 8].map(severityOfSyslog), ["fatal", "error", "warn", "info", "debug", null]);
});
