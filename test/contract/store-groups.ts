import test from "ava";

import type { Geo } from "../../src/events/event.ts";
import { periodKeyFormat } from "../../src/query/calendar.ts";
import type { Aggregate, Condition, Direction } from "../../src/query/plan.ts";
import { parseZone } from "../../src/query/zone.ts";
import { event, groupPlan, newLog, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

const COUNT: Aggregate = { kind: "count", where: null };
const PLACES: readonly (Geo | null)[] = [
  { lat: 52.52, lon: 13.405 },
  { lat: -17.7, lon: 179.9 },
  { lat: 9, lon: 20 },
  { lat: 52.52, lon: 13.405 },
  { lat: -17.7, lon: -179.9 },
  { lat: 0.000005, lon: -0.1 },
  { lat: 52.52, lon: 2 },
  { ip: "203.0.113.9" },
  null,
];

/** Tests of group keys other than fields and days. */
export function groupKeyContract({ name, open }: StoreAdapter): void {
  test(`${name}: places are grouped from south to north, and those without coordinates form one group`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(
      t,
      store,
      PLACES.map((geo, value) => event(log, { geo, value, source: value < 4 ? "a" : "b" })),
    );
    const counts = async (direction: Direction) =>
      (await store.group(groupPlan(log, { by: [PLACE], aggregates: [COUNT], sort: { by: "key", direction } }))).map(
        ({ keys, values }) => [...keys, ...values],
      );
    const found = [
      ["", 2],
      ["-17.7,-179.9", 1],
      ["-17.7,179.9", 1],
      ["0.000005,-0.1", 1],
      ["9,20", 1],
      ["52.52,2", 1],
      ["52.52,13.405", 2],
    ];
    t.deepEqual(await counts("asc"), found);
    t.deepEqual(await counts("desc"), found.toReversed());
  });

  test(`${name}: a time range that ends before it starts has no groups, in any time zone`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(t, store, [event(log)]);
    const bound = (op: "<" | ">", value: number): Condition => ({ kind: "number", field: "created", op, value });
    const where: Condition = {
      kind: "and",
      conditions: [bound(">", Date.UTC(2024, 5, 1)), bound("<", Date.UTC(2019, 0, 1))],
    };
    for (const unit of ["hours", "days", "months"] as const) {
      const period = { kind: "period", unit, count: 1, zone: parseZone("Europe/Berlin") } as const;
      t.deepEqual(await store.group(groupPlan(log, { where, by: [period] })), [], unit);
    }
  });

  test(`${name}: places are grouped together with another key, and each group refines to its events`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const [berlin, accra] = [
      { lat: 52.52, lon: 13.405 },
      { lat: 5.6, lon: -0.19 },
    ];
    await write(t, store, [
      event(log, { geo: berlin, source: "a", user: "ann", value: 1 }),
      event(log, { geo: berlin, source: "a", user: "bob", value: 3 }),
      event(log, { geo: berlin, source: "b", user: "bob", value: 5 }),
      event(log, { geo: accra, source: "a", user: "cat", value: 7 }),
      event(log, { geo: null, source: "a", user: "ann", value: 9 }),
    ]);
    const aggregates: Aggregate[] = [
      COUNT,
      { kind: "distinct", field: "user" },
      { kind: "percentile", of: "value", percent: 50 },
    ];
    const by = [PLACE, { kind: "field", field: "source" } as const];
    t.deepEqual(await store.group(groupPlan(log, { by, aggregates })), [
      { keys: ["", "a"], values: [1, 1, 9] },
      { keys: ["5.6,-0.19", "a"], values: [1, 1, 7] },
      { keys: ["52.52,13.405", "a"], values: [2, 2, 1] },
      { keys: ["52.52,13.405", "b"], values: [1, 1, 5] },
    ]);
  });

  test(`${name}: groups of seconds are distinct, also those that a clock change repeats`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const moments = [
      "2026-10-25T00:59:44.999Z",
      "2026-10-25T00:59:45Z",
      "2026-10-25T00:59:59.999Z",
      "2026-10-25T01:00Z",
      "2026-10-25T01:59:59Z",
      "2026-10-25T02:00Z",
    ];
    const events = moments.map((at) => event(log, { created: Date.parse(at) }));
    await write(t, store, events);
    const by = { kind: "period", unit: "seconds", count: 15, zone: parseZone("Europe/Berlin") } as const;
    const format = periodKeyFormat(by);
    const found = await store.group(groupPlan(log, { by: [by], aggregates: [COUNT] }));
    t.deepEqual(
      found.map(({ keys, values }) => [format(Number(keys[0])), values[0]]),
      [
        ["10/25/2026 02:00:00 +01:00", 1],
        ["10/25/2026 02:59:30", 1],
        ["10/25/2026 02:59:45", 2],
        ["10/25/2026 02:59:45 +01:00", 1],
        ["10/25/2026 03:00:00", 1],
      ],
    );
  });
}

const PLACE = { kind: "place" } as const;
