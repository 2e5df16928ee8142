import test from "ava";

import { formatPlace, parsePlace } from "../../../src/web/state/address.ts";

for (const address of [
  "#/",
  "#/shop",
  "#/shop?q=GET+events+WHERE+text+%3D+%27a%26b%23c%3F%27&t=7d&tz=Europe/Berlin",
  "#/shop?cols=source,@took:160,text&order=old&view=patterns",
  "#/shop?t=7d&around=0123456789abcdef01234567",
  "#/shop/start",
  "#/shop/settings/keys",
  "#/shop/classes/payment-failed",
  "#/inbox?log=shop&class=error",
  "#/bookmarks",
  "#/you/sessions",
  "#/service/health",
  "#/~log/inbox?t=1h",
  "#/~log/service/classes/error",
]) {
  test(`the address ${address} is parsed to a place and back`, (t) => {
    t.is(formatPlace(parsePlace(address)), address);
  });
}

test("a log named like a screen is a log", (t) => {
  t.like(parsePlace("#/account"), { screen: "search", log: "account" });
  t.like(parsePlace("#/start/start"), { screen: "first-run", log: "start" });
  t.like(parsePlace("#/classes/classes"), { screen: "classes", log: "classes" });
  t.like(parsePlace("#/~log/inbox"), { screen: "search", log: "inbox" });
});

test("a malformed address is still a place", (t) => {
  t.like(parsePlace("#/sh%zzop/%"), { screen: "search", log: "sh%zzop" });
});
