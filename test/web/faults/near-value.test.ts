import test from "ava";

import { readAsk } from "../../../src/web/ask/compose.ts";
import { nearValue, textConditions, withValue } from "../../../src/web/faults/near-value.ts";

const conditionsOf = (query: string) => textConditions(readAsk(query)!).map(({ field, value }) => `${field} ${value}`);

test("conditions that want one exact text are looked at, and no others", (t) => {
  t.deepEqual(conditionsOf("GET events.slwo WHERE source = 'payment' AND tag = 'x' AND @shop = 'berlin'"), [
    "class slwo",
    "source payment",
    "tags x",
    "@shop berlin",
  ]);
  for (const other of [
    "source != 'a'",
    "source IN ('a', 'b')",
    "text CONTAINS 'a'",
    "@status = 500",
    "source IS NULL",
    "source = 'a' OR source = 'b'",
    "id = '0123456789abcdef01234567'",
  ])
    t.deepEqual(conditionsOf(`GET events WHERE ${other}`), [], other);
});

test("the value that was probably meant is a slip away, or begins alike", (t) => {
  const values = ["web", "payments", "Checkout-worker", "pay"];
  t.is(nearValue("payment", values), "payments");
  t.is(nearValue("paymnets", values), "payments");
  t.is(nearValue("check", values), "Checkout-worker");
  t.is(nearValue("webserver", values), "web");
  t.is(nearValue("inventory", values), null);
  t.is(nearValue("qqq", values), null);
  // It is there: something else keeps events from being found.
  t.is(nearValue("PAYMENTS", values), null);
});

test("another value takes the place of the first, and the rest stays as it was typed", (t) => {
  const replace = (query: string, other: string) => {
    const ask = readAsk(query)!;
    return withValue(ask, textConditions(ask)[0]!, other);
  };
  t.is(
    replace("GET events WHERE  source='payment' AND text CONTAINS 'x' // mine", "payments"),
    "GET events WHERE  source = 'payments' AND text CONTAINS 'x' // mine",
  );
  t.is(replace("GET events WHERE @shop = 'a'", "it's"), "GET events WHERE @shop = 'it''s'");
  t.is(replace("GET events.slwo", "slow"), "GET events WHERE class = 'slow'");
});
