import test from "ava";
import * as fc from "fast-check";
import { RE2JS } from "re2js";

import { compareCodePoints as fastCompare, fold as fastFold } from "../../src/events/text.ts";
import type { LogKey, StoredEvent, UserId } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import type { Condition, GroupPlan, ListPlan } from "../../src/query/plan.ts";
import { EVERYTHING } from "../../src/query/plan.ts";
import type { Group } from "../../src/store/store.ts";
import { fixedZone, parseZone } from "../../src/query/zone.ts";
import { anyText, conditions, listPlans, storedEvents } from "./arbitrary.ts";
import { groupPlans } from "./arbitrary-groups.ts";
import { compareCodePoints, evaluateList, fold, holds } from "./evaluate.ts";
import { evaluateGroup, groupsAgree } from "./groups.ts";
import { ABSENT_FIELDS } from "../../src/events/absent-fields.ts";
import { SUM, USUAL, day, hour, usualGroup } from "../support/groups.ts";

const SHOP = "shop" as LogKey;
const LOGS = [SHOP, "other" as LogKey];

function event(number: number, fields: Partial<StoredEvent> = {}): StoredEvent {
  return {
    id: number.toString(16).padStart(24, "0") as EventId,
    log: SHOP,
    created: number,
    text: "Disk full",
    ...ABSENT_FIELDS,
    pattern: "",
    class: null,
    ...fields,
  };
}

const list: ListPlan = {
  kind: "list",
  from: { kind: "events" },
  logs: [SHOP],
  where: EVERYTHING,
  sort: [],
  skip: 0,
  take: 100,
  columns: null,
};
const group: GroupPlan = {
  ...list,
  kind: "group",
  by: [{ kind: "field", field: "tags" }],
  aggregates: USUAL,
  having: null,
  sort: { by: "key", direction: "asc" },
  take: null,
};

test("the two foldings of text agree", (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(anyText(), (text) => fold(text) === fastFold(text)),
      { numRuns: 2000 },
    ),
  );
  t.is(fold("ſKİẞΣς\u{10400}"), "skİßσσ\u{10428}");
});

test("two code points fold to one exactly if RE2 treats them as equal ignoring case", (t) => {
  const classes = new Map<string, string[]>();
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code);
    const folded = fold(character);
    const hasCase =
      folded !== character || character.toUpperCase() !== character || character.toLowerCase() !== character;
    if (hasCase && character.isWellFormed()) classes.set(folded, [...(classes.get(folded) ?? []), character]);
  }
  const all = [...classes.values()].flat().join("");
  for (const [folded, members] of classes) {
    const matcher = RE2JS.compile(RE2JS.quote(folded), RE2JS.CASE_INSENSITIVE).matcher(all);
    const found: (string | null)[] = [];
    while (matcher.find()) found.push(matcher.group());
    if (found.join() !== members.join()) t.deepEqual(found, members);
  }
  t.true(classes.size > 1400);
});

test("the two orders of text agree", (t) => {
  const property = fc.property(
    anyText(),
    anyText(),
    (a, b) => Math.sign(compareCodePoints(a, b)) === Math.sign(fastCompare(a, b)),
  );
  t.notThrows(() => fc.assert(property, { numRuns: 2000 }));
  t.true(compareCodePoints("\uffff", "\u{10000}") < 0);
});

const HOLDS: readonly (readonly [Condition, Partial<StoredEvent>, boolean])[] = [
  [{ kind: "text", field: "source", op: "=", value: "web" }, { source: "WEB" }, true],
  [{ kind: "text", field: "source", op: "=", value: "" }, { source: "" }, true],
  [{ kind: "text", field: "class", op: "=", value: "" }, { class: null }, true],
  [{ kind: "text", field: "source", op: "<", value: "web" }, { source: "" }, false],
  [{ kind: "text", field: "source", op: ">=", value: "" }, { source: "" }, false],
  [{ kind: "text", field: "tags", op: "=", value: "b" }, { tags: ["a", "B"] }, true],
  [{ kind: "text", field: "tags", op: "=", value: "" }, { tags: ["a"] }, false],
  [{ kind: "in", field: "user", values: ["x", ""] }, {}, true],
  [{ kind: "number", field: "value", op: ">=", value: 2 }, { value: 2 }, true],
  [{ kind: "number", field: "value", op: "<", value: 2 }, { value: null }, false],
  [{ kind: "number", field: "created", op: "=", value: 7 }, {}, true],
  [{ kind: "contains", field: "text", value: "K F" }, {}, true],
  [{ kind: "contains", field: "text", value: "." }, {}, false],
  [{ kind: "matches", field: "text", pattern: "^d.*L$" }, {}, true],
  [{ kind: "matches", field: "source", pattern: "x*" }, { source: "" }, false],
  [{ kind: "absent", field: "geo" }, { geo: { lat: 1, lon: 2 } }, false],
  [{ kind: "absent", field: "data" }, { data: "x" }, false],
  [{ kind: "absent", field: "tags" }, {}, true],
  [{ kind: "absent", field: "value" }, { value: 0 }, false],
  [{ kind: "accepted-after", id: "000000000000000000000006" as EventId }, {}, true],
  [{ kind: "accepted-after", id: "000000000000000000000007" as EventId }, {}, false],
];

test("evaluates conditions", (t) => {
  for (const [condition, fields, expected] of HOLDS) {
    t.is(holds(condition, event(7, fields)), expected, JSON.stringify([condition, fields]));
    t.is(holds({ kind: "not", condition }, event(7, fields)), !expected);
  }
});

test("lists sort absent values first, ties by the last direction, and count beyond their page", (t) => {
  const events = [event(1, { value: 5 }), event(2), event(3, { value: 5 }), event(4, { log: LOGS[1]! })];
  const ids = (plan: ListPlan): number[] => evaluateList(plan, events).rows.map(({ created }) => created);
  t.deepEqual(ids(list), [1, 2, 3]);
  t.deepEqual(ids({ ...list, sort: [{ field: "value", direction: "asc" }] }), [2, 1, 3]);
  t.deepEqual(ids({ ...list, sort: [{ field: "value", direction: "desc" }] }), [3, 1, 2]);
  t.deepEqual(ids({ ...list, skip: 1, take: 1 }), [2]);
  t.is(evaluateList({ ...list, skip: 1, take: 1 }, events).total, 3);
});

test("bookmarks and alerts belong to one user", (t) => {
  const user = "0123456789abcdef" as UserId;
  const marks = [{ kind: "bookmarks", user, id: event(2).id }] as const;
  const ids = (plan: ListPlan): number[] =>
    evaluateList(plan, [event(1), event(2)], marks).rows.map(({ created }) => created);
  t.deepEqual(ids({ ...list, from: { kind: "bookmarks", user } }), [2]);
  t.deepEqual(ids({ ...list, from: { kind: "alerts", user } }), []);
});

test("an event is in the group of each of its tags, or in the group without tags", (t) => {
  const events = [event(1, { tags: ["a", "B"], value: 1 }), event(2, { tags: ["B"], value: 2 }), event(3)];
  t.deepEqual(evaluateGroup(group, events).map(usualGroup), [
    { key: "", count: 1, avg: null, sum: null, min: null, max: null },
    { key: "a", count: 1, avg: 1, sum: 1, min: 1, max: 1 },
    { key: "B", count: 2, avg: 1.5, sum: 3, min: 1, max: 2 },
  ]);
});

test("days and hours follow the time zone", (t) => {
  const noon = Date.UTC(2011, 8, 19, 12, 30);
  const keys = (by: GroupPlan["by"]): unknown[] =>
    evaluateGroup({ ...group, by }, [event(noon)]).map(({ keys }) => keys[0]);
  t.deepEqual(keys([day(fixedZone(0))]), [Date.UTC(2011, 8, 19)]);
  t.deepEqual(keys([day(fixedZone(840))]), [Date.UTC(2011, 8, 20)]);
  t.deepEqual(keys([day(fixedZone(-780))]), [Date.UTC(2011, 8, 18)]);
  t.deepEqual(keys([hour(fixedZone(345))]), [Date.UTC(2011, 8, 19, 18)]);
  const twice = [Date.UTC(2026, 9, 25, 0, 30), Date.UTC(2026, 9, 25, 1, 30)].map((created) => event(created));
  const by = hour(parseZone("Europe/Berlin"));
  const two = Date.UTC(2026, 9, 25, 2);
  t.deepEqual(
    evaluateGroup({ ...group, by: [by] }, twice).map(({ keys }) => keys[0]),
    [two, two + 1],
  );
});

test("sums tolerate rounding errors only", (t) => {
  const events = [event(1, { value: 0.1 }), event(2, { value: 0.2 })];
  const right = evaluateGroup(group, events);
  const withSum = (sum: number): Group[] => right.map(({ keys, values }) => ({ keys, values: values.with(SUM, sum) }));
  t.true(groupsAgree(group, withSum(0.1 + 0.2 + Number.EPSILON / 8), events));
  t.false(groupsAgree(group, withSum(0.3001), events));
  t.false(groupsAgree(group, [], events));
});

test("every random plan can be evaluated, and conditions match some events and not others", (t) => {
  let hits = 0;
  let tried = 0;
  fc.assert(
    fc.property(
      storedEvents(LOGS),
      listPlans(LOGS),
      groupPlans(LOGS),
      conditions(LOGS),
      (events, list, group, condition) => {
        evaluateList(list, events);
        evaluateGroup(group, events);
        hits += events.filter((event) => holds(condition, event)).length;
        tried += events.length;
      },
    ),
    { numRuns: 300 },
  );
  t.true(hits > tried / 10 && hits < (tried * 9) / 10, `${hits} of ${tried}`);
});
