import test from "ava";

import { EMPTY_ROW } from "../../../../src/web/parts/rows/row.ts";
import {
  bookmarkBeside,
  byDay,
  valueCounts,
  isPrecededByNew,
  narrowedEvents,
  successorId,
} from "../../../../src/web/features/marked-events/marked.ts";
import type { MarkedEvent } from "../../../../src/web/features/marked-events/marked.ts";

function marked(id: string, fields: Partial<MarkedEvent> = {}): MarkedEvent {
  return { ...EMPTY_ROW, id, log: "shop", created: Number(id) * 1000, ...fields };
}

const EVENTS = [
  marked("5", { class: "error" }),
  marked("4", { class: "slow" }),
  marked("3", { class: "error", log: "depot" }),
  marked("2"),
  marked("1", { class: "error", log: "depot" }),
];
const ALL = { log: null, class: null };

test("a list across logs is narrowed by log and class together", (t) => {
  const ids = (by: Parameters<typeof narrowedEvents>[1]) => narrowedEvents(EVENTS, by).map(({ id }) => id);
  t.deepEqual(ids(ALL), ["5", "4", "3", "2", "1"]);
  t.deepEqual(ids({ log: "depot", class: null }), ["3", "1"]);
  t.deepEqual(ids({ log: "shop", class: "error" }), ["5"]);
});

test("values are counted within the other field's selection, and the selected one stays visible", (t) => {
  t.deepEqual(valueCounts(EVENTS, "log", ALL), [
    { value: "shop", count: 3 },
    { value: "depot", count: 2 },
  ]);
  t.deepEqual(valueCounts(EVENTS, "class", { log: "shop", class: null }), [
    { value: "error", count: 1 },
    { value: "slow", count: 1 },
  ]);
  t.deepEqual(valueCounts(EVENTS, "log", { log: "blog", class: "slow" }), [
    { value: "shop", count: 1 },
    { value: "blog", count: 0 },
  ]);
});

test("events are listed under their days, in order", (t) => {
  const days = byDay(EVENTS, (ms) => (ms > 3000 ? "late" : "early"));
  t.deepEqual(
    days.map(({ day, events }) => [day, events.map(({ id }) => id)]),
    [
      ["late", ["5", "4"]],
      ["early", ["3", "2", "1"]],
    ],
  );
});

test("a removed row is replaced by the next one, or at the end by the previous one", (t) => {
  t.is(successorId(EVENTS, "5"), "4");
  t.is(successorId(EVENTS, "1"), "2");
  t.is(successorId([marked("1")], "1"), null);
});

test("an event is moved only by new ones above it", (t) => {
  const without = (...ids: string[]) => EVENTS.filter(({ id }) => !ids.includes(id));
  t.true(isPrecededByNew(EVENTS, without("5"), "4"));
  t.false(isPrecededByNew(EVENTS, without("3"), "4"));
  t.false(isPrecededByNew(without("5"), EVENTS, "4"));
  t.false(isPrecededByNew(EVENTS, without("5"), "9"));
});

test("a step leads to the next older or newer bookmark, also from an event that is not bookmarked", (t) => {
  const step = (from: number | null, by: 1 | -1) =>
    bookmarkBeside(EVENTS, from === null ? null : { id: String(from), created: from * 1000 }, by)?.id ?? null;
  t.is(step(null, 1), "5");
  t.is(step(null, -1), "1");
  t.is(step(4, 1), "3");
  t.is(step(4, -1), "5");
  t.is(step(1, 1), null);
  t.is(step(5, -1), null);
  t.is(step(2.5, 1), "2");
  t.is(step(2.5, -1), "3");
});
