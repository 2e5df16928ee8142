import test from "ava";

import { isSecondOfTwo, togglesRow } from "../../../../src/web/parts/list/gesture.ts";

const press = { x: 100, y: 100, time_ms: 0 };
const click = { x: 101, y: 100, button: 0, clicks: 1, isSelecting: false, wasSelecting: false, hasModifier: false };

test("a click opens or closes a row", (t) => {
  t.true(togglesRow(press, click));
});

test("selecting text neither opens nor closes a row", (t) => {
  t.false(togglesRow(press, { ...click, isSelecting: true }));
  t.false(togglesRow(press, { ...click, wasSelecting: true }));
  t.false(togglesRow(press, { ...click, x: 140 }));
  t.false(togglesRow(press, { ...click, clicks: 2 }));
});

test("other buttons, modifier keys and presses from elsewhere do nothing", (t) => {
  t.false(togglesRow(press, { ...click, button: 1 }));
  t.false(togglesRow(press, { ...click, hasModifier: true }));
  t.false(togglesRow(null, click));
});

test("the second click of a double click undoes the first one", (t) => {
  t.true(isSecondOfTwo({ ...click, clicks: 2, isSelecting: true }));
  t.false(isSecondOfTwo({ ...click, clicks: 2 }));
  t.false(isSecondOfTwo(click));
});
