import test from "ava";

import { compileTimeFormat } from "../../../src/ingest/kit/time-format.ts";
import { USUAL_TIMES } from "../../../src/ingest/kit/time-forms.ts";
import { readProducerTime } from "../../../src/ingest/kit/times.ts";

const JUNE_5 = Date.UTC(2026, 5, 5, 12);

function timeBy(format: string, value: unknown): number | null {
  const compiled = compileTimeFormat(format);
  if (typeof compiled === "string") throw new Error(compiled);
  return readProducerTime(value, { ...USUAL_TIMES, format: compiled, now: () => JUNE_5 })?.ms ?? null;
}

test("a format of strptime says how times are written", (t) => {
  const times: readonly (readonly [format: string, value: unknown, ms: number | null])[] = [
    ["%d/%m/%Y %H:%M:%S", "05/06/2026 12:00:00", JUNE_5],
    ["%m/%d/%Y %I:%M:%S %p", "06/05/2026 12:00:00 PM", JUNE_5],
    ["%m/%d/%Y, %I:%M:%S %p", "6/5/2026, 12:00:00\u202fPM", JUNE_5],
    ["%d-%m-%y %T", "05-06-26 12:00:00", JUNE_5],
    ["%D %R", "06/05/26 12:00", JUNE_5],
    ["%F %T.%f", "2026-06-05 12:00:00.250", JUNE_5 + 250],
    ["%F %T,%f %z", "2026-06-05 14:00:00,25 +0200", JUNE_5 + 250],
    ["%F %T%z", "2026-06-05 12:00:00Z", JUNE_5],
    ["%a %d %B %Y %H:%M %Z", "Fri 05 June 2026 14:00 CEST", JUNE_5],
    ["%m%d %T.%f", "0605 12:00:00.000000", JUNE_5],
    ["%b %e %T", "Jun  5 12:00:00", JUNE_5],
    ["%Y%m%d", 20_260_605, JUNE_5 - 43_200_000],
    ["%Y-%d-%m", "2026-05-06", JUNE_5 - 43_200_000],
    ["%s.%f", "1780660800.5", JUNE_5 + 500],
    ["%s", "5", 5_000],
    ["100%% %F", "100% 2026-06-05", JUNE_5 - 43_200_000],
    ["(%d.%m.%Y)", "(05.06.2026)", JUNE_5 - 43_200_000],
    ["%d/%m/%y", "05/06/69", Date.UTC(1969, 5, 5)],
    ["%d/%m/%Y", "05/13/2026", null],
    ["%d/%m/%Y", "05/06/2026 12:00", null],
  ];
  for (const [format, value, ms] of times) {
    t.is(timeBy(format, value), ms, `${format}: ${String(value)}`);
  }
});

test("a time in another form than the format's is read as without it", (t) => {
  t.is(timeBy("%d/%m/%Y %H:%M:%S", "2026-06-05T12:00:00Z"), JUNE_5);
  t.is(timeBy("%d/%m/%Y %H:%M:%S", JUNE_5), JUNE_5);
  t.is(timeBy("%d/%m/%Y %H:%M:%S", "05-06-2026 12:00:00"), null);
});

test("a format that can't be used says what is wrong", (t) => {
  t.regex(String(compileTimeFormat("%d.%m.%Y %Q")), /^there is no %Q; there are %F .* %Y /);
  t.regex(String(compileTimeFormat("%d.%m.%Y %")), /^there is no %;/);
  t.is(compileTimeFormat("%H:%M:%S"), "it has no day and month, nor %s");
  t.is(compileTimeFormat("yyyy-MM-dd"), "it has no day and month, nor %s");
  t.is(compileTimeFormat("%d.%m.%Y %d"), "it has a directive twice");
});
