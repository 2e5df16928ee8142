import test from "ava";

import { readQuery } from "../../../../src/web/parts/query/compose.ts";
import { nearValue, textConditions, withValue } from "../../../../src/web/features/list/near-value.ts";

const conditionsOf = (query: string) =>
  textConditions(readQuery(query)!).map(({ field, value }) => `${field} ${value}`);

test("only conditions for one exact text are checked", (t) => {
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

test("the suggested value differs by a typing error, or has the same start", (t) => {
  const values = ["web", "payments", "Checkout-worker", "pay"];
  t.is(nearValue("payment", values), "payments");
  t.is(nearValue("paymnets", values), "payments");
  t.is(nearValue("check", values), "Checkout-worker");
  t.is(nearValue("webserver", values), "web");
  t.is(nearValue("inventory", values), null);
  t.is(nearValue("qqq", values), null);
  // The value exists, so something else excludes the events.
  t.is(nearValue("PAYMENTS", values), null);
});

test("the suggested value replaces the first one, with the rest as typed", (t) => {
  const replace = (query: string, other: string) => {
    const parsed = readQuery(query)!;
    return withValue(parsed, textConditions(parsed)[0]!, other);
  };
  t.is(
    replace("GET events WHERE  source='payment' AND text CONTAINS 'x' // mine", "payments"),
    "GET events WHERE  source = 'payments' AND text CONTAINS 'x' // mine",
  );
  t.is(replace("GET events WHERE @shop = 'a'", "it's"), "GET events WHERE @shop = 'it''s'");
  t.is(replace("GET events.slwo", "slow"), "GET events WHERE class = 'slow'");
});
