import test from "ava";

import { foundText, shownCount } from "../../../../src/web/screens/search/found-text.ts";

const words = (all: number, take: number | null = null, skip = 0) => foundText({ all, take, skip });

test("a heading shows the number of events, and which of them the query takes", (t) => {
  t.is(words(12_480), "12,480 events");
  t.is(words(1), "1 event");
  t.is(words(0), "0 events");
  t.is(words(12_480, 50), "First 50 of 12,480 events");
  t.is(words(12_480, 50, 100), "Events 101 to 150 of 12,480");
  t.is(words(12_480, 1, 100), "Event 101 of 12,480");
  t.is(words(12_480, null, 12_470), "Events 12,471 to 12,480 of 12,480");
  t.is(words(12, null, 12), "None of 12 events");
});

test("a TAKE that limits nothing is not mentioned", (t) => {
  t.is(words(12, 50), "12 events");
  t.is(words(50, 50), "50 events");
  t.is(words(0, 50, 9), "0 events");
});

test("the list has the events that SKIP and TAKE leave", (t) => {
  t.is(shownCount({ all: 10, take: 4, skip: 0 }), 4);
  t.is(shownCount({ all: 10, take: 4, skip: 8 }), 2);
  t.is(shownCount({ all: 10, take: null, skip: 12 }), 0);
});
