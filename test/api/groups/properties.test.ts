import test from "ava";
import * as fc from "fast-check";

import { answerGroups } from "../../../src/api/groups/answer.ts";
import type { AnsweredGroup } from "../../../src/api/groups/answer.ts";
import type { LogKey, StoredEvent } from "../../../src/events/event.ts";
import { planQuery } from "../../../src/query/planner.ts";
import { parseZone } from "../../../src/query/zone.ts";
import { storedEvents } from "../../reference/arbitrary.ts";
import { evaluateGroup } from "../../reference/groups.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const scheduler = new Scheduler();

const SHOP = "shop" as LogKey;
const NOW = Date.parse("2012-03-02T10:00Z");
/** Fixed offsets, and a time zone that changes its offset within the range. */
const CLOCKS = ["0", "5.75", "-5", "Europe/Berlin"] as const;
const RANGES = [
  ["2/27/2012", "3/3/2012"],
  ["'2011-10-29 12:00'", "'2011-10-31 01:30'"],
  ["12/30/2011", "1/2/2012"],
] as const;

async function answer(query: string, events: readonly StoredEvent[], tz: string): Promise<AnsweredGroup[]> {
  const question = planQuery(query, { logs: [SHOP], now_ms: NOW, zone: parseZone(tz) });
  if (question.kind !== "groups") throw new Error(`${query} asks for no groups`);
  return await answerGroups({ group: async (plan) => evaluateGroup(plan, events) }, question, scheduler.querying);
}

const asked = fc.record({
  events: storedEvents([SHOP], { minLength: 20 }),
  tz: fc.constantFrom(...CLOCKS),
  range: fc.constantFrom(...RANGES),
});

const AGGREGATES = "COUNT, MIN(value), LAST(text), COUNT(created < 1/1/2012)";

test("the earlier values of COMPARE equal the same query about the earlier time", async (t) => {
  const property = fc.asyncProperty(
    asked,
    fc.constantFrom("DAYS(7)", "WEEKS(2)", "HOURS(5)", "MINUTES(90)", "MONTHS(1)"),
    fc.constantFrom("source", "tags, user", "@status", "BANDS(value, 0, 10)"),
    async ({ events, tz, range: [from, to] }, step, by) => {
      const query = `GET events GROUPBY ${by} COLUMNS(COUNT, MIN(value), LAST(text))`;
      const compared = await answer(`${query} OCCURS(${from}, ${to}) COMPARE(${step})`, events, tz);
      const earlier = await answer(`${query} OCCURS(${from} - ${step}, ${to} - ${step})`, events, tz);
      for (const { keys, previous } of compared) {
        const same = earlier.find((group) => JSON.stringify(group.keys) === JSON.stringify(keys));
        t.deepEqual(previous, same?.values ?? [0, null, null]);
      }
    },
  );
  await t.notThrowsAsync(fc.assert(property, { numRuns: 200 }));
});

test("groups of time are compared with those of exactly that much earlier", async (t) => {
  const property = fc.asyncProperty(
    asked.filter(({ tz }) => tz !== "Europe/Berlin"),
    fc.constantFrom(["DAYS(7)", 7 * 24] as const, ["HOURS(5)", 5] as const, ["WEEKS(1)", 7 * 24] as const),
    fc.constantFrom("HOUR", "MINUTES(15)", "HOUR, source"),
    async ({ events, tz, range: [from, to] }, [step, hours], by) => {
      const query = `GET events GROUPBY ${by} COLUMNS(COUNT, MIN(value))`;
      const compared = await answer(`${query} OCCURS(${from}, ${to}) COMPARE(${step})`, events, tz);
      const earlier = await answer(`${query} OCCURS(${from} - ${step}, ${to} - ${step})`, events, tz);
      for (const { keys, previous } of compared) {
        const before = [Number(keys[0]) - hours * 3_600_000, ...keys.slice(1)];
        const same = earlier.find((group) => JSON.stringify(group.keys) === JSON.stringify(before));
        t.deepEqual(previous, same?.values ?? [0, null]);
      }
    },
  );
  await t.notThrowsAsync(fc.assert(property, { numRuns: 200 }));
});

test("FILL keeps the present groups unchanged and leaves no gap", async (t) => {
  const property = fc.asyncProperty(
    asked,
    fc.constantFrom<readonly [string, number]>(
      ["HOUR", 3_600_000],
      ["MINUTES(30)", 1_800_000],
      ["DAY", 86_400_000],
      ["WEEK", 7 * 86_400_000],
    ),
    async ({ events, tz, range: [from, to] }, [by, length_ms]) => {
      const query = `GET events GROUPBY ${by} OCCURS(${from}, ${to}) COLUMNS(${AGGREGATES})`;
      const plain = await answer(query, events, tz);
      const filled = await answer(`${query} FILL`, events, tz);
      t.deepEqual(
        filled.filter(({ values }) => Number(values[0]) > 0),
        plain,
      );
      const keys = filled.map((group) => Number(group.keys[0]));
      // A clock change skips an hour, or repeats it with slightly larger keys.
      const gaps = keys.slice(1).map((key, i) => key - keys[i]!);
      t.true(gaps.every((gap) => gap <= length_ms + 3_600_000));
      t.true(keys.length > 0 && new Set(keys).size === keys.length);
    },
  );
  await t.notThrowsAsync(fc.assert(property, { numRuns: 200 }));
});
