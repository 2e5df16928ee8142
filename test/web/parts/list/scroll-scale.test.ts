import test from "ava";

import { MAX_ELEMENT_HEIGHT, ScrollScale } from "../../../../src/web/parts/list/scroll-scale.ts";

const VIEWPORT = 700;

test("a list within the browser's limit is scrolled one to one", (t) => {
  const scale = new ScrollScale();
  scale.resize(2_600_000, VIEWPORT);
  t.is(scale.height, 2_600_000);
  t.is(scale.scrolled(1_234_567), 1_234_567);
  t.is(scale.moveTo(2_599_999), 2_600_000 - VIEWPORT);
  t.is(scale.shift, 0);
});

test("a list of any length has an element within the browser's limit", (t) => {
  const scale = new ScrollScale();
  const total = 26_000_000 * 10;
  scale.resize(total, VIEWPORT);
  t.is(scale.height, MAX_ELEMENT_HEIGHT);
  t.is(scale.scrolled(0), 0);
  t.is(scale.scrolled(MAX_ELEMENT_HEIGHT - VIEWPORT), total - VIEWPORT);
  const middle = scale.scrolled((MAX_ELEMENT_HEIGHT - VIEWPORT) / 2);
  t.true(Math.abs(middle - (total - VIEWPORT) / 2) <= 1);
});

test("short distances are scrolled pixel by pixel, from the first row to the last", (t) => {
  const scale = new ScrollScale();
  const total = MAX_ELEMENT_HEIGHT + 50_000;
  scale.resize(total, VIEWPORT);
  let place = 0;
  let physical = 0;
  while (place < total - VIEWPORT) {
    const next = Math.min(physical + 100, MAX_ELEMENT_HEIGHT - VIEWPORT);
    const now = scale.scrolled(next);
    const isEnd = next === MAX_ELEMENT_HEIGHT - VIEWPORT;
    if (!isEnd && now !== place + 100) t.fail(`a step of 100 led from ${place} to ${now}`);
    place = now;
    physical = next;
    if (physical % 5_000 === 0 && !isEnd) {
      physical = scale.settle();
      t.is(physical + scale.shift, place);
    }
  }
  t.is(place, total - VIEWPORT);
});

test("moving to a position shows that position", (t) => {
  const scale = new ScrollScale();
  scale.resize(90_000_000, VIEWPORT);
  for (const place of [0, 1, 699, 5_000_000, 44_444_444, 89_999_299, 89_000_000]) {
    t.is(scale.moveTo(place) + scale.shift, place);
  }
});
