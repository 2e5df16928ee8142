import test from "ava";
import type { ExecutionContext } from "ava";
import * as fc from "fast-check";

import { offsetAt, parseZone } from "../../../../src/query/zone.ts";
import {
  clockOfZone,
  findZone,
  ownZone,
  cityOfZone,
  zoneAround,
  zoneNames,
} from "../../../../src/web/parts/time/zones.ts";

const DAY_MS = 86_400_000;

/** Calls the page as in one kind of browser. */
type Browser = <Result>(call: () => Result) => Result;

/** As in a browser without Temporal. The service, which computes the expected values, needs it. */
const withoutTemporal: Browser = (call) => {
  const temporal = Temporal;
  Object.assign(globalThis, { Temporal: undefined });
  try {
    return call();
  } finally {
    Object.assign(globalThis, { Temporal: temporal });
  }
};

function inBoth(name: string, check: (t: ExecutionContext, browser: Browser) => void): void {
  test(`${name}, by Temporal`, (t) => check(t, (call) => call()));
  test(`${name}, by Intl`, (t) => check(t, withoutTemporal));
}

inBoth("every zone around any moment equals the service's", (t, browser) => {
  const property = fc.property(
    fc.constantFrom(...zoneNames()),
    fc.integer({ min: Date.UTC(1975, 0, 1), max: Date.UTC(2040, 0, 1) }),
    fc.integer({ min: 0, max: 800 * DAY_MS }),
    (name, from, length_ms) => {
      const [zone, expected] = [browser(() => zoneAround(name, from, from + length_ms)), parseZone(name)];
      const inside = expected.changes.filter(({ at_ms }) => at_ms >= from && at_ms < from + length_ms);
      t.deepEqual(
        zone.changes.filter(({ at_ms }) => at_ms >= from && at_ms < from + length_ms),
        inside,
        `${name} ${from} ${length_ms}`,
      );
      t.is(offsetAt(zone, from), offsetAt(expected, from), `${name} ${from}`);
    },
  );
  fc.assert(property, { numRuns: 300 });
});

inBoth("the offset of a zone at any moment equals the service's", (t, browser) => {
  const property = fc.property(
    fc.constantFrom("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Africa/Casablanca", "Pacific/Apia", "UTC"),
    fc.integer({ min: Date.UTC(1975, 0, 1), max: Date.UTC(2040, 0, 1) }),
    fc.array(fc.integer({ min: 0, max: 800 * DAY_MS }), { maxLength: 20 }),
    (name, from, steps) => {
      const [clock, zone] = [clockOfZone(name), parseZone(name)];
      const around = zone.changes.flatMap(({ at_ms }) => [at_ms - 1, at_ms]).filter((at) => at >= Date.UTC(1975, 0, 1));
      for (const moment of [...steps.map((step) => from + step + 0.5), ...around.slice(0, 40)])
        t.is(
          browser(() => clock(moment)),
          offsetAt(zone, moment),
          `${name} ${moment}`,
        );
    },
  );
  fc.assert(property, { numRuns: 100 });
});

inBoth("names are found in any case, old ones too", (t, browser) => {
  const find = (zone: string) => browser(() => findZone(zone));
  const own = browser(ownZone);
  t.is(own, new Intl.DateTimeFormat().resolvedOptions().timeZone);
  t.is(find("europe/berlin"), "Europe/Berlin");
  t.is(find(" UTC "), "UTC");
  t.is(find(own), own);
  t.is(find("US/Eastern"), "US/Eastern");
  t.is(find("Europe/Atlantis"), null);
  t.is(find("+01:00"), null);
  t.is(find(""), null);
  t.is(cityOfZone("America/Argentina/Buenos_Aires"), "Buenos Aires");
});
