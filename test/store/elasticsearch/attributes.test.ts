import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import type { ExecutionContext } from "ava";

import { createElasticsearchClient } from "../../../src/elasticsearch/client.ts";
import { encodeAttributes } from "../../../src/events/attributes.ts";
import type { AttributeValue } from "../../../src/events/attributes.ts";
import type { LogKey, StoredEvent } from "../../../src/events/event.ts";
import type { Aggregate, Condition, GroupPlan, SortKey } from "../../../src/query/plan.ts";
import { encodeDocument, NO_COLUMNS } from "../../../src/store/elasticsearch/document.ts";
import { namesIn } from "../../../src/store/elasticsearch/mapping.ts";
import type { Names } from "../../../src/store/elasticsearch/mapping.ts";
import { openElasticsearchStore } from "../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { parseZone } from "../../../src/query/zone.ts";
import { event, groupPlan, listPlan, MORNING, newLog, write } from "../../contract/store-fixture.ts";
import { evaluateFields } from "../../reference/fields.ts";
import { evaluateList } from "../../reference/evaluate.ts";
import { evaluateGroup, groupsAgree } from "../../reference/groups.ts";
import { elasticsearchUrl, realEngines } from "../../support/engines.ts";
import { uniqueName } from "../../support/temporary.ts";
import { SILENT } from "./rebuild-fixture.ts";

const client: Client = realEngines ? createElasticsearchClient({ nodes: [elasticsearchUrl()], log: SILENT }) : null!;
const serially = realEngines ? test.serial : test.skip;

test.after.always(() => client?.close());

type Place = { readonly store: Store; readonly names: Names; readonly reopen: () => Promise<Store> };

/**
 * @param prepare what the cluster holds before the store is opened
 * @param own the client of the store
 * @param personOf who owns a log; each its own unless given
 */
async function open(
  t: ExecutionContext,
  prepare: (names: Names) => Promise<void> = async () => {},
  own = client,
  personOf: (log: LogKey) => string = (log) => log,
): Promise<Place> {
  t.timeout(240_000);
  const namespace = uniqueName("attributes");
  const names = namesIn(namespace);
  t.teardown(async () => {
    const left = Object.keys(await client.indices.get({ index: `${namespace}-*` }));
    if (left.length > 0) await client.indices.delete({ index: left });
    await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
  });
  await prepare(names);
  const reopen = async (): Promise<Store> => {
    const store = await openElasticsearchStore({ client: own, namespace, log: SILENT, personOf });
    t.teardown(() => store[Symbol.asyncDispose]());
    return store;
  };
  return { store: await reopen(), names, reopen };
}

function attributes(values: Record<string, AttributeValue | readonly AttributeValue[]>): string {
  return encodeAttributes(new Map(Object.entries(values)));
}

const COUNT: Aggregate = { kind: "count", where: null };

async function listsAgree(
  t: ExecutionContext,
  store: Store,
  events: readonly StoredEvent[],
  asked: { where?: Condition; sort?: readonly SortKey[] },
): Promise<void> {
  const plan = listPlan(events[0]!.log, { ...asked, skip: 1, take: 50 });
  const { rows, total } = await store.list(plan);
  const expected = evaluateList(plan, events);
  t.deepEqual(
    { ids: rows.map(({ id }) => id), total },
    { ids: expected.rows.map(({ id }) => id), total: expected.total },
  );
}

async function agreeOnGroups(
  t: ExecutionContext,
  store: Store,
  events: readonly StoredEvent[],
  asked: Partial<GroupPlan>,
): Promise<void> {
  const plan = groupPlan(events[0]!.log, asked);
  const groups = await store.group(plan);
  t.true(groupsAgree(plan, groups, events), JSON.stringify({ asked, groups: groups.slice(0, 5) }));
}

serially("attributes: ten thousand names in one log neither fail nor keep another log's from columns", async (t) => {
  const { store, names, reopen } = await open(t);
  const [wild, calm] = [newLog(), newLog()];
  const events = Array.from({ length: 200 }, (_, i) => {
    const odd = Array.from(
      { length: 50 },
      (_, k) => [`name ${i * 50 + k}`, k % 2 === 0 ? i * 50 + k : `V${k}`] as const,
    );
    return event(wild, { created: MORNING + i, attributes: attributes({ common: i % 7, ...Object.fromEntries(odd) }) });
  });
  await write(t, store, events.slice(0, 100));
  // Another process sees what this one did.
  const other = await reopen();
  await write(t, other, events.slice(100));
  const calmEvents = Array.from({ length: 20 }, (_, i) =>
    event(calm, {
      created: MORNING + i,
      attributes: attributes({ "calm.took": i * 1.5, "calm.kind": i % 3 === 0 ? "A" : "b" }),
    }),
  );
  await write(t, other, calmEvents);

  const [mapping] = Object.values(await client.indices.getMapping({ index: names.events }));
  const mapped = JSON.stringify(mapping).match(/name%20\d+/g) ?? [];
  t.true(mapped.length > 100 && new Set(mapped).size <= 256, `${mapped.length} columns`);
  t.true(JSON.stringify(mapping).includes("calm%2Etook"));

  // The last name has no columns, the first has.
  for (const name of ["@name 0", "@name 9998", "@name 9999", "@common"] as const) {
    for (const where of [
      { kind: "number", field: name, op: ">=", value: 4 },
      { kind: "text", field: name, op: "=", value: "v49" },
      { kind: "contains", field: name, value: "v4" },
      { kind: "not", condition: { kind: "absent", field: name } },
    ] as const) {
      await listsAgree(t, store, events, { where });
    }
    await listsAgree(t, store, events, { sort: [{ field: name, direction: "desc" }] });
    await agreeOnGroups(t, store, events, { by: [{ kind: "field", field: name }] });
    await agreeOnGroups(t, store, events, {
      by: [{ kind: "bands", of: name, bounds: [3, 9_998] }],
      aggregates: [COUNT, { kind: "sum", of: name }, { kind: "distinct", field: name }, { kind: "last", field: name }],
    });
  }
  t.is((await store.attributeNames(wild)).length, 10_001);
  const asked = { log: wild, from: null, to: null, prefix: "@name 99", values: 2 };
  t.deepEqual(await store.fields(asked), evaluateFields(events, asked));
  await agreeOnGroups(t, store, calmEvents, {
    by: [{ kind: "field", field: "@calm.kind" }],
    aggregates: [COUNT, { kind: "avg", of: "@calm.took" }, { kind: "percentile", of: "@calm.took", percent: 95 }],
  });
});

serially("attributes: the logs of one person leave room in an index for those of others", async (t) => {
  const mine = new Set(Array.from({ length: 14 }, newLog));
  const personOf = (log: LogKey): string => (mine.has(log) ? "ann" : log);
  const { store, names, reopen } = await open(t, undefined, client, personOf);
  const wild = [...mine].flatMap((log, of) =>
    Array.from({ length: 2 }, (_, i) => {
      const odd = Array.from({ length: 256 }, (_, k) => [`of ${of} ${k}`, k % 2 === 0 ? k + i : `V${k}`] as const);
      return event(log, { created: MORNING + i, attributes: attributes(Object.fromEntries(odd)) });
    }),
  );
  await write(t, store, wild.slice(0, 14));
  // A process that starts later knows what the person has.
  const other = await reopen();
  await write(t, other, wild);
  const calm = newLog();
  const events = Array.from({ length: 20 }, (_, i) =>
    event(calm, {
      created: MORNING + i,
      attributes: attributes({ one: i, two: `T${i % 3}`, three: i % 2 === 0, four: i / 2, "five.six": `${i}x` }),
    }),
  );
  await write(t, other, events);
  const [mapping] = Object.values(await client.indices.getMapping({ index: names.events }));
  const mapped = JSON.stringify(mapping);
  const ofAnn = new Set(mapped.match(/of%20\d+%20\d+/g)).size;
  t.true(ofAnn >= 256 && ofAnn <= 500, `${ofAnn} of the person's names`);
  for (const key of ["one", "two", "three", "four", "five%2Esix"]) t.true(mapped.includes(`"${key}":{"type"`), key);
  const columnless = { bool: { filter: { term: { log: calm } }, must: { exists: { field: "indexed.rest" } } } };
  t.is((await client.count({ index: names.events, query: columnless })).count, 0);
  t.is((await client.count({ index: names.events, query: { exists: { field: "_ignored" } } })).count, 0);
  for (const field of ["@one", "@two", "@three", "@five.six"] as const) {
    await agreeOnGroups(t, other, events, { by: [{ kind: "field", field }] });
    await listsAgree(t, other, events, { sort: [{ field, direction: "desc" }] });
  }
  const some = wild.filter(({ log }) => log === wild.at(-1)!.log);
  for (const field of ["@of 13 0", "@of 13 255"] as const) {
    await agreeOnGroups(t, other, some, { by: [{ kind: "field", field }] });
    await listsAgree(t, other, some, { where: { kind: "not", condition: { kind: "absent", field } } });
  }
});

serially("attributes: what an index has no room for is answered all the same", async (t) => {
  const { store, names } = await open(t);
  const log = newLog();
  const made = event(log, { attributes: attributes({ first: 1 }) });
  await write(t, store, [made]);
  const [index] = Object.keys(await client.indices.get({ index: names.events }));
  await client.indices.putSettings({ index: index!, settings: { "index.mapping.total_fields.limit": 60 } });
  const events = Array.from({ length: 60 }, (_, i) =>
    event(log, {
      created: MORNING + i,
      attributes: attributes({ first: i, [`of ${i % 12}`]: i % 5 === 0 ? `T${i}` : i }),
    }),
  );
  await write(t, store, events);
  const all = [made, ...events];
  const { count } = await client.count({ index: names.events, query: { exists: { field: "_ignored" } } });
  t.true(count > 0);
  for (let i = 0; i < 12; i++) {
    const field = `@of ${i}` as const;
    await listsAgree(t, store, all, { where: { kind: "number", field, op: "<", value: 40 } });
    await listsAgree(t, store, all, { sort: [{ field, direction: "asc" }] });
    await agreeOnGroups(t, store, all, {
      by: [{ kind: "field", field }],
      aggregates: [COUNT, { kind: "max", of: field }],
    });
  }
  const asked = { log, from: null, to: null, prefix: "@", values: 3 };
  t.deepEqual(await store.fields(asked), evaluateFields(all, asked));
});

/** As layout 2 made an index of events. */
async function makeEarlierIndex(names: Names, index: string): Promise<void> {
  const keyword = { type: "keyword" } as const;
  const column = { type: "keyword", index: false } as const;
  await client.indices.create({
    index,
    aliases: { [names.events]: {} },
    mappings: {
      dynamic: false,
      properties: {
        ...Object.fromEntries(["id", "log", "owner"].map((name) => [name, keyword])),
        created: { type: "date", format: "epoch_millis" },
        value: { type: "double" },
        ...Object.fromEntries(
          ["text", "link", "hash", "tags", "source", "class", "user"].map((name) => [name, column]),
        ),
        has: { type: "keyword", doc_values: false },
        folded: {
          properties: {
            text: {
              ...column,
              fields: { letters: { type: "text", analyzer: "simple", index_options: "docs", norms: false } },
            },
            digits: { type: "text", analyzer: "whitespace", index_options: "docs", norms: false },
            link: column,
            hash: column,
            ...Object.fromEntries(["tags", "source", "class", "user"].map((name) => [name, keyword])),
          },
        },
      },
    },
  });
}

/** As layout 2 wrote it: without a pattern, a place and attributes. */
function encodedByLayout2(event: StoredEvent): string {
  const { pattern: _, place: __, folded, has, ...document } = JSON.parse(encodeDocument(event, NO_COLUMNS));
  const { pattern: ___, ...others } = folded;
  const marks = has?.filter((mark: string) => mark !== "geo-address");
  return JSON.stringify({ ...document, folded: others, has: marks });
}

serially("attributes: an index of an earlier release is read rightly, takes new events, and is rebuilt", async (t) => {
  const log = newLog();
  const make = (i: number, fields: Partial<StoredEvent>): StoredEvent =>
    event(log, {
      created: MORNING + i,
      text: i % 4 === 0 ? `Disk ${i} is full` : `took ${i} ms`,
      geo: i % 3 === 0 ? null : i % 3 === 1 ? { lat: 40 + i / 1000, lon: 10 } : { ip: "192.0.2.1" },
      ...fields,
    });
  const old = Array.from({ length: 24 }, (_, i) => make(i, {}));
  const { store, names } = await open(t, async (names) => {
    const index = names.eventsOf(old[0]!.id);
    await makeEarlierIndex(names, index);
    const operations = old.flatMap((one) => [{ create: { _index: index, _id: one.id } }, encodedByLayout2(one)]);
    t.false((await client.bulk({ operations, refresh: true })).errors);
  });
  const added = Array.from({ length: 24 }, (_, i) =>
    make(100 + i, { attributes: attributes({ took: i, host: i % 2 === 0 ? "Web" : "db" }) }),
  );
  await write(t, store, added);
  const events = [...old, ...added];
  const check = async (): Promise<void> => {
    for (const where of CONDITIONS_ON_ADDED) {
      await listsAgree(t, store, events, { where });
      await listsAgree(t, store, events, { where: { kind: "not", condition: where } });
    }
    await listsAgree(t, store, events, {
      sort: [
        { field: "pattern", direction: "desc" },
        { field: "@took", direction: "asc" },
      ],
    });
    await agreeOnGroups(t, store, events, {
      by: [{ kind: "field", field: "pattern" }],
      aggregates: [COUNT, { kind: "avg", of: "@took" }, { kind: "count", where: CONDITIONS_ON_ADDED[0]! }],
    });
    await agreeOnGroups(t, store, events, {
      by: [{ kind: "field", field: "@host" }],
      aggregates: [COUNT, { kind: "first", field: "pattern" }, { kind: "distinct", field: "pattern" }],
    });
    const asked = { log, from: null, to: null, prefix: "", values: 5 };
    t.deepEqual(await store.fields(asked), evaluateFields(events, asked));
  };
  await check();
  const { signal } = new AbortController();
  await store.rebuild!({ since: 0, fill: async () => {}, revise: (one) => one, signal });
  const count = async (field: string): Promise<number> =>
    (await client.count({ index: names.events, query: { exists: { field } } })).count;
  t.is(await count("folded.pattern"), events.length);
  t.is(await count("place"), events.filter(({ geo }) => geo !== null && !("ip" in geo)).length);
  await check();
});

const CONDITIONS_ON_ADDED: readonly Condition[] = [
  { kind: "text", field: "pattern", op: "=", value: "took <n> ms" },
  { kind: "contains", field: "pattern", value: "disk" },
  { kind: "geo-within", south: 40.002, west: 9, north: 40.11, east: 11 },
  { kind: "geo-near", lat: 40, lon: 10, km: 11.5 },
  { kind: "number", field: "@took", op: ">", value: 7 },
  { kind: "text", field: "@host", op: "<", value: "e" },
];

serially("places: near is measured as the reference does, to the millimetre on the edge", async (t) => {
  const { store } = await open(t);
  const log = newLog();
  const centres = [
    [0, 179.9999],
    [89.9, 12],
    [-33.5, -70.25],
  ] as const;
  const events = centres.flatMap(([lat, lon]) =>
    Array.from({ length: 40 }, (_, i) => {
      // Degrees that make distances of 10 km and some millimetres, centimetres, metres more or less.
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

serially("groups: many values are counted exactly to 10,000 and within 2 % beyond, and ranks within 1 %", async (t) => {
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
  t.deepEqual(await store.group(plan), groups, "asked again, when it is known that there are many");
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
  // On two of these days the clock of Berlin was set; groups that lie in two stretches are made as one.
  const months = groupPlan(log, {
    by: [{ kind: "period", unit: "months", count: 1, zone: parseZone("Europe/Berlin") }],
    aggregates: [COUNT, aggregates[0]!],
  });
  t.is((await store.group(months)).length, evaluateGroup({ ...months, aggregates: [COUNT] }, events).length);
});

serially(
  "groups: by an attribute, and with numbers of values, take one request once it is known how many there are",
  async (t) => {
    const counting = createElasticsearchClient({ nodes: [elasticsearchUrl()], log: SILENT });
    t.teardown(() => counting.close());
    const { store } = await open(t, undefined, counting);
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
  },
);

function tookOf({ attributes }: StoredEvent): number {
  return (JSON.parse(attributes!) as { took: number }).took;
}

serially("groups: percentiles and distinct values of days on which a clock is set are of the whole day", async (t) => {
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
