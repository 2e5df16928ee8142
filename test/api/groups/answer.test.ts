import test from "ava";

import type { LogKey, StoredEvent } from "../../../src/events/event.ts";
import { LoggiaError } from "../../../src/errors.ts";
import { answerGroups } from "../../../src/api/groups/answer.ts";
import { showGroups } from "../../../src/api/groups/view.ts";
import { writeLong } from "../../../src/http/streamed-list.ts";
import { planQuery } from "../../../src/query/planner.ts";
import type { PlannedGroups } from "../../../src/query/planned-query.ts";
import { parseZone } from "../../../src/query/zone.ts";
import { event } from "../../contract/store-fixture.ts";
import { evaluateGroup } from "../../reference/groups.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const scheduler = new Scheduler();

const SHOP = "shop" as LogKey;
/** Monday. */
const NOW = Date.parse("2026-11-23T12:00Z");

type Given = readonly [created: string, fields?: Partial<StoredEvent>];

function eventsOf(given: readonly Given[]): StoredEvent[] {
  return given.map(([created, fields]) => event(SHOP, { created: Date.parse(created), ...fields }));
}

function ask(query: string, tz = "UTC"): PlannedGroups {
  const question = planQuery(query, { logs: [SHOP], now_ms: NOW, zone: parseZone(tz) });
  if (question.kind !== "groups") throw new Error(`${query} asks for no groups`);
  return question;
}

async function answer(query: string, given: readonly Given[], tz?: string): Promise<unknown> {
  const question = ask(query, tz);
  const events = eventsOf(given);
  const found = await answerGroups(
    { group: async (plan) => evaluateGroup(plan, events) },
    question,
    scheduler.querying,
  );
  const { payload } = await writeLong({ kind: "json" }, showGroups(found, question), () => true, scheduler);
  return JSON.parse(String(payload));
}

const took = (ms: number | string): Partial<StoredEvent> => ({ attributes: JSON.stringify({ took: ms }) });

test("one key is shown as before; several also as a list, wherever KEY is", async (t) => {
  const given: Given[] = [
    ["2026-11-23T10:10Z", { source: "a", value: 2 }],
    ["2026-11-23T10:40Z", { source: "b" }],
  ];
  t.deepEqual(await answer("GET events GROUPBY HOUR", given), [
    { key: "11/23/2026 10:00", count: "2", avg: "2", sum: "2", min: "2", max: "2" },
  ]);
  t.deepEqual(await answer("GET events GROUPBY HOUR, source COLUMNS(COUNT, KEY)", given), [
    { key: "11/23/2026 10:00", keys: ["11/23/2026 10:00", "a"], count: "1" },
    { key: "11/23/2026 10:00", keys: ["11/23/2026 10:00", "b"], count: "1" },
  ]);
  t.deepEqual(await answer("GET events GROUPBY source, user COLUMNS(COUNT) TAKE 1", given), [{ count: "1" }]);
  t.deepEqual(await answer("GET events COLUMNS(COUNT)", given), [{ count: "2" }]);
  t.deepEqual(await answer("GET events COLUMNS(KEY, COUNT)", []), [{ key: "", count: "0" }]);
});

test("columns are named as written, in lower case without blanks, or by AS", async (t) => {
  const given: Given[] = [
    ["2026-11-23T10:10Z", { source: "A", ...took(10) }],
    ["2026-11-23T10:40Z", { source: "b", ...took("30") }],
    ["2026-11-23T10:50Z", took("slow")],
  ];
  const query = `GET events COLUMNS(AVG( @took ), P50(@took), COUNT( text CONTAINS 'Some Thing' ), COUNT,
    DISTINCT(source), FIRST(created) AS Since, LAST(source), MAX(@none))`;
  t.deepEqual(await answer(query, given), [
    {
      count: "3",
      "avg(@took)": "20",
      "p50(@took)": "10",
      "count(textcontains'something')": "0",
      "distinct(source)": "2",
      Since: "2026-11-23T10:10:00.000Z",
      "last(source)": "b",
      "max(@none)": "0",
    },
  ]);
  t.deepEqual(await answer("GET events COLUMNS(COUNT AS __proto__)", given), JSON.parse('[{"__proto__":"3"}]'));
});

test("bands are shown by their bounds, and the group without a number by an empty key", async (t) => {
  const given = [-1, 0, 9, 10.5, 100].map((ms): Given => ["2026-11-23T10:10Z", took(ms)]);
  t.deepEqual(
    await answer("GET events GROUPBY BANDS(@took, 0, 10.5) COLUMNS(KEY, COUNT)", [...given, ["2026-11-23"]]),
    [
      { key: "", count: "1" },
      { key: "..0", count: "1" },
      { key: "0..10.5", count: "2" },
      { key: "10.5..", count: "2" },
    ],
  );
});

test("groups of time follow the calendar, also across a change of daylight saving time", async (t) => {
  const given: Given[] = [
    ["2026-10-24T21:59Z"],
    ["2026-10-25T00:10Z"],
    ["2026-10-25T01:10Z"],
    ["2026-10-25T22:59Z"],
    ["2026-10-31T23:00Z"],
  ];
  const keys = async (by: string): Promise<unknown> =>
    ((await answer(`GET events GROUPBY ${by}`, given, "Europe/Berlin")) as { key: string; count: string }[]).map(
      ({ key, count }) => `${key}: ${count}`,
    );
  t.deepEqual(await keys("MINUTES(30)"), [
    "10/24/2026 23:30: 1",
    "10/25/2026 02:00: 1",
    "10/25/2026 02:00 +01:00: 1",
    "10/25/2026 23:30: 1",
    "11/1/2026 00:00: 1",
  ]);
  t.deepEqual(await keys("HOURS(12)"), [
    "10/24/2026 12:00: 1",
    "10/25/2026 00:00: 2",
    "10/25/2026 12:00: 1",
    "11/1/2026 00:00: 1",
  ]);
  t.deepEqual(await keys("WEEK"), ["10/19/2026: 4", "10/26/2026: 1"]);
  t.deepEqual(await keys("MONTH"), ["10/2026: 4", "11/2026: 1"]);
  t.deepEqual(await keys("DAYS(7)"), ["10/22/2026: 4", "10/29/2026: 1"]);
});

test("FILL adds the groups of time without events, for each combination of the other keys", async (t) => {
  const given: Given[] = [
    ["2026-11-23T09:10Z", { source: "a" }],
    ["2026-11-23T11:10Z", { source: "b" }],
  ];
  const query = (rest: string): string => `GET events GROUPBY ${rest} FILL COLUMNS(KEY, COUNT)`;
  t.deepEqual(await answer(query("HOUR"), given), [
    { key: "11/23/2026 09:00", count: "1" },
    { key: "11/23/2026 10:00", count: "0" },
    { key: "11/23/2026 11:00", count: "1" },
  ]);
  t.deepEqual(await answer(query("HOUR, source"), given), [
    { key: "11/23/2026 09:00", keys: ["11/23/2026 09:00", "a"], count: "1" },
    { key: "11/23/2026 09:00", keys: ["11/23/2026 09:00", "b"], count: "0" },
    { key: "11/23/2026 10:00", keys: ["11/23/2026 10:00", "a"], count: "0" },
    { key: "11/23/2026 10:00", keys: ["11/23/2026 10:00", "b"], count: "0" },
    { key: "11/23/2026 11:00", keys: ["11/23/2026 11:00", "a"], count: "0" },
    { key: "11/23/2026 11:00", keys: ["11/23/2026 11:00", "b"], count: "1" },
  ]);
  const range = "HOUR OCCURS('2026-11-23 08:00', '2026-11-23 10:00')";
  t.deepEqual(await answer(query(range), given), [
    { key: "11/23/2026 08:00", count: "0" },
    { key: "11/23/2026 09:00", count: "1" },
  ]);
  const silent = "HOUR OCCURS(NOW - HOURS(3)) HAVING COUNT = 0 SORT KEY DESC TAKE 2";
  t.deepEqual(await answer(query(silent), given), [
    { key: "11/23/2026 12:00", count: "0" },
    { key: "11/23/2026 10:00", count: "0" },
  ]);
  t.deepEqual(await answer(query("MONTH OCCURS(9/15/2026, 11/1/2026)"), []), [
    { key: "9/2026", count: "0" },
    { key: "10/2026", count: "0" },
  ]);
  t.deepEqual(await answer(query("HOUR"), []), []);
  await t.throwsAsync(answer(query("MINUTES(1) OCCURS(1/1/2020, NOW)"), given), {
    instanceOf: LoggiaError,
    message: /^FILL makes more than 100000 groups: select less time with OCCURS, longer groups such as DAY,/,
  });
  const sources = Array.from({ length: 400 }, (_, i): Given => ["2026-11-23T09:10Z", { source: `s${i}` }]);
  await t.throwsAsync(answer(query("MINUTES(1), source OCCURS(TODAY) TAKE 5"), sources), {
    instanceOf: LoggiaError,
    message: /or fewer values of the other keys with WHERE$/,
  });
});

test("FILL handles hours that a clock change skips or repeats", async (t) => {
  const keys = async (range: string): Promise<string[]> => {
    const found = await answer(`GET events GROUPBY HOUR FILL OCCURS(${range})`, [], "Europe/Berlin");
    return (found as { key: string }[]).map(({ key }) => key.replace(/^\S+ /, ""));
  };
  t.deepEqual(await keys("'2026-03-29 00:00', '2026-03-29 05:00'"), ["00:00", "01:00", "03:00", "04:00"]);
  t.deepEqual(await keys("'2026-10-25 01:00', '2026-10-25 04:00'"), ["01:00", "02:00", "02:00 +01:00", "03:00"]);
  const days = await answer("GET events GROUPBY DAY FILL OCCURS(10/24/2026, 10/27/2026)", [], "Europe/Berlin");
  t.is((days as unknown[]).length, 3);
});

test("RATE is the count per step, over the length of a group of time or of the range", async (t) => {
  const given: Given[] = Array.from({ length: 30 }, () => ["2026-11-23T10:10Z"]);
  t.deepEqual(await answer("GET events GROUPBY HOUR COLUMNS(KEY, RATE(MINUTES(1)))", given), [
    { key: "11/23/2026 10:00", "rate(minutes(1))": "0.5" },
  ]);
  t.deepEqual(await answer("GET events OCCURS(NOW - HOURS(2)) COLUMNS(RATE(HOURS(1)) AS hourly)", given), [
    { hourly: "15" },
  ]);
  const quiet: Given[] = [["2026-10-25T10:10Z"], ["2026-10-26T10:10Z"]];
  // The first of the days has 25 hours.
  t.deepEqual(await answer("GET events GROUPBY DAY COLUMNS(RATE(DAYS(1)) AS r, KEY) SORT r", quiet, "Europe/Berlin"), [
    { key: "10/25/2026", r: "0.96" },
    { key: "10/26/2026", r: "1" },
  ]);
  t.deepEqual(await answer("GET events GROUPBY HOUR COLUMNS(KEY) HAVING RATE(MINUTES(1)) > 0.5", given), []);
});

test("COMPARE shows beside each group the same group of an earlier time", async (t) => {
  const given: Given[] = [
    ["2026-11-15T10:00Z", { source: "a" }],
    ["2026-11-16T09:10Z", { source: "a", value: 4 }],
    ["2026-11-16T13:10Z", { source: "gone" }],
    ["2026-11-23T09:20Z", { source: "a", value: 6 }],
    ["2026-11-23T10:20Z", { source: "b" }],
  ];
  const bySource = await answer(
    "GET events OCCURS(TODAY) GROUPBY source COMPARE(DAYS(7)) COLUMNS(KEY, COUNT, AVG)",
    given,
  );
  t.deepEqual(bySource, [
    { key: "a", count: "1", avg: "6", previous: { count: "1", avg: "4" } },
    { key: "b", count: "1", avg: "0", previous: { count: "0", avg: "0" } },
  ]);
  const hourly = "GET events OCCURS(NOW - HOURS(3)) GROUPBY HOUR FILL COMPARE(WEEKS(1)) COLUMNS(KEY, COUNT)";
  t.deepEqual(await answer(hourly, given), [
    { key: "11/23/2026 09:00", count: "1", previous: { count: "1" } },
    { key: "11/23/2026 10:00", count: "1", previous: { count: "0" } },
    { key: "11/23/2026 11:00", count: "0", previous: { count: "0" } },
    { key: "11/23/2026 12:00", count: "0", previous: { count: "0" } },
  ]);
  t.deepEqual(await answer("GET events COLUMNS(COUNT) OCCURS(TODAY) COMPARE(DAYS(7))", given), [
    { count: "2", previous: { count: "2" } },
  ]);
});

test("COMPARE moves by the calendar, with longer days and months of any length", async (t) => {
  const given: Given[] = [
    ["2026-10-18T22:30Z"],
    ["2026-10-25T22:30Z"],
    ["2026-02-28T12:00Z"],
    ["2026-03-28T12:00Z"],
    ["2026-03-31T12:00Z"],
  ];
  const daily = "GET events OCCURS(10/25/2026) GROUPBY HOUR COMPARE(DAYS(7)) COLUMNS(KEY, COUNT)";
  // In Berlin it is 23:30 now, and 00:30 of the next day a week before.
  t.deepEqual(await answer(daily, given, "Europe/Berlin"), [
    { key: "10/25/2026 23:00", count: "1", previous: { count: "0" } },
  ]);
  const monthly = "GET events OCCURS(3/1/2026, 4/1/2026) GROUPBY MONTH COMPARE(MONTHS(1)) COLUMNS(KEY, COUNT)";
  t.deepEqual(await answer(monthly, given), [{ key: "3/2026", count: "2", previous: { count: "1" } }]);
  const days = "GET events OCCURS(3/1/2026, 4/1/2026) GROUPBY DAY COMPARE(MONTHS(1)) COLUMNS(KEY, COUNT)";
  t.deepEqual(await answer(days, given), [
    { key: "3/28/2026", count: "1", previous: { count: "1" } },
    { key: "3/31/2026", count: "1", previous: { count: "1" } },
  ]);
});

test("COMPARE selects the earlier groups by the keys of the present ones", async (t) => {
  const sources = ["Web-1", ""];
  const given = sources.flatMap((source): Given[] => [
    ["2026-11-16T09:10Z", { source }],
    ["2026-11-23T09:10Z", { source }],
  ]);
  const plans: unknown[] = [];
  const question = ask("GET events OCCURS(TODAY) GROUPBY source SORT COUNT DESC TAKE 5 COMPARE(DAYS(7))");
  const events = eventsOf(given);
  const group = async (plan: PlannedGroups["plan"]): Promise<ReturnType<typeof evaluateGroup>> => {
    plans.push(plan);
    return evaluateGroup(plan, events);
  };
  const found = await answerGroups({ group }, question, scheduler.querying);
  t.deepEqual(
    found.map(({ keys, values, previous }) => [keys[0], values[0], previous?.[0]]),
    [
      ["", 1, 1],
      ["Web-1", 1, 1],
    ],
  );
  t.true(JSON.stringify(plans[1]).includes('{"kind":"in","field":"source","values":["","web-1"]}'));
});

test("XML lists keys as elements, with an attribute for a name that is not a valid element name", async (t) => {
  const question = ask("GET events GROUPBY source, user COLUMNS(KEY, COUNT, AVG(@took), COUNT AS _) COMPARE(DAYS(1))");
  const events = eventsOf([["2026-11-23T10:10Z", { source: "<a>", ...took(2) }]]);
  const found = await answerGroups(
    { group: async (plan) => evaluateGroup(plan, events) },
    question,
    scheduler.querying,
  );
  const { payload } = await writeLong({ kind: "xml" }, showGroups(found, question), () => true, scheduler);
  t.is(
    String(payload),
    '<?xml version="1.0" encoding="utf-8"?><results><aggregate><key>&lt;a&gt;</key>' +
      "<keys><key>&lt;a&gt;</key><key/></keys><count>1</count>" +
      '<previous><count>0</count><column name="avg(@took)">0</column><column name="_">0</column></previous>' +
      '<column name="avg(@took)">2</column><column name="_">1</column></aggregate></results>',
  );
});
