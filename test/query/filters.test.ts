import test from "ava";
import * as fc from "fast-check";

import { LoggiaError } from "../../src/errors.ts";
import type { LogKey, UserId } from "../../src/events/event.ts";
import { planFilters } from "../../src/query/filters.ts";
import type { Condition, ListPlan } from "../../src/query/plan.ts";
import { EVERYTHING } from "../../src/query/plan.ts";

const LOGS = ["shop" as LogKey];
const LIST: ListPlan = {
  kind: "list",
  from: { kind: "events" },
  logs: LOGS,
  where: EVERYTHING,
  sort: [],
  skip: 0,
  take: 100,
  columns: null,
};
const ID = "4dfdff2400000000deadbeef";

function plan(query: string): ListPlan {
  return planFilters(new URLSearchParams(query), { from: { kind: "events" }, logs: LOGS });
}

const where = (condition: unknown): ListPlan => ({ ...LIST, where: condition as Condition });
const text = (field: string, value: string): unknown => ({ kind: "text", field, op: "=", value });
const created = (op: string, value: number): unknown => ({ kind: "number", field: "created", op, value });
const and = (...conditions: unknown[]): unknown => ({ kind: "and", conditions });

const PLANS: readonly (readonly [string, ListPlan])[] = [
  ["", LIST],
  ["utm_source=x&fmt=json&PageSize=0", LIST],
  ["pagenum=3&pagesize=50", { ...LIST, skip: 100, take: 50 }],
  ["pagenum=1000&pagesize=500", { ...LIST, skip: 499_500, take: 500 }],
  ["pagenum=2000000&pagesize=500", { ...LIST, skip: 999_999_500, take: 500 }],
  ["pagesize=2&pagesize=999", { ...LIST, take: 2 }],
  ["pagenum=&pagesize=&order=&tags=&text=&sinceid=&source=&user=&class=&created=", LIST],
  ["source=&source=x", LIST],
  ["order=asc", LIST],
  ["order=DESC", { ...LIST, sort: [{ field: "created", direction: "desc" }] }],
  ["tags=Error", where(text("tags", "error"))],
  ["tags=+b%09A++a%E2%80%83B+", where(and(text("tags", "b"), text("tags", "a")))],
  ["tags=+", LIST],
  ["text=disk+full", where({ kind: "contains", field: "text", value: "disk full" })],
  ["text=%5Edisk%7Cfull%24", where({ kind: "matches", field: "text", pattern: "^disk|full$" })],
  [`sinceid=${ID}`, { ...where({ kind: "accepted-after", id: ID }), sort: [{ field: "id", direction: "asc" }] }],
  [
    `sinceid=${ID.toUpperCase()}&order=desc`,
    { ...where({ kind: "accepted-after", id: ID }), sort: [{ field: "id", direction: "desc" }] },
  ],
  [
    "source=Web&user=%C3%85nn&class=ERROR",
    where(and(text("source", "web"), text("user", "ånn"), text("class", "error"))),
  ],
  ["attr.http.status=500", where({ kind: "number", field: "@http.status", op: "=", value: 500 })],
  ["attr.State=OK&attr.x=", where(and(text("@State", "ok"), text("@x", "")))],
  [
    "attr.odd+name=%C3%85&attr.id=12345678901234567890",
    where(and(text("@odd name", "å"), text("@id", "12345678901234567890"))),
  ],
  ["created=1308491673911", where(created(">=", 1308491673911))],
  ["created=1308491673911:", where(created(">=", 1308491673911))],
  ["created=:5", where(created("<", 5))],
  ["created=-5:8640000000000000", where(and(created(">=", -5), created("<", 8.64e15)))],
];

test("parameters become plans", (t) => {
  for (const [query, expected] of PLANS) t.deepEqual(plan(query), expected, query);
});

test("bookmarks and alerts are listed with the same parameters, and plans are frozen", (t) => {
  const from = { kind: "alerts", user: "0123456789abcdef" as UserId } as const;
  const made = planFilters(new URLSearchParams("pagesize=1"), { from, logs: [] });
  t.deepEqual(made, { ...LIST, from, logs: [], take: 1 });
  t.true(Object.isFrozen(made) && Object.isFrozen(made.from));
  t.false(Object.isFrozen(from) || Object.isFrozen(LOGS), "what the caller passed is not frozen");
});

const WHOLE = (limit: string): string => `it must be a whole number from 1 to ${limit}`;
const CREATED = "it must be <ms>, <ms>:<ms> (the earlier first) or :<ms>, in milliseconds since 1970-01-01 UTC";

const FAULTS: readonly (readonly [string, string])[] = [
  ["pagenum=0", `The parameter pagenum is "0"; ${WHOLE("2,000,000")}`],
  ["pagenum=2000001", `The parameter pagenum is "2000001"; ${WHOLE("2,000,000")}`],
  ["pagenum=1e3", `The parameter pagenum is "1e3"; ${WHOLE("2,000,000")}`],
  ["pagenum=-1", `The parameter pagenum is "-1"; ${WHOLE("2,000,000")}`],
  ["pagesize=501", `The parameter pagesize is "501"; ${WHOLE("500")}`],
  ["pagesize=+5", `The parameter pagesize is " 5"; ${WHOLE("500")}`],
  [`pagesize=${"9".repeat(900)}`, `The parameter pagesize is "${"9".repeat(40)}…"; ${WHOLE("500")}`],
  ["order=up", 'The parameter order is "up"; it must be asc or desc'],
  ["sinceid=123", 'The parameter sinceid is "123"; it must be the id of an event: 24 hex digits'],
  ["created=yesterday", `The parameter created is "yesterday"; ${CREATED}`],
  ["created=:", `The parameter created is ":"; ${CREATED}`],
  ["created=1:2:3", `The parameter created is "1:2:3"; ${CREATED}`],
  ["created=5:3", `The parameter created is "5:3"; ${CREATED}`],
  ["created=8640000000000001", `The parameter created is "8640000000000001"; ${CREATED}`],
  ["text=a(b", 'The parameter text is "a(b"; it must be an RE2 expression; at character 2: missing closing )'],
  [
    "text=%F0%9F%98%80(%3F%3Da)",
    'The parameter text is "😀(?=a)"; it must be an RE2 expression; at character 2: invalid or unsupported Perl syntax: (?=',
  ],
  [
    "attr.n=5&attr.n=99",
    "The parameter attr.n occurs more than once; to match one of several values, use a query: GET events WHERE @n IN ('a', 'b')",
  ],
  [
    Array.from({ length: 101 }, (_, i) => `attr.n${i}=1`).join("&"),
    "There are more parameters attr.<name> than the 100 allowed; to compare one attribute with several values, use a query with IN",
  ],
  [`user=${"x".repeat(1001)}`, `The parameter user is "${"x".repeat(40)}…"; it must be at most 1000 characters`],
];

test("an invalid value is reported with the allowed ones", (t) => {
  for (const [query, message] of FAULTS)
    t.throws(() => plan(query), { instanceOf: LoggiaError, code: "bad_parameter", message }, query);
});

test("any value gives a plan or a bad parameter, and nothing else", (t) => {
  const names = fc.constantFrom(
    "pagenum",
    "pagesize",
    "order",
    "tags",
    "text",
    "sinceid",
    "source",
    "user",
    "class",
    "created",
    "other",
  );
  const values = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom(...Array.from("0123456789:-+*()[]{}\\|^$.?ab ")) }),
  );
  const property = fc.property(fc.array(fc.tuple(names, values)), (pairs) => {
    try {
      plan(new URLSearchParams(pairs).toString());
    } catch (error) {
      if (!(error instanceof LoggiaError) || error.code !== "bad_parameter") throw error;
    }
  });
  t.notThrows(() => fc.assert(property, { numRuns: 2000 }));
});
