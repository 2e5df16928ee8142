import test from "ava";

import type { LogKey } from "../../src/events/event.ts";
import { planQuery } from "../../src/query/planner.ts";
import type { Condition, GroupPlan, ListPlan, UsersPlan } from "../../src/query/plan.ts";
import type { GroupColumn, PlannedGroups, PlannedQuery } from "../../src/query/planned-query.ts";
import { EVERYTHING } from "../../src/query/plan.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { COUNT, MAX, USUAL, day as daily, hour as hourly } from "../support/groups.ts";

const SHOP = "shop" as LogKey;
/**
 * Monday, 19 September 2011, 13:00 UTC; 15:00 in the time zone of the tests, which is two hours
 * ahead.
 */
const NOW = Date.UTC(2011, 8, 19, 13);
const OFFSET_MIN = 120;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Returns midnight of a day in the time zone of the tests. */
const day = (month: number, day: number, year = 2011): number => Date.UTC(year, month - 1, day) - 2 * HOUR;

function plan(text: string): PlannedQuery {
  return planQuery(text, { logs: [SHOP], now_ms: NOW, zone: fixedZone(OFFSET_MIN) });
}

const LIST: ListPlan = {
  kind: "list",
  from: { kind: "events" },
  logs: [SHOP],
  where: EVERYTHING,
  sort: [],
  skip: 0,
  take: 100,
  columns: null,
};
const GROUP: GroupPlan = {
  kind: "group",
  from: { kind: "events" },
  logs: [SHOP],
  where: EVERYTHING,
  by: [daily(fixedZone(OFFSET_MIN))],
  aggregates: USUAL,
  having: null,
  sort: { by: "key", direction: "asc" },
  skip: 0,
  take: null,
};
const COLUMNS: readonly GroupColumn[] = [
  { name: "key", shows: "key" },
  { name: "count", shows: 0 },
  { name: "avg", shows: 1 },
  { name: "sum", shows: 2 },
  { name: "min", shows: 3 },
  { name: "max", shows: 4 },
];
function groups(changes: Partial<GroupPlan> = {}, columns = COLUMNS): PlannedGroups {
  const plan = { ...GROUP, ...changes };
  const zone = fixedZone(OFFSET_MIN);
  return { kind: "groups", plan, rates: [], fill: null, after: null, compare: null, columns, now_ms: NOW, zone };
}
const USERS: UsersPlan = {
  kind: "users",
  logs: [SHOP],
  where: EVERYTHING,
  sort: [
    { field: "created", direction: "asc" },
    { field: "user", direction: "asc" },
  ],
  skip: 0,
  take: 100,
  columns: null,
};

const PLANS: readonly (readonly [string, PlannedQuery])[] = [
  ["GET events", LIST],
  ["get Events", LIST],
  ["GET events // all of them", LIST],
  ["GET events TAKE 500 SKIP 7", { ...LIST, take: 500, skip: 7 }],
  ["GET events SORT value DESC", { ...LIST, sort: [{ field: "value", direction: "desc" }] }],
  ["GET events SORT filter", { ...LIST, sort: [{ field: "class", direction: "asc" }] }],
  ["GET events SORT created asc", { ...LIST, sort: [{ field: "created", direction: "asc" }] }],
  ["GET events COLUMNS(text, TAG, created, text)", { ...LIST, columns: ["created", "text", "tags"] }],
  ["GET events COLUMNS(filter)", { ...LIST, columns: ["filter"] }],
  ["GET events.Bad-Event", { ...LIST, where: { kind: "text", field: "class", op: "=", value: "bad-event" } }],
  ["GET events.404 TAKE 1", { ...LIST, take: 1, where: { kind: "text", field: "class", op: "=", value: "404" } }],
  ["GET events GROUPBY DAY", groups()],
  ["GET events group by day", groups()],
  ["GET events GROUPBY HOUR TAKE 24 SKIP 1", groups({ by: [hourly(fixedZone(OFFSET_MIN))], take: 24, skip: 1 })],
  ["GET events GROUPBY tag", groups({ by: [{ kind: "field", field: "tags" }] })],
  ["GET events GROUPBY filter", groups({ by: [{ kind: "field", field: "class" }] })],
  [
    "GET events GROUPBY value SORT count DESC",
    groups({ by: [{ kind: "field", field: "value" }], sort: { by: COUNT, direction: "desc" } }),
  ],
  [
    "GET events COLUMNS(max, Count, KEY) GROUPBY DAY",
    groups({ aggregates: [USUAL[MAX]!, USUAL[COUNT]!] }, [
      { name: "key", shows: "key" },
      { name: "count", shows: 1 },
      { name: "max", shows: 0 },
    ]),
  ],
  ["GET events SORT @Took DESC", { ...LIST, sort: [{ field: "@Took", direction: "desc" }] }],
  [
    "GET events COLUMNS(attributes, @b, pattern, @a, text)",
    { ...LIST, columns: ["text", "pattern", "@b", "@a", "attributes"] },
  ],
  [
    "GET events GROUPBY MINUTES(15), @'odd name', BANDS(@took, 0, 1e3) COLUMNS(KEY)",
    groups(
      {
        by: [
          { kind: "period", unit: "minutes", count: 15, zone: fixedZone(OFFSET_MIN) },
          { kind: "field", field: "@odd name" },
          { kind: "bands", of: "@took", bounds: [0, 1000] },
        ],
        aggregates: [],
      },
      [{ name: "key", shows: "key" }],
    ),
  ],
  [
    "GET events GROUP BY WEEK COLUMNS(P99.9( @Took ) , median(value), COUNT(text = 'a B'), FIRST(created) AS Since, COUNT)",
    groups(
      {
        by: [{ kind: "period", unit: "weeks", count: 1, zone: fixedZone(OFFSET_MIN) }],
        aggregates: [
          { kind: "percentile", of: "@Took", percent: 99.9 },
          { kind: "percentile", of: "value", percent: 50 },
          { kind: "count", where: { kind: "text", field: "text", op: "=", value: "a b" } },
          { kind: "first", field: "created" },
          { kind: "count", where: null },
        ],
      },
      [
        { name: "count", shows: 4 },
        { name: "p99.9(@took)", shows: 0 },
        { name: "median(value)", shows: 1 },
        { name: "count(text='ab')", shows: 2 },
        { name: "Since", shows: 3 },
      ],
    ),
  ],
  ["GET events COLUMNS(COUNT)", groups({ by: [], aggregates: [USUAL[COUNT]!] }, [COLUMNS[1]!])],
  [
    "GET events GROUPBY source HAVING COUNT > 3 AND NOT p95(@took) >= 800 SORT p95(@took) DESC COLUMNS(KEY, COUNT)",
    groups(
      {
        by: [{ kind: "field", field: "source" }],
        aggregates: [USUAL[COUNT]!, { kind: "percentile", of: "@took", percent: 95 }],
        having: {
          kind: "and",
          conditions: [
            { kind: "compare", aggregate: 0, op: ">", value: 3 },
            { kind: "not", condition: { kind: "compare", aggregate: 1, op: ">=", value: 800 } },
          ],
        },
        sort: { by: 1, direction: "desc" },
      },
      [COLUMNS[0]!, COLUMNS[1]!],
    ),
  ],
  [
    "GET events GROUPBY HOUR FILL COMPARE(DAYS(7)) HAVING n = 0 TAKE 3 SORT RATE(MINUTES(1)) COLUMNS(KEY, COUNT AS n, RATE(MINUTES(1)))",
    {
      ...groups({ by: [hourly(fixedZone(OFFSET_MIN))], aggregates: [USUAL[COUNT]!] }, [
        COLUMNS[0]!,
        { name: "n", shows: 0 },
        { name: "rate(minutes(1))", shows: 1 },
      ]),
      rates: [{ of: 0, per_ms: 60_000 }],
      fill: 0,
      compare: { unit: "DAYS", count: 7 },
      after: {
        having: { kind: "compare", aggregate: 0, op: "=", value: 0 },
        sort: { by: 1, direction: "asc" },
        skip: 0,
        take: 3,
      },
    },
  ],
  ["GET users", USERS],
  [
    "GET users SORT user DESC COLUMNS(count, user)",
    { ...USERS, sort: [{ field: "user", direction: "desc" }], columns: ["user", "count"] },
  ],
  [
    "GET users SORT seen DESC TAKE 5",
    {
      ...USERS,
      take: 5,
      sort: [
        { field: "seen", direction: "desc" },
        { field: "user", direction: "desc" },
      ],
    },
  ],
  ["GET users WHERE count > 3", { ...USERS, where: { kind: "number", field: "count", op: ">", value: 3 } }],
  ["GET users seen OCCURS(TODAY)", { ...USERS, where: between(day(9, 19), day(9, 20), "seen") as UsersPlan["where"] }],
  ["GET users OCCURS(NOW)", { ...USERS, where: { kind: "number", field: "created", op: ">=", value: NOW } }],
];

test("queries become plans", (t) => {
  for (const [text, expected] of PLANS) t.deepEqual(plan(text), expected, text);
});

test("plans are frozen and survive JSON", (t) => {
  const made = plan("GET events.x WHERE NOT (tag IN ('a') OR value = 1) GROUPBY DAY COLUMNS(key)") as PlannedGroups;
  t.deepEqual(JSON.parse(JSON.stringify(made)), made);
  t.true(
    Object.isFrozen(made) &&
      Object.isFrozen(made.plan.where) &&
      Object.isFrozen(made.plan.logs) &&
      Object.isFrozen(made.columns),
  );
});

function between(from: number, to: number, field = "created"): unknown {
  return {
    kind: "and",
    conditions: [
      { kind: "number", field, op: ">=", value: from },
      { kind: "number", field, op: "<", value: to },
    ],
  };
}

const from = (value: number): unknown => ({ kind: "number", field: "created", op: ">=", value });

const OCCURS: readonly (readonly [string, unknown])[] = [
  ["TODAY", between(day(9, 19), day(9, 20))],
  ["9/19/2011", between(day(9, 19), day(9, 20))],
  ["2011-09-19", between(day(9, 19), day(9, 20))],
  ["'2011-09-19'", between(day(9, 19), day(9, 20))],
  ["NOW", from(NOW)],
  ["TODAY - DAYS(1)", from(day(9, 18))],
  ["9/19/2011+HOURS(1)", from(day(9, 19) + HOUR)],
  ["TODAY + DAYS(0)", from(day(9, 19))],
  ["'2011-09-19T10:00'", from(day(9, 19) + 10 * HOUR)],
  ["2011-09-19T10:00Z", from(Date.UTC(2011, 8, 19, 10))],
  ["TODAY, NOW", between(day(9, 19), NOW)],
  ["9/1/2011, 10/1/2011", between(day(9, 1), day(10, 1))],
  ["NOW - MINUTES(90), NOW - WEEKS(2)", between(NOW - 1.5 * HOUR, NOW - 14 * DAY)],
  ["1/31/2011 + MONTHS(1), 1/31/2011 + MONTHS(1) + DAYS(1)", between(day(2, 28), day(3, 1))],
  ["3/31/2012 - MONTHS(1), 10/31/2011 + MONTHS(4)", between(day(2, 29, 2012), day(2, 29, 2012))],
  ["5/15/2011 - MONTHS(17), 5/15/2011 + MONTHS(8)", between(day(12, 15, 2009), day(1, 15, 2012))],
];

test("OCCURS takes a day, a start, or a start and an end", (t) => {
  for (const [when, expected] of OCCURS) {
    t.deepEqual((plan(`GET events OCCURS(${when})`) as ListPlan).where, expected, when);
    t.deepEqual((plan(`GET events created OCCURS(${when})`) as ListPlan).where, expected, when);
  }
});

const CONDITIONS: readonly (readonly [string, Condition])[] = [
  ["@status = 500", { kind: "number", field: "@status", op: "=", value: 500 }],
  ["@status = '007'", { kind: "number", field: "@status", op: "=", value: 7 }],
  ["@Status = 'OK'", { kind: "text", field: "@Status", op: "=", value: "ok" }],
  ["@a.b-c != ''", { kind: "not", condition: { kind: "text", field: "@a.b-c", op: "=", value: "" } }],
  ["@ok = TRUE", { kind: "text", field: "@ok", op: "=", value: "true" }],
  ["@id = '12345678901234567890'", { kind: "text", field: "@id", op: "=", value: "12345678901234567890" }],
  ["@took >= 2.5", { kind: "number", field: "@took", op: ">=", value: 2.5 }],
  ["@took < '10'", { kind: "text", field: "@took", op: "<", value: "10" }],
  ["@'odd name' IN ('A', 'b')", { kind: "in", field: "@odd name", values: ["a", "b"] }],
  [
    "@s IN ('A', 500, '5')",
    {
      kind: "or",
      conditions: [
        { kind: "number", field: "@s", op: "=", value: 500 },
        { kind: "number", field: "@s", op: "=", value: 5 },
        { kind: "in", field: "@s", values: ["a"] },
      ],
    },
  ],
  ['@"it""s" CONTAINS \'x\'', { kind: "contains", field: '@it"s', value: "x" }],
  ["@s NOT MATCHES '^4'", { kind: "not", condition: { kind: "matches", field: "@s", pattern: "^4" } }],
  ["@s IS NULL", { kind: "absent", field: "@s" }],
  ["pattern = '<N> FAILED'", { kind: "text", field: "pattern", op: "=", value: "<n> failed" }],
  ["geo WITHIN (-10, 170, 10.5, -170)", { kind: "geo-within", south: -10, west: 170, north: 10.5, east: -170 }],
  ["geo NOT NEAR (52.5, 13.4, 25)", { kind: "not", condition: { kind: "geo-near", lat: 52.5, lon: 13.4, km: 25 } }],
  ["geo NEAR (90, 180, 1e308)", { kind: "geo-near", lat: 90, lon: 180, km: 20_100 }],
  ["source = 'Straße ΣΑΣ'", { kind: "text", field: "source", op: "=", value: "straße σασ" }],
  ["source = ''", { kind: "text", field: "source", op: "=", value: "" }],
  ["source != 'a'", { kind: "not", condition: { kind: "text", field: "source", op: "=", value: "a" } }],
  ["source <> 'a'", { kind: "not", condition: { kind: "text", field: "source", op: "=", value: "a" } }],
  ["text <= 'M'", { kind: "text", field: "text", op: "<=", value: "m" }],
  ["filter = 'x'", { kind: "text", field: "class", op: "=", value: "x" }],
  ["tag > 'a'", { kind: "text", field: "tags", op: ">", value: "a" }],
  ["log = 'Shop'", { kind: "text", field: "log", op: "=", value: "shop" }],
  ["id < '4E'", { kind: "text", field: "id", op: "<", value: "4e" }],
  ["hash = 'Q2=='", { kind: "text", field: "hash", op: "=", value: "q2==" }],
  ["value = -4.50", { kind: "number", field: "value", op: "=", value: -4.5 }],
  ["value >= +.5", { kind: "number", field: "value", op: ">=", value: 0.5 }],
  ["value != 1e3", { kind: "not", condition: { kind: "number", field: "value", op: "=", value: 1000 } }],
  ["value IN (1)", { kind: "or", conditions: [{ kind: "number", field: "value", op: "=", value: 1 }] }],
  ["user IN ('Ann', \"BOB\")", { kind: "in", field: "user", values: ["ann", "bob"] }],
  ["user NOT IN ('a')", { kind: "not", condition: { kind: "in", field: "user", values: ["a"] } }],
  ["text CONTAINS 'Disk (1)'", { kind: "contains", field: "text", value: "Disk (1)" }],
  ["text NOT CONTAINS 'a'", { kind: "not", condition: { kind: "contains", field: "text", value: "a" } }],
  ["link MATCHES '^http'", { kind: "matches", field: "link", pattern: "^http" }],
  ["text MATCHES 'disk'", { kind: "contains", field: "text", value: "disk" }],
  ["text MATCHES ''", { kind: "matches", field: "text", pattern: "" }],
  ["text MATCHES '(?<n>a)'", { kind: "matches", field: "text", pattern: "(?<n>a)" }],
  ["geo IS NULL", { kind: "absent", field: "geo" }],
  ["data IS NOT NULL", { kind: "not", condition: { kind: "absent", field: "data" } }],
  ["data CONTAINS 'Pool x'", { kind: "contains", field: "data", value: "Pool x" }],
  ["DATA NOT CONTAINS 'a'", { kind: "not", condition: { kind: "contains", field: "data", value: "a" } }],
  ["data MATCHES 'a+$'", { kind: "matches", field: "data", pattern: "a+$" }],
  ["data MATCHES 'pool'", { kind: "contains", field: "data", value: "pool" }],
  ["tag IS NULL", { kind: "absent", field: "tags" }],
  ["created = 9/19/2011", between(day(9, 19), day(9, 20)) as Condition],
  ["created = TODAY", between(day(9, 19), day(9, 20)) as Condition],
  ["created != '2011-09-19'", { kind: "not", condition: between(day(9, 19), day(9, 20)) as Condition }],
  [
    "created IN (9/19/2011, NOW)",
    {
      kind: "or",
      conditions: [
        between(day(9, 19), day(9, 20)) as Condition,
        { kind: "number", field: "created", op: "=", value: NOW },
      ],
    },
  ],
  ["created < 9/19/2011", { kind: "number", field: "created", op: "<", value: day(9, 19) }],
  ["created <= 9/19/2011", { kind: "number", field: "created", op: "<=", value: day(9, 19) }],
  ["created > 9/19/2011", { kind: "number", field: "created", op: ">", value: day(9, 19) }],
  ["created >= TODAY - HOURS(1)", { kind: "number", field: "created", op: ">=", value: day(9, 19) - HOUR }],
  [
    "created >= '9/19/2011 9:30' + MINUTES(5)",
    { kind: "number", field: "created", op: ">=", value: day(9, 19) + 9 * HOUR + 35 * 60_000 },
  ],
  [
    "created = '2011-09-19T10:00:00.250+05:30'",
    { kind: "number", field: "created", op: "=", value: Date.UTC(2011, 8, 19, 4, 30, 0, 250) },
  ],
  ["created >= 1308491673911", { kind: "number", field: "created", op: ">=", value: 1308491673911 }],
];

test("comparisons become conditions", (t) => {
  for (const [text, expected] of CONDITIONS)
    t.deepEqual((plan(`GET events WHERE ${text}`) as ListPlan).where, expected, text);
});

const isUser = (value: string): unknown => ({ kind: "text", field: "user", op: "=", value });

test("the conditions of class, WHERE and OCCURS are all required", (t) => {
  const { where } = plan("GET events.a OCCURS(NOW) WHERE user = 'u' OR user = 'v'") as ListPlan;
  const conditions = [
    { kind: "text", field: "class", op: "=", value: "a" },
    { kind: "or", conditions: [isUser("u"), isUser("v")] },
    from(NOW),
  ];
  t.deepEqual(where, { kind: "and", conditions } as unknown as Condition);
});

test("lone surrogates become the character that the stores keep", (t) => {
  t.deepEqual((plan("GET events WHERE user = '\ud800'") as ListPlan).where, {
    kind: "text",
    field: "user",
    op: "=",
    value: "\ufffd",
  });
});

test("the number of groups of several BANDS is limited in total", (t) => {
  const bands = (of: string, count: number): string =>
    `BANDS(${of}, ${Array.from({ length: count }, (_, i) => i).join(", ")})`;
  t.notThrows(() => plan(`GET events GROUPBY ${bands("@a", 100)}, ${bands("@b", 100)}, source`));
  t.throws(() => plan(`GET events GROUPBY ${bands("@a", 100)}, ${bands("@b", 51)}, ${bands("value", 2)}`), {
    message: /^Line 1, column 626: the bounds of several BANDS have at most 10,000 combinations\.\n/,
  });
});

test("the cost of all expressions in a query is limited in total, wherever they are", (t) => {
  const large = "a[ab]{990}c";
  const refusal = { code: "bad_query", message: /with the expressions before it, it is too large/ };
  const asked = (count: number): string => Array.from({ length: count }, () => `text MATCHES '${large}'`).join(" OR ");
  t.notThrows(() => plan(`GET events WHERE ${asked(4)}`));
  t.throws(() => plan(`GET events WHERE ${asked(5)}`), refusal);
  t.throws(() => plan(`GET users WHERE ${asked(5).replaceAll("text", "user")}`), refusal);
  t.throws(() => plan(`GET events WHERE ${asked(3)} GROUPBY source COLUMNS(KEY, COUNT(${asked(2)}))`), refusal);
  t.notThrows(() => plan(`GET events WHERE ${"text MATCHES 'one plain text' OR ".repeat(100)} text MATCHES 'a+'`));
});
