import test from "ava";

import { createShortcuts } from "../../../../src/web/parts/keys/registry.ts";
import type { Shortcut } from "../../../../src/web/parts/keys/registry.ts";

function bound(isOn = () => true) {
  let now_ms = 0;
  const pressed: string[] = [];
  const shortcuts = createShortcuts(isOn, () => now_ms);
  const shortcut = (...keys: string[]): Shortcut => ({
    keys,
    act: () => void pressed.push(keys.join(" ")),
  });
  const press = (key: string, held: { shiftKey?: boolean; ctrlKey?: boolean } = {}) =>
    shortcuts.press({ key, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, target: null, ...held });
  return { shortcuts, shortcut, press, pressed, wait: (ms: number) => (now_ms += ms) };
}

test("a key acts while it is bound", (t) => {
  const { shortcuts, shortcut, press, pressed } = bound();
  const release = shortcuts.bind([shortcut("h")]);
  t.true(press("h"));
  release();
  t.false(press("h"));
  t.deepEqual(pressed, ["h"]);
});

test("two keys act in sequence, and not after a delay", (t) => {
  const { shortcuts, shortcut, press, pressed, wait } = bound();
  shortcuts.bind([shortcut("g", "s"), shortcut("s")]);
  t.false(press("g"));
  t.true(press("s"));
  press("g");
  wait(2_000);
  press("s");
  t.deepEqual(pressed, ["g s", "s"]);
});

test("Shift changes the key of a letter, and not of a sign", (t) => {
  const { shortcuts, shortcut, press, pressed } = bound();
  shortcuts.bind([shortcut("n"), shortcut("Shift+n"), shortcut("?")]);
  press("N", { shiftKey: true });
  press("?", { shiftKey: true });
  press("n");
  t.deepEqual(pressed, ["Shift+n", "?", "n"]);
});

test("the browser's own keys are never taken, and none is while single keys are off", (t) => {
  let isOn = true;
  const { shortcuts, shortcut, press, pressed } = bound(() => isOn);
  shortcuts.bind([shortcut("s")]);
  t.false(press("s", { ctrlKey: true }));
  isOn = false;
  t.false(press("s"));
  t.deepEqual(pressed, []);
});

test("the later of two bindings of a key acts", (t) => {
  const { shortcuts, shortcut, press, pressed } = bound();
  shortcuts.bind([shortcut("b")]);
  shortcuts.bind([{ ...shortcut("b"), act: () => void pressed.push("later") }]);
  press("b");
  t.deepEqual(pressed, ["later"]);
});
