import test from "ava";

import { createLocation } from "../../../src/web/state/location.ts";

/** A browser's window as far as the location uses it: a history of addresses with a position. */
function createFrame(hash: string) {
  const steps = [hash];
  let at = 0;
  const listeners: (() => void)[] = [];
  return {
    steps,
    location: {
      get hash() {
        return steps[at]!;
      },
    },
    history: {
      pushState: (_: null, __: string, address: string) => {
        steps.splice(at + 1, Infinity, address);
        at += 1;
      },
      replaceState: (_: null, __: string, address: string) => {
        steps[at] = address;
      },
    },
    addEventListener: (_: "popstate" | "hashchange", listener: () => void) => void listeners.push(listener),
    back: () => {
      at -= 1;
      for (const listener of listeners) listener();
    },
  };
}

test("back returns from a step, and not from corrections of its address", (t) => {
  const frame = createFrame("#/shop");
  const location = createLocation(frame);
  location.go({ parameters: new Map([["q", "GET users"]]) });
  location.amend({ parameters: new Map([["q", "GET users TAKE 1"]]) });
  t.deepEqual(frame.steps, ["#/shop", "#/shop?q=GET+users+TAKE+1"]);
  t.false(location.isReturn());
  frame.back();
  t.is(location.place.value.parameters.get("q"), undefined);
  t.true(location.isReturn());
});

test("another screen starts without the part and the parameters of the present one", (t) => {
  const location = createLocation(createFrame("#/shop/settings/keys?q=1"));
  t.is(location.link({ screen: "classes" }), "#/shop/classes");
  t.is(location.link({ part: "people" }), "#/shop/settings/people?q=1");
});

test("a correction of an address does not replace one that was opened meanwhile", (t) => {
  const frame = createFrame("#/");
  const location = createLocation(frame);
  frame.history.pushState(null, "", "#/shop?q=GET+users");
  location.amend({ screen: "search", log: "first" });
  t.deepEqual(frame.steps, ["#/", "#/shop?q=GET+users"]);
  t.is(location.place.value.log, "shop");
  location.note({ at: "1" });
  t.deepEqual(frame.steps, ["#/", "#/shop?q=GET+users&at=1"]);
});

test("an address that is not written as it was read is corrected as often as needed", (t) => {
  const frame = createFrame("#/shop/x/y");
  const location = createLocation(frame);
  for (const at of ["1", "2", "3"]) {
    location.note({ at });
    t.is(location.place.value.parameters.get("at"), at);
    t.true(frame.steps[0]!.endsWith(`at=${at}`));
  }
});
