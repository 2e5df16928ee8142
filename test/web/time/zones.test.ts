import test from "ava";
import * as fc from "fast-check";

import { offsetAt, parseZone } from "../../../src/query/zone.ts";
import { clockOf, findZone, ownZone, placeOf, zoneAround, zoneNames } from "../../../src/web/time/zones.ts";

const DAY_MS = 86_400_000;

test("every zone is around any moments what it is to the service", (t) => {
  const property = fc.property(
    fc.constantFrom(...zoneNames()),
    fc.integer({ min: Date.UTC(1975, 0, 1), max: Date.UTC(2040, 0, 1) }),
    fc.integer({ min: 0, max: 800 * DAY_MS }),
    (name, from, length_ms) => {
      const [zone, expected] = [zoneAround(name, from, from + length_ms), parseZone(name)];
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

test("the clock of a zone is at each moment what it is to the service", (t) => {
  const property = fc.property(
    fc.constantFrom("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Africa/Casablanca", "Pacific/Apia", "UTC"),
    fc.integer({ min: Date.UTC(1975, 0, 1), max: Date.UTC(2040, 0, 1) }),
    fc.array(fc.integer({ min: 0, max: 800 * DAY_MS }), { maxLength: 20 }),
    (name, from, steps) => {
      const [clock, zone] = [clockOf(name), parseZone(name)];
      const around = zone.changes.flatMap(({ at_ms }) => [at_ms - 1, at_ms]).filter((at) => at >= Date.UTC(1975, 0, 1));
      for (const moment of [...steps.map((step) => from + step), ...around.slice(0, 40)])
        t.is(clock(moment), offsetAt(zone, moment), `${name} ${moment}`);
    },
  );
  fc.assert(property, { numRuns: 100 });
});

test("names are found in any case, old ones too", (t) => {
  t.is(findZone("europe/berlin"), "Europe/Berlin");
  t.is(findZone(" UTC "), "UTC");
  t.is(findZone(ownZone()), ownZone());
  t.is(findZone("US/Eastern"), "US/Eastern");
  t.is(findZone("Europe/Atlantis"), null);
  t.is(findZone("+01:00"), null);
  t.is(findZone(""), null);
  t.is(placeOf("America/Argentina/Buenos_Aires"), "Buenos Aires");
});
