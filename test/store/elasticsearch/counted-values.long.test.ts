import type { StoredEvent } from "../../../src/events/event.ts";
import type { Aggregate, Condition, GroupPlan } from "../../../src/query/plan.ts";
import { parseZone } from "../../../src/query/zone.ts";
import { event, groupPlan, MORNING, newLog, write } from "../../contract/store-fixture.ts";
import { evaluateGroup } from "../../reference/groups.ts";
import { elasticsearchClient } from "../../support/elasticsearch.ts";
import { SILENT } from "./rebuild-fixture.ts";
import { serially, open, attributes, COUNT, listsAgree, agreeOnGroups } from "./attributes-fixture.ts";

serially("places: near measures like the reference, to the millimetre at the edge", async (t) => {
  const { store } = await open(t);
  const log = newLog();
  const centres = [
    [0, 179.9999],
    [89.9, 12],
    [-33.5, -70.25],
  ] as const;
  const events = centres.flatMap(([lat, lon]) =>
    Array.from({ length: 40 }, (_, i) => {
      // Degrees at distances of 10 km, plus or minus some millimetres, centimetres or metres.
      const km = 10 + (i % 2 === 0 ? 1 : -1) * 10 ** (((i >> 1) % 8) - 7);
      const degrees = (km / 6_371.0088) * (180 / Math.PI);
      return event(log, {
        created: MORNING + i,
        geo: { lat: lat - (i < 20 ? degrees : 0), lon: i < 20 ? lon : lon - degrees },
      });
    }),
  );
  await write(t, store, events);
  for (const [lat, lon] of centres) {
    for (const km of [0, 9.999, 10, 10.0000001, 10.5, 20_020]) {
      const where: Condition = { kind: "geo-near", lat, lon, km };
      await listsAgree(t, store, events, { where });
      await listsAgree(t, store, events, { where: { kind: "not", condition: where } });
    }
  }
  await listsAgree(t, store, events, {
    where: { kind: "geo-within", south: -1, west: 179.95, north: 1, east: -179.95 },
  });
});

serially("groups: distinct values are exact to 10,000 and within 2 % beyond, and ranks within 1 %", async (t) => {
  const { store } = await open(t);
  const log = newLog();
  const events = Array.from({ length: 40_000 }, (_, i) =>
    event(log, {
      created: MORNING + i * 3_600,
      source: i % 4 === 0 ? "few" : "many",
      attributes: attributes({ user: `user ${i}`, took: (i * 7919) % 40_009 }),
    }),
  );
  for (let from = 0; from < events.length; from += 5000) await write(t, store, events.slice(from, from + 5000));
  const aggregates: Aggregate[] = [
    { kind: "distinct", field: "@user" },
    ...[1, 50, 95, 99.9].map((percent): Aggregate => ({ kind: "percentile", of: "@took", percent })),
  ];
  const plan = groupPlan(log, { by: [{ kind: "field", field: "source" }], aggregates });
  const groups = await store.group(plan);
  const again = await store.group(plan);
  // Ranks are estimated anew, differently if segments have merged since.
  const countsOf = (found: typeof groups) => found.map(({ keys, values }) => [keys, values[0]]);
  t.deepEqual(countsOf(again), countsOf(groups), "queried again, when the groups are known to be many");
  const [few, many] = groups;
  t.is(few!.values[0], 10_000);
  const users = many!.values[0] as number;
  t.true(Math.abs(users - 30_000) <= 600, String(users));
  for (const [i, percent] of [1, 50, 95, 99.9].entries()) {
    const sorted = events
      .filter(({ source }) => source === "many")
      .map(tookOf)
      .sort((a, b) => a - b);
    const rank = sorted.findLastIndex((took) => took <= (many!.values[i + 1] as number)) + 1;
    t.true(Math.abs(rank / sorted.length - percent / 100) <= 0.01, `P${percent} is of rank ${rank}`);
  }
  // The clock of Berlin changes on two of these days; groups that span two intervals are merged.
  const months = groupPlan(log, {
    by: [{ kind: "period", unit: "months", count: 1, zone: parseZone("Europe/Berlin") }],
    aggregates: [COUNT, aggregates[0]!],
  });
  t.is((await store.group(months)).length, evaluateGroup({ ...months, aggregates: [COUNT] }, events).length);
});

serially("groups: by an attribute, and with aggregates, take one request once their number is known", async (t) => {
  const counting = elasticsearchClient(SILENT);
  t.teardown(() => counting.close());
  const { store } = await open(t, counting);
  const shop = newLog();
  const events = Array.from({ length: 3_000 }, (_, i) =>
    event(shop, {
      created: MORNING + i,
      source: `source ${i % 3}`,
      attributes: attributes({
        route: [`route ${i % 7}`, `route ${i % 11}`],
        ...(i % 3 > 0 && { user: `user ${i}` }),
      }),
    }),
  );
  await write(t, store, events);
  let requests = 0;
  counting.diagnostic.on("request", () => (requests += 1));
  const byRoute: GroupPlan["by"] = [{ kind: "field", field: "@route" }];
  const distinct: Aggregate = { kind: "distinct", field: "@user" };
  for (const asked of [
    { by: byRoute, aggregates: [COUNT] },
    { by: [{ kind: "field", field: "@user" }], aggregates: [COUNT] },
    { by: byRoute, aggregates: [COUNT, { kind: "percentile", of: "value", percent: 95 }] },
    { by: [], aggregates: [distinct, { kind: "distinct", field: "source" }] },
    { by: byRoute, aggregates: [distinct] },
    { by: [...byRoute, { kind: "field", field: "source" }], aggregates: [distinct] },
  ] satisfies Partial<GroupPlan>[]) {
    await agreeOnGroups(t, store, events, asked);
    requests = 0;
    await agreeOnGroups(t, store, events, asked);
    t.is(requests, 1, JSON.stringify(asked));
  }
});

function tookOf({ attributes }: StoredEvent): number {
  return (JSON.parse(attributes!) as { took: number }).took;
}

serially("groups: percentiles and distinct values of a day with a clock change cover the whole day", async (t) => {
  const { store } = await open(t);
  const log = newLog();
  for (const [zone, middle] of [
    ["Europe/Berlin", Date.UTC(2024, 9, 27, 1)],
    ["Europe/Berlin", Date.UTC(2024, 2, 31, 1)],
    ["Australia/Lord_Howe", Date.UTC(2024, 3, 6, 15)],
    // The clock goes back across midnight.
    ["America/St_Johns", Date.UTC(2006, 9, 29, 2, 31)],
  ] as const) {
    const own = newLog();
    const events = Array.from({ length: 200 }, (_, i) =>
      event(own, { created: middle + (i - 100) * 1_700_000, value: i, source: `s${i % 9}` }),
    );
    await write(t, store, events);
    for (const [unit, count] of [
      ["minutes", 20],
      ["hours", 1],
      ["hours", 6],
      ["days", 1],
      ["days", 3],
      ["weeks", 1],
      ["months", 1],
    ] as const) {
      await agreeOnGroups(t, store, events, {
        by: [
          { kind: "period", unit, count, zone: parseZone(zone) },
          { kind: "bands", of: "value", bounds: [50, 150] },
        ],
        aggregates: [COUNT, { kind: "percentile", of: "value", percent: 50 }, { kind: "distinct", field: "source" }],
      });
    }
  }
  t.deepEqual(await store.group(groupPlan(log, { by: [], aggregates: [COUNT] })), [{ keys: [], values: [0] }]);
});
