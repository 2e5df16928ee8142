import test from "ava";

import { createLocation, formatPlace, parsePlace } from "../../../src/web/state/location.ts";

/** A browser's window, as far as the location uses one: addresses in a row, with a place in it. */
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

for (const address of [
  "#/",
  "#/shop",
  "#/shop?q=GET+events+WHERE+text+%3D+%27a%26b%23c%3F%27&from=-24h",
  "#/shop/context/0123456789abcdef01234567",
  "#/shop/settings/keys",
  "#/shop/classes/payment-failed",
  "#/~account/sessions",
]) {
  test(`the address ${address} is a place, and the place has that address`, (t) => {
    t.is(formatPlace(parsePlace(address)), address);
  });
}

test("a log that is called like a screen is a log", (t) => {
  t.like(parsePlace("#/account"), { screen: "search", log: "account" });
  t.like(parsePlace("#/classes/classes"), { screen: "classes", log: "classes" });
});

test("an address that no one wrote well is still a place", (t) => {
  t.like(parsePlace("#/sh%zzop/%"), { screen: "search", log: "sh%zzop" });
});

test("back returns from a step, and not from what made it exact", (t) => {
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

test("another screen begins without the part and the parameters of the present one", (t) => {
  const location = createLocation(createFrame("#/shop/settings/keys?q=1"));
  t.is(location.link({ screen: "classes" }), "#/shop/classes");
  t.is(location.link({ part: "people" }), "#/shop/settings/people?q=1");
});
