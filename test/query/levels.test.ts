import test from "ava";

import type { LogKey, StoredEvent } from "../../src/events/event.ts";
import { LEVELS } from "../../src/events/level.ts";
import { planFilters } from "../../src/query/filters.ts";
import type { ListPlan } from "../../src/query/plan.ts";
import { planQuery } from "../../src/query/planner.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { holds } from "../reference/evaluate.ts";

const LOG = "shop" as LogKey;
const CONTEXT = { logs: [LOG], now_ms: 0, zone: fixedZone(0) };
const plan = (text: string): ListPlan => planQuery(text, CONTEXT) as ListPlan;

/** Returns the levels of those of {@link LEVELS} that a condition holds for. */
function found(condition: string): readonly string[] {
  const { where } = plan(`GET events WHERE ${condition}`);
  return LEVELS.filter((level) => holds(where, { tags: level === "" ? ["other"] : [level] } as unknown as StoredEvent));
}

test("levels compare in their order, and none is the least", (t) => {
  t.deepEqual(found("level = 'error'"), ["error"]);
  t.deepEqual(found("level = 'ERR'"), ["error"]);
  t.deepEqual(found("level = 'fatal'"), ["fatal"]);
  t.deepEqual(found("level = ''"), [""]);
  t.deepEqual(found("level IS NULL"), [""]);
  t.deepEqual(found("level IS NOT NULL"), LEVELS.slice(1));
  t.deepEqual(found("level != 'error'"), ["", "trace", "debug", "info", "warn", "fatal"]);
  t.deepEqual(found("level >= 'warning'"), ["warn", "error", "fatal"]);
  t.deepEqual(found("level > 'warn'"), ["error", "fatal"]);
  t.deepEqual(found("level > 'fatal'"), []);
  t.deepEqual(found("level <= 'debug'"), ["", "trace", "debug"]);
  t.deepEqual(found("level < 'trace'"), [""]);
  t.deepEqual(found("level < ''"), []);
  t.deepEqual(found("level >= ''"), LEVELS);
  t.deepEqual(found("level IN ('critical', 'info', '')"), ["", "info", "fatal"]);
});

test("what is no level is refused, and the levels are listed", (t) => {
  t.throws(() => plan("GET events WHERE level = 'severe'"), { message: /not a level.*'trace'.*'notice'.*'panic'/s });
  t.throws(() => plan("GET events WHERE level = 3"), { message: /not a level/ });
  t.throws(() => plan("GET events WHERE level CONTAINS 'err'"), { message: /level is compared as a whole/ });
  t.throws(() => planQuery("GET events GROUPBY source COLUMNS(DISTINCT(level))", CONTEXT), {
    message: /cannot count the values of level/,
  });
});

test("the list parameter is equality, and names what it takes", (t) => {
  const planned = (level: string) =>
    planFilters(new URLSearchParams({ level }), { from: { kind: "events" }, logs: [LOG] }).where;
  t.deepEqual(planned("Error"), plan("GET events WHERE level = 'error'").where);
  t.deepEqual(planned(""), plan("GET events").where);
  t.throws(() => planned("severe"), { code: "bad_parameter", message: /trace, debug, info, notice, warn/ });
});
