import test from "ava";

import type { LogKey, StoredEvent } from "../../src/events/event.ts";
import { NESTING_LIMIT } from "../../src/query/parse-conditions.ts";
import type { Condition } from "../../src/query/plan.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { evaluateList } from "../reference/evaluate.ts";
import { evaluateGroup, groupsAgree } from "../reference/groups.ts";
import { hour } from "../support/groups.ts";
import { event, groupPlan, listPlan, MORNING, newLog, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

/** Conditions in a row. */
const ROW = 50;
/** More events than are read without a look at the index. */
const EVENTS = 60;

function examples(log: LogKey): StoredEvent[] {
  return Array.from({ length: EVENTS }, (_, i) =>
    event(log, {
      created: MORNING + i * 600_000,
      text: `Request ${i} took ${i * 7} ms`,
      data: i % 3 === 0 ? null : `job ${i}: pool exhausted, the \u212aelvin ${i % 2 === 0 ? "is" : "was"} odd`,
      source: `host-${i % 4}`,
      user: i % 2 === 0 ? "Ann" : "",
      geo: i % 4 === 0 ? { lat: i, lon: 2 * i } : null,
      value: i,
    }),
  );
}

const not = (condition: Condition): Condition => ({ kind: "not", condition });
const and = (...conditions: Condition[]): Condition => ({ kind: "and", conditions });
const or = (...conditions: Condition[]): Condition => ({ kind: "or", conditions });
const from = (source: string): Condition => ({ kind: "text", field: "source", op: "=", value: source });

const valueIs = (value: number): Condition => ({ kind: "number", field: "value", op: "=", value });
const data = (value: string): Condition => ({ kind: "contains", field: "data", value });

/** One condition of each kind, and of each way in which an engine finds it. */
const LEAVES: readonly Condition[] = [
  from("host-1"),
  { kind: "text", field: "source", op: "<", value: "host-2" },
  { kind: "in", field: "user", values: ["ann", ""] },
  { kind: "number", field: "value", op: ">", value: 5 },
  { kind: "number", field: "@ms", op: "<", value: 5 },
  { kind: "absent", field: "geo" },
  { kind: "contains", field: "text", value: "request" },
  { kind: "contains", field: "text", value: "7 took" },
  { kind: "matches", field: "text", pattern: "took (?:7|14|(?-i:M)s?) ms" },
  data("exhausted"),
  data("l exhausted"),
  data("kelvin"),
  { kind: "matches", field: "data", pattern: "(?:job|pool) (?:4|exhausted).*odd$" },
  { kind: "geo-within", south: -1, west: -1, north: 5, east: 9 },
  { kind: "geo-near", lat: 4, lon: 8, km: 10 },
  { kind: "accepted-after", id: "5f".repeat(12) as StoredEvent["id"] },
];

/** Nests conditions in conjunctions and disjunctions by turns. */
function nested(depth: number): Condition {
  return range(depth).reduce<Condition>((inner, i) => {
    const other = LEAVES[i % LEAVES.length]!;
    return i % 2 === 0 ? or(inner, and(other, from("host-9"))) : and(inner, or(not(other), other, from("host-1")));
  }, from("host-1"));
}

const range = (length: number): number[] => Array.from({ length }, (_, i) => i);

/** A depth that Elasticsearch takes, but not with what finds the events of a leaf, and the deepest. */
const DEPTHS = [20, NESTING_LIMIT];
const SHAPES: Readonly<Record<string, Condition>> = {
  ...Object.fromEntries(DEPTHS.map((depth) => [`${depth} levels`, nested(depth)])),
  negated: not(nested(NESTING_LIMIT)),
  ...Object.fromEntries(
    DEPTHS.map((depth) => [
      `${depth} levels around data`,
      range(depth).reduce<Condition>(
        (inner, i) => (i % 2 === 0 ? or(inner, valueIs(i)) : and(inner, not(valueIs(i + 30)))),
        data("l exhausted"),
      ),
    ]),
  ),
  NOT: range(NESTING_LIMIT).reduce<Condition>(not, data("exhausted")),
  "NOT of pairs": range(NESTING_LIMIT).reduce<Condition>((inner) => not(and(inner, from("host-1"))), from("host-1")),
  ORs: or(...range(ROW).map((i) => and(LEAVES[i % LEAVES.length]!, from(`host-${i}`)))),
  ANDs: and(...range(ROW).map((i) => or(LEAVES[i % LEAVES.length]!, from(`host-1`), not(from(`host-${i}`))))),
};

/** Tests conditions that are as deep as a query may nest them, and many. */
export function nestingContract({ name, open }: StoreAdapter): void {
  test(`${name}: conditions of any depth and number are answered`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = examples(log);
    await write(t, store, events);
    for (const [shape, where] of Object.entries(SHAPES)) {
      const list = listPlan(log, { where, take: 20 });
      const expected = evaluateList(list, events);
      const page = await store.list(list);
      t.deepEqual(page.rows, expected.rows, shape);
      t.is(page.total, expected.total, shape);
      t.deepEqual(await store.rows(list), expected.rows, shape);
      const plan = groupPlan(log, { where, by: [hour(fixedZone(0))] });
      t.true(groupsAgree(plan, await store.group(plan), events), shape);
      const counted = groupPlan(log, { aggregates: [{ kind: "count", where }] });
      t.deepEqual(await store.group(counted), evaluateGroup(counted, events), shape);
    }
  });
}
