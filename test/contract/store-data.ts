import test from "ava";

import type { LogKey, StoredEvent } from "../../src/events/event.ts";
import type { Condition } from "../../src/query/plan.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { evaluateList } from "../reference/evaluate.ts";
import { groupsAgree } from "../reference/groups.ts";
import { hour } from "../support/groups.ts";
import { event, groupPlan, listPlan, MORNING, newLog, texts, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

const TRACE = "Error: pool exhausted\n    at Pool.acquire (pool.ts:4711:12)\n    at async load (cart.ts:9)";

/** The data of the events below, by their texts. */
const DATA: Readonly<Record<string, string | null>> = {
  none: null,
  trace: TRACE,
  capitals: TRACE.toUpperCase(),
  apart: "exhausted by a pool",
  object: '{"order":"A-83","total":12.5}',
  // Letters that fold to ASCII, and one that the engine turns into ASCII but that does not fold to it.
  folds: "\u212aey of a \u017falt, \u212a9",
  dotted: "\u0130d of tIme",
  // Runs of letters and digits that the engine splits, with the word across the boundary.
  letters: `${"a".repeat(250)}exhausted${"b".repeat(30)}`,
  digits: `at ${"7".repeat(252)}91234567`,
  greek: "ΣΊΣΥΦΟΣ exhausted the pool",
  long: `${"Überlauf des Stapels, Zeile 83; ".repeat(160)}pool exhausted`,
};

function examples(log: LogKey): StoredEvent[] {
  return Object.entries(DATA).map(([text, data], i) =>
    event(log, { created: MORNING + i * 600_000, text, data, source: `host-${i % 3}`, value: i }),
  );
}

const contains = (value: string): Condition => ({ kind: "contains", field: "data", value });
const matches = (pattern: string): Condition => ({ kind: "matches", field: "data", pattern });
const not = (condition: Condition): Condition => ({ kind: "not", condition });
const and = (...conditions: Condition[]): Condition => ({ kind: "and", conditions });
const or = (...conditions: Condition[]): Condition => ({ kind: "or", conditions });
const fromHost1: Condition = { kind: "text", field: "source", op: "=", value: "host-1" };

const ALL = Object.keys(DATA);
const without = (...names: string[]): string[] => ALL.filter((name) => !names.includes(name));

const EXAMPLES: readonly (readonly [where: Condition, found: readonly string[]])[] = [
  [contains("pool exhausted"), ["trace", "capitals", "long"]],
  [contains("Pool Exhausted\n"), ["trace", "capitals"]],
  [contains("exhausted"), ["trace", "capitals", "apart", "letters", "greek", "long"]],
  [contains("ool"), ["trace", "capitals", "apart", "greek", "long"]],
  [contains("l ex"), ["trace", "capitals", "long"]],
  [contains("4711"), ["trace", "capitals"]],
  [contains("ts:4711:1"), ["trace", "capitals"]],
  [contains('"A-83"'), ["object"]],
  [contains("83"), ["object", "long"]],
  [contains("key"), ["folds"]],
  [contains("salt"), ["folds"]],
  [contains("k9"), ["folds"]],
  [contains("time"), ["dotted"]],
  [contains("id"), []],
  [contains("91234567"), ["digits"]],
  [contains("σίσυφος"), ["greek"]],
  [contains("ÜBERLAUF DES"), ["long"]],
  [contains("."), ["trace", "capitals", "object"]],
  [contains("nowhere"), []],
  [matches("^error: .* exhausted$"), []],
  [matches("(?m)^error: .* exhausted$"), ["trace", "capitals"]],
  [matches("(?-i)pool exhausted"), ["trace", "long"]],
  [matches("cart\\.ts:[0-9]\\)$"), ["trace", "capitals"]],
  [matches("a+exhausted"), ["letters"]],
  [matches("[0-9]91234567"), ["digits"]],
  // What is absent has no empty match.
  [matches("x*"), without("none")],
  [matches(""), without("none")],
  [not(contains("pool exhausted")), without("trace", "capitals", "long")],
  [not(contains("exhausted")), without("trace", "capitals", "apart", "letters", "greek", "long")],
  [not(matches(".")), ["none"]],
  [and(contains("pool exhausted"), fromHost1), ["trace", "long"]],
  [or(contains("pool exhausted"), fromHost1), ["trace", "capitals", "object", "letters", "long"]],
  [and(not(contains("pool exhausted")), not(fromHost1)), without("trace", "capitals", "object", "letters", "long")],
  [and(contains("pool"), not(contains("pool exhausted"))), ["apart", "greek"]],
  [or(contains("a-83"), { kind: "contains", field: "text", value: "GREEK" }), ["object", "greek"]],
];

const COUNTED: readonly Condition[] = [
  contains("pool exhausted"),
  contains("exhausted"),
  contains("id"),
  matches("x*"),
  and(contains("pool"), not(contains("pool exhausted"))),
  or(contains("pool exhausted"), fromHost1),
];

/** Tests conditions on the data of events. */
export function dataContract({ name, open }: StoreAdapter): void {
  test(`${name}: data is searched, ignoring case, for lists, totals and groups`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = examples(log);
    await write(t, store, events);
    for (const [where, found] of EXAMPLES) {
      const what = JSON.stringify(where);
      t.deepEqual(await texts(store, listPlan(log, { where })), [...found], what);
      const plan = groupPlan(log, { where, by: [hour(fixedZone(-90)), { kind: "field", field: "source" }] });
      t.true(groupsAgree(plan, await store.group(plan), events), what);
    }
  });

  test(`${name}: events are counted by what their data holds`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = examples(log);
    await write(t, store, events);
    for (const where of COUNTED) {
      const plan = groupPlan(log, {
        by: [{ kind: "field", field: "source" }],
        aggregates: [
          { kind: "count", where },
          { kind: "count", where: not(where) },
          { kind: "sum", of: "value" },
        ],
        having: { kind: "compare", aggregate: 0, op: ">=", value: 1 },
      });
      t.true(groupsAgree(plan, await store.group(plan), events), JSON.stringify(where));
    }
  });

  test(`${name}: lists by attribute and by time go on through events whose data is searched`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = Array.from({ length: 60 }, (_, i) =>
      event(log, {
        created: MORNING + (i % 20),
        text: `event ${i}`,
        data: i % 3 === 0 ? `${"x ".repeat(i * 40)}pool exhausted` : "the pool was exhausted",
        attributes: JSON.stringify({ n: (i * 7) % 60 }),
      }),
    );
    await write(t, store, events);
    for (const field of ["created", "@n"] as const) {
      for (const skip of [0, 7, 19]) {
        const sort = [{ field, direction: "desc" as const }];
        const plan = listPlan(log, { where: contains("pool exhausted"), sort, skip, take: 6 });
        const { annotations: _, ...page } = await store.list(plan);
        t.deepEqual(
          { ...page, rows: [...page.rows] },
          evaluateList(plan, events) as typeof page & { rows: (typeof page.rows)[number][] },
        );
      }
    }
  });
}
