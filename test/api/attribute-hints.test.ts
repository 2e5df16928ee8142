import test from "ava";

import { AttributeHints } from "../../src/api/attribute-hints.ts";
import type { AttributeHintOptions } from "../../src/api/attribute-hints.ts";
import { LoggiaError } from "../../src/errors.ts";
import type { EventRow, LogKey } from "../../src/events/event.ts";
import { planFilters } from "../../src/query/filters.ts";
import type { ListPlan } from "../../src/query/plan.ts";
import { planQuery } from "../../src/query/planner.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { event, row } from "../contract/store-fixture.ts";
import { holdOfBest_ms } from "../support/turns.ts";
import { Scheduler } from "../../src/scheduling/scheduler.ts";

const { querying } = new Scheduler();

const SHOP = "shop" as LogKey;
const zone = fixedZone(0);

const memory = { during: <T>(_: number, work: () => Promise<T>) => work() };

type Reads = { names: number; events: number };

/** A store of logs that have these attributes; counts how often names and events were read. */
function storeOf(logs: Readonly<Record<string, readonly string[]>>, reads: Reads) {
  return {
    attributeNames: async (log: LogKey): Promise<readonly string[]> => {
      reads.names += 1;
      return (logs[log] ?? []).slice(0, LISTED);
    },
    rows: async ({ logs: asked, where }: ListPlan): Promise<readonly EventRow[]> => {
      reads.events += 1;
      const name = where.kind === "not" && where.condition.kind === "absent" ? where.condition.field.slice(1) : null;
      return asked.filter((log) => logs[log]?.includes(name!)).map((log) => row(event(log)));
    },
  };
}

/** Most names that the store lists. */
const LISTED = 10_000;

/** Returns the hints about these logs. */
function attributeHints(
  logs: Readonly<Record<string, readonly string[]>>,
  options: Partial<AttributeHintOptions> = {},
) {
  const reads: Reads = { names: 0, events: 0 };
  const known = new AttributeHints(storeOf(logs, reads), { querying, ...options });
  const ask = (query: string, keys = [SHOP]) => {
    const question = planQuery(query, { logs: keys, now_ms: 0, zone });
    return known.hints(question.kind === "groups" ? question.plan : question, memory);
  };
  return { known, ask, reads };
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
  t.deepEqual(await attributeHints({ shop: ["http.status"] }).known.hints(filters, memory), [hint]);
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
  const { ask, reads } = attributeHints({ shop: names, attic: ["other"] });
  for (let i = 0; i < 3; i++) t.deepEqual(await ask("GET events WHERE @took > 1"), []);
  t.deepEqual(reads, { names: 0, events: 1 });
  t.deepEqual(await ask("GET events WHERE text = '@what'"), []);
  t.deepEqual(reads, { names: 0, events: 1 });
  t.is((await ask("GET events WHERE @new = 1")).length, 1);
  names.push("new");
  t.deepEqual(await ask("GET events WHERE @new = 1"), []);
  t.deepEqual(reads, { names: 1, events: 3 });
  t.deepEqual(await ask("GET events WHERE @other = 1", [SHOP, "attic" as LogKey]), []);
});

test("a name that events have is not reported, though the store does not list it", async (t) => {
  const { ask, reads } = attributeHints({ shop: [...numbered(LISTED), "rare"] });
  t.deepEqual(await ask("GET events WHERE @rare = 1"), []);
  t.is(reads.names, 0);
  t.deepEqual(await ask("GET events WHERE @rarer = 1"), ["No event has @rarer."]);
});

test("names that took long to read are used for long, others are read anew", async (t) => {
  let now_ms = 0;
  let took_ms = 100;
  const reads: Reads = { names: 0, events: 0 };
  const store = storeOf({ shop: ["took"] }, reads);
  const attributeNames = async (log: LogKey): Promise<readonly string[]> => {
    now_ms += took_ms;
    const names = await store.attributeNames(log);
    if (took_ms > 1_000) throw new Error("slow");
    return names;
  };
  const known = new AttributeHints({ ...store, attributeNames }, { querying, now: () => now_ms });
  const question = planFilters(new URLSearchParams({ "attr.tok": "1" }), { from: { kind: "events" }, logs: [SHOP] });
  const asked = async (after_ms: number): Promise<string> => {
    now_ms += after_ms;
    return `${reads.names} ${(await known.hints(question, memory)).join()}`;
  };
  const hint = "No event has @tok; did you mean @took?";
  t.is(await asked(0), `0 ${hint}`.replace("0", "0"));
  t.is(await asked(4_900), `1 ${hint}`);
  t.is(reads.names, 1);
  took_ms = 30_000;
  await asked(200);
  t.is(reads.names, 2);
  // A read that failed is not repeated by each query.
  t.is(await asked(1_000_000), "2 No event has @tok.");
  t.is(reads.names, 2);
});

test("a query is answered even if the store cannot list the names or takes long", async (t) => {
  const question = planFilters(new URLSearchParams({ "attr.a": "1" }), { from: { kind: "events" }, logs: [SHOP] });
  const store = storeOf({}, { names: 0, events: 0 });
  const rows = () => Promise.reject(new Error("away"));
  t.deepEqual(await new AttributeHints({ ...store, rows }, { querying }).hints(question, memory), []);
  const never = () => new Promise<never>(() => {});
  t.deepEqual(
    await new AttributeHints({ ...store, rows: never }, { querying, wait_ms: 1 }).hints(question, memory),
    [],
  );
});

test("names are read only while memory is taken for them", async (t) => {
  const { known, reads } = attributeHints({ shop: ["took"] });
  const question = planFilters(new URLSearchParams({ "attr.tok": "1" }), { from: { kind: "events" }, logs: [SHOP] });
  const full = { during: () => Promise.reject(new LoggiaError("overloaded", "full")) };
  t.deepEqual(await known.hints(question, full), ["No event has @tok."]);
  t.is(reads.names, 0);
  const taken: number[] = [];
  const noting = { during: <T>(size_bytes: number, work: () => Promise<T>) => (taken.push(size_bytes), work()) };
  t.deepEqual(await known.hints(question, noting), ["No event has @tok; did you mean @took?"]);
  t.true(taken.length === 1 && taken[0]! >= LISTED * 200, String(taken));
});

test("the names of logs that were read long ago are dropped", async (t) => {
  const long = numbered(LISTED).map((name) => name.padStart(100, "x"));
  const { ask, reads } = attributeHints({ a: long, b: long, c: long }, { now: () => (clock += 1_000) });
  let clock = 0;
  for (const log of ["a", "b", "b", "c", "c", "a"]) await ask("GET events WHERE @nam = 1", [log as LogKey]);
  t.is(reads.names, 4);
});

test("ten thousand long names are compared in short steps", async (t) => {
  const start = "a".repeat(190);
  const { ask } = attributeHints({ shop: numbered(LISTED).map((name) => `${start}${name}`.padEnd(200, "b")) });
  const query = `GET events WHERE @${start}bbbbbbbbbb = 1`;
  t.is((await ask(query)).length, 1);
  t.true((await holdOfBest_ms(25, () => ask(query))) < 25);
});

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `n${i}`);
}
