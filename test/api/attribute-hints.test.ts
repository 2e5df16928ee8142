import test from "ava";

import { AttributeHints } from "../../src/api/attribute-hints.ts";
import type { LogKey } from "../../src/events/event.ts";
import { planFilters } from "../../src/query/filters.ts";
import { planQuery } from "../../src/query/planner.ts";
import { fixedZone } from "../../src/query/zone.ts";

const SHOP = "shop" as LogKey;
const zone = fixedZone(0);

/** Returns the known attributes of these logs, and counts how often a log's names were read. */
function attributeHints(logs: Readonly<Record<string, readonly string[]>>) {
  const counter = { reads: 0 };
  const known = new AttributeHints({
    attributeNames: async (log) => {
      counter.reads += 1;
      return logs[log] ?? [];
    },
  });
  const ask = (query: string, keys = [SHOP]) => {
    const question = planQuery(query, { logs: keys, now_ms: 0, zone });
    return known.hints(question.kind === "groups" ? question.plan : question);
  };
  return { known, ask, counter };
}

test("an attribute that no event has is reported anywhere in a query, with the likely spelling", async (t) => {
  const { ask } = attributeHints({ shop: ["http.status", "took"] });
  const hint = "No event has @htp.status; did you mean @http.status?";
  for (const query of [
    "GET events WHERE @htp.status = 500",
    "GET events WHERE NOT (text = 'a' OR @htp.status IN (1, 2))",
    "GET events WHERE @htp.status IS NULL SORT @took",
    "GET events SORT @htp.status DESC",
    "GET events COLUMNS(text, @htp.status)",
    "GET events GROUPBY DAY, @htp.status",
    "GET events GROUPBY source COLUMNS(KEY, AVG(@htp.status))",
    "GET events COLUMNS(COUNT(@htp.status = 1))",
    "GET events GROUPBY BANDS(@htp.status, 0, 10)",
  ]) {
    t.deepEqual(await ask(query), [hint], query);
  }
  const filters = planFilters(new URLSearchParams({ "attr.htp.status": "500" }), {
    from: { kind: "events" },
    logs: [SHOP],
  });
  t.deepEqual(await attributeHints({ shop: ["http.status"] }).known.hints(filters), [hint]);
});

test("names are case-sensitive; fields are not attributes; a name without a similar one gets no suggestion", async (t) => {
  const { ask } = attributeHints({ shop: ["http.status"] });
  t.deepEqual(await ask("GET events WHERE @HTTP.Status = 1"), [
    "No event has @HTTP.Status; did you mean @http.status?",
  ]);
  t.deepEqual(await ask("GET events WHERE @source = 'a'"), ["No event has @source; did you mean source?"]);
  t.deepEqual(await ask("GET events WHERE @'tür 1' = '@took'"), ["No event has @'t%C3%BCr 1'."]);
  const { ask: odd } = attributeHints({ shop: ["it's odd", "a.b-c$d"] });
  t.deepEqual(await odd("GET events WHERE @'its odd' = 1 AND @a.b-c$ = 1 AND @'50%' = 1"), [
    "No event has @'its odd'; did you mean @'it''s odd'?",
    "No event has @a.b-c$; did you mean @a.b-c$d?",
    "No event has @'50%25'.",
  ]);
});

test("known names cost no further read of the store, unknown ones are looked up each time", async (t) => {
  const names: string[] = ["took"];
  const { ask, counter } = attributeHints({ shop: names, attic: ["other"] });
  for (let i = 0; i < 3; i++) t.deepEqual(await ask("GET events WHERE @took > 1"), []);
  t.is(counter.reads, 1);
  t.deepEqual(await ask("GET events WHERE text = '@what'"), []);
  t.is(counter.reads, 1);
  t.is((await ask("GET events WHERE @new = 1")).length, 1);
  names.push("new");
  t.deepEqual(await ask("GET events WHERE @new = 1"), []);
  t.is(counter.reads, 3);
  t.deepEqual(await ask("GET events WHERE @other = 1", [SHOP, "attic" as LogKey]), []);
});

test("a query is answered even if the store cannot list the names", async (t) => {
  const known = new AttributeHints({ attributeNames: () => Promise.reject(new Error("away")) });
  const question = planQuery("GET events WHERE @a = 1", { logs: [SHOP], now_ms: 0, zone });
  t.deepEqual(question.kind === "list" ? await known.hints(question) : null, []);
});

test("the number of logs whose names are cached is limited", async (t) => {
  const many = Array.from({ length: 60_000 }, (_, i) => `name${i}`);
  const { ask, counter } = attributeHints({ a: many, b: many, c: many, d: many });
  for (const log of ["a", "b", "c", "d", "d", "a"]) await ask("GET events WHERE @name5 = 1", [log as LogKey]);
  t.is(counter.reads, 5);
});
