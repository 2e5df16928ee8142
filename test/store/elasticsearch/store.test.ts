import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import { pino } from "pino";

import { createElasticsearchClient } from "../../../src/elasticsearch/client.ts";
import type { StoredEvent } from "../../../src/events/event.ts";
import { EVERYTHING } from "../../../src/query/plan.ts";
import type { ListPlan } from "../../../src/query/plan.ts";
import { LAYOUT_VERSION, namesIn } from "../../../src/store/elasticsearch/documents/mapping.ts";
import { openElasticsearchStore } from "../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { fixedZone, parseZone } from "../../../src/query/zone.ts";
import {
  deleteAlerts,
  event,
  groupPlan,
  listPlan,
  MORNING,
  newLog,
  newUser,
  pageOf,
  row,
  write,
} from "../../contract/store-fixture.ts";
import { evaluateList } from "../../reference/evaluate.ts";
import { groupsAgree } from "../../reference/groups.ts";
import { elasticsearchClient, QUERY_TIMEOUT_MS } from "../../support/elasticsearch.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { uniqueName } from "../../support/temporary.ts";
import { writeEvents } from "../../support/write-events.ts";
import { COUNT as COUNTS, MAX, SUM, hour, usualGroups } from "../../support/groups.ts";

const log = pino({ level: "silent" });
const COUNT = 25_000;
const HOUR_MS = 3_600_000;

if (realEngines) {
  const namespace = uniqueName("store");
  const many = newLog();
  const events: StoredEvent[] = [];
  const few = newLog();
  const fewEvents = Array.from({ length: 3000 }, (_, i) =>
    event(few, { created: MORNING + i * HOUR_MS, text: `Request ${i} took ${i % 97} ms`, value: i % 250 }),
  );
  let client: Client;
  let store: Store;

  test.before(async (t) => {
    client = elasticsearchClient();
    store = await openElasticsearchStore({ client, namespace, log, queryTimeout_ms: QUERY_TIMEOUT_MS });
    for (let i = 0; i < COUNT; i++) {
      // Over three months: half of the events in one millisecond, many in some minutes, none in
      // most hours.
      const created = i % 2 === 0 ? MORNING : MORNING + ((i * 7919) % 2000) * HOUR_MS + (i % 3) * 17;
      events.push(
        event(many, {
          created,
          text: `Request ${i} took ${i % 97} ms`,
          source: `host-${i % 12_000}`,
          value: (i % 1000) / 8,
        }),
      );
    }
    await write(t, store, [...events, ...fewEvents]);
  });

  test("events with large data are listed without it, and all others are read from the source", async (t) => {
    const own = elasticsearchClient();
    const lists = await openElasticsearchStore({ client: own, namespace, log });
    // The body of the last request: a search of a new index is sent again.
    let asked: unknown;
    own.diagnostic.on("request", (_error, request) => {
      const { path = "", body } = request?.meta.request.params ?? {};
      if (typeof body !== "string") return;
      if (path.startsWith(`/${namesIn(namespace).events}/_search`)) asked = sourceOf(body);
      // A search for each index: the line after the one that names the index.
      if (path === "/_msearch") asked = sourceOf(body.split("\n")[1]!);
    });
    const sourceOf = (search: string): unknown => (JSON.parse(search) as Record<string, unknown>)["_source"];
    const [plain, rich, hidden] = [newLog(), newLog(), newLog()];
    const written = [
      event(plain),
      event(plain, { text: "Something else" }),
      event(rich),
      event(rich, { data: "d".repeat(5_000) }),
      // In another month, so that there are at least two indices.
      event(hidden, { created: Date.UTC(2024, 5, 4), data: "d".repeat(5_000) }),
    ];
    await write(t, store, written);
    const without = { excludes: ["data", "folded", "indexed", "place"] };
    const found: ListPlan["where"] = { kind: "matches", field: "text", pattern: "^some.hing" };
    for (const [logs, where, source] of [
      [[plain], EVERYTHING, true],
      [[rich], EVERYTHING, true],
      [[rich], EVERYTHING, without],
      [[rich], found, without],
      [[plain], found, true],
      [[plain, rich], found, without],
    ] as const) {
      const { rows } = await lists.list(listPlan(logs, { where }));
      t.deepEqual(
        rows,
        written.filter((each) => logs.some((log) => log === each.log)).map((each) => row(each)),
      );
      t.deepEqual(asked, source);
    }
    // Also if none of the rows read along with it match: this one has the word, but not in the
    // given case.
    const small: ListPlan["where"] = { kind: "matches", field: "text", pattern: "(?-i:something)" };
    for (const source of [true, without]) {
      t.deepEqual((await lists.list(listPlan(hidden, { where: small }))).rows, []);
      t.deepEqual(asked, source);
    }
    await lists[Symbol.asyncDispose]();
    await own.close();
  });

  test.after.always(async () => {
    const { [namespace]: _, ...indices } = await client.indices.get({ index: `${namespace}-*` });
    await client.indices.delete({ index: Object.keys(indices) });
    await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
    await client.close();
  });

  const farPages: readonly [what: string, fields: Partial<ListPlan>][] = [
    ["the last page that a search reaches", { skip: 9900, take: 100 }],
    ["the first page that no search reaches", { skip: 9901, take: 100 }],
    ["within one millisecond", { skip: 12_345, take: 50 }],
    ["past it", { skip: 13_500, take: 500 }],
    ["the last, which is short", { skip: COUNT - 7, take: 100 }],
    ["after the last", { skip: COUNT, take: 100 }],
    ["far after the last", { skip: COUNT * 10, take: 100 }],
    ["newest first", { sort: [{ field: "created", direction: "desc" }], skip: 11_000, take: 100 }],
    ["newest first, from the end", { sort: [{ field: "created", direction: "desc" }], skip: 20_000, take: 100 }],
    [
      "by time, then text",
      {
        sort: [
          { field: "created", direction: "asc" },
          { field: "text", direction: "desc" },
        ],
        skip: 12_000,
        take: 20,
      },
    ],
    ["by source", { sort: [{ field: "source", direction: "asc" }], skip: 11_500, take: 100 }],
    ["by source, from the end", { sort: [{ field: "source", direction: "desc" }], skip: 19_990, take: 100 }],
    ["by value", { sort: [{ field: "value", direction: "desc" }], skip: 12_499, take: 100 }],
    ["of absent values", { sort: [{ field: "class", direction: "asc" }], skip: 12_499, take: 100 }],
    ["by id", { sort: [{ field: "id", direction: "desc" }], skip: 12_000, take: 10 }],
  ];

  for (const [what, fields] of farPages) {
    test(`pages: ${what}`, async (t) => {
      const plan = listPlan(many, fields);
      const page = await store.list(plan);
      const expected = evaluateList(plan, events);
      t.is(page.total, expected.total);
      t.deepEqual(
        page.rows.map(({ id }) => id),
        expected.rows.map(({ id }) => id),
      );
    });
  }

  test("pages: order by time alone, unless adjacent events share a moment", async (t) => {
    const own = elasticsearchClient();
    const lists = await openElasticsearchStore({ client: own, namespace, log });
    /** The number of sort fields of each search for a page. */
    let orders: number[] = [];
    own.diagnostic.on("request", (_error, request) => {
      const { path = "", body } = request?.meta.request.params ?? {};
      if (!path.startsWith(`/${namesIn(namespace).events}/_search`) || typeof body !== "string") return;
      orders.push((JSON.parse(body) as { sort: unknown[] }).sort.length);
    });
    const written: StoredEvent[] = [];
    /** Two events for each moment, the later one with the smaller id. */
    const pairsOf = (key: StoredEvent["log"]): StoredEvent[] =>
      Array.from({ length: 5 }, (_, i) => event(key, { created: MORNING + i })).flatMap((first) => [
        event(key, { created: first.created }),
        first,
      ]);
    const ask = async (key: StoredEvent["log"], skip: number, take: number): Promise<number[]> => {
      for (const direction of ["asc", "desc"] as const) {
        const plan = listPlan(key, { sort: [{ field: "created", direction }], skip, take });
        orders = [];
        t.deepEqual(await pageOf(lists, plan), evaluateList(plan, written), `${skip} ${take} ${direction}`);
      }
      return orders;
    };
    const [whole, beginning, ending] = [newLog(), newLog(), newLog()];
    for (const key of [whole, beginning, ending]) written.push(...pairsOf(key));
    await write(t, store, written);
    // A first search, so that the retry for a new index is not counted.
    await lists.list(listPlan(newLog()));
    for (const [skip, take] of [
      [0, 2],
      [4, 4],
      [8, 2],
      [8, 20],
      [0, 10],
      [10, 10],
      [11, 1],
      [500, 3],
    ] as const) {
      t.deepEqual(await ask(whole, skip, take), [1], `${skip} ${take}`);
    }
    t.deepEqual(await ask(ending, 0, 3), [2], "the order of time was given up in the first of both directions");
    t.deepEqual(await ask(beginning, 3, 3), [2]);
    t.deepEqual(await ask(beginning, 4, 2), [2], "nor is it tried again at once");
    t.deepEqual(await ask(whole, 4, 2), [1], "in another log it is");
    await lists[Symbol.asyncDispose]();
    await own.close();
  });

  test("groups: more than one request returns are complete, in every order", async (t) => {
    for (const plan of [
      groupPlan(many, { by: [{ kind: "field", field: "source" }] }),
      groupPlan(many, {
        by: [{ kind: "field", field: "text" }],
        sort: { by: MAX, direction: "desc" },
        skip: 3,
        take: 10,
      }),
      groupPlan(many, { by: [{ kind: "field", field: "value" }], sort: { by: COUNTS, direction: "asc" } }),
      groupPlan(many, { by: [hour(fixedZone(345))], sort: { by: SUM, direction: "desc" } }),
    ]) {
      t.true(groupsAgree(plan, await store.group(plan), events), JSON.stringify(plan.by));
    }
  });

  test("groups: more hours than one histogram returns", async (t) => {
    const hourly = newLog();
    const count = 66_000;
    // Accepted within one month, whatever time the producer gave.
    const hours = Array.from({ length: count }, (_, i) =>
      event(hourly, { id: event(hourly).id, created: MORNING - i * HOUR_MS, value: i }),
    );
    for (let i = 0; i < count; i += 10_000) {
      t.true((await writeEvents(store, hours.slice(i, i + 10_000))).every(({ kind }) => kind === "done"));
    }
    await store.refresh();
    for (const zone of [fixedZone(345), parseZone("Europe/Berlin")]) {
      const plan = groupPlan(hourly, { by: [hour(zone)] });
      t.true(groupsAgree(plan, await store.group(plan), hours));
    }
  });

  const expressions = [
    "\\brequest 1\\d*7\\b", // exact, with word boundaries
    "(\\b[0-9]+\\b ?)+ took", // widened: each candidate is checked
    "request .{0,90}1 ms", // too large for the engine's automaton
    "(?-i:request)",
  ];
  for (const pattern of expressions) {
    test(`expressions: /${pattern}/ gives the same lists, totals and groups`, async (t) => {
      for (const where of [
        { kind: "matches" as const, field: "text" as const, pattern },
        { kind: "not" as const, condition: { kind: "matches" as const, field: "text" as const, pattern } },
      ]) {
        const list = listPlan(few, { where, sort: [{ field: "value", direction: "desc" }], skip: 20, take: 30 });
        t.deepEqual(await pageOf(store, list), evaluateList(list, fewEvents));
        const group = groupPlan(few, { where, by: [hour(fixedZone(-90))] });
        t.true(groupsAgree(group, await store.group(group), fewEvents));
      }
    });
  }

  test("an event that the engine cannot store is rejected, and those beside it are stored", async (t) => {
    const key = newLog();
    const outcomes = await writeEvents(store, [
      event(key, { text: "before" }),
      event(key, { text: "x".repeat(40_000) }),
      event(key, { text: "after" }),
    ]);
    t.deepEqual(
      outcomes.map(({ kind }) => kind),
      ["done", "rejected", "done"],
    );
    const [, outcome] = outcomes;
    t.regex(outcome?.kind === "rejected" ? outcome.reason : "", /immense term|32766/);
    await store.refresh();
    const page = await store.list(listPlan(key));
    t.deepEqual(
      page.rows.map(({ text }) => text),
      ["before", "after"],
    );
  });

  test("events are stored in the index of the month of their id", async (t) => {
    const key = newLog();
    const [may, june] = [
      event(key, { created: Date.UTC(2031, 4, 31, 23, 59, 59, 999) }),
      event(key, { created: Date.UTC(2031, 5, 1) }),
    ];
    await writeEvents(store, [may, june]);
    for (const [{ id }, month] of [
      [may, "2031.05"],
      [june, "2031.06"],
    ] as const) {
      t.true(await client.exists({ index: `${namespace}-events-${month}`, id }));
    }
  });

  test("processes that start at once on an empty cluster find it empty and do not disturb each other", async (t) => {
    const empty = uniqueName("empty");
    t.teardown(() => client.indices.deleteIndexTemplate({ name: `${empty}-*` }));
    const stores = await Promise.all(
      Array.from({ length: 4 }, () => openElasticsearchStore({ client, namespace: empty, log })),
    );
    const [key, user] = [newLog(), newUser()];
    const { id } = event(key);
    for (const each of stores) {
      await each.refresh();
      for (const kind of ["events", "bookmarks", "alerts"] as const) {
        const from = kind === "events" ? { kind } : { kind, user };
        t.deepEqual(await pageOf(each, listPlan(key, { from })), { rows: [], total: 0 });
        t.deepEqual(await pageOf(each, listPlan(key, { from, skip: 20_000 })), { rows: [], total: 0 });
        t.deepEqual(await usualGroups(each, groupPlan(key, { from, by: [{ kind: "field", field: "source" }] })), []);
        t.deepEqual(await usualGroups(each, groupPlan(key, { from })), []);
        t.is(await each.find(from, key, id), null);
      }
      t.is((await each.annotations([id])).size, 0);
      t.false(await each.deleteEvent(key, id));
      t.false(await each.addBookmark(user, key, id));
      t.false(await each.deleteBookmark(user, key, id));
      t.false(await each.deleteAlert(user, key, id));
      await t.notThrowsAsync(() => deleteAlerts(each, user));
    }
  });

  for (const layout of [LAYOUT_VERSION - 1, LAYOUT_VERSION + 1]) {
    test(`a template of layout ${layout} is refused and left unchanged`, async (t) => {
      const other = uniqueName("other");
      const name = `${other}-events`;
      t.teardown(() => client.indices.deleteIndexTemplate({ name: `${other}-*` }));
      const template = { index_patterns: [`${name}-*`], _meta: { layout } };
      await client.indices.putIndexTemplate({ name, ...template });
      await t.throwsAsync(() => openElasticsearchStore({ client, namespace: other, log }), {
        name: "StartError",
        message:
          `The Elasticsearch index template ${name} has layout ${layout}; ` +
          `this release reads layout ${LAYOUT_VERSION}: start the release that wrote it`,
      });
      const { index_templates: found } = await client.indices.getIndexTemplate({ name: `${other}-*` });
      t.like(found, { length: 1, 0: { index_template: template } });
    });
  }

  test("an index of another layout is refused", async (t) => {
    const other = uniqueName("other");
    const index = `${other}-events-2026.10`;
    const layout = LAYOUT_VERSION - 1;
    t.teardown(() => client.indices.delete({ index }));
    await client.indices.create({ index, aliases: { [`${other}-events`]: {} }, mappings: { _meta: { layout } } });
    await t.throwsAsync(() => openElasticsearchStore({ client, namespace: other, log }), {
      name: "StartError",
      message:
        `The Elasticsearch index ${index} has layout ${layout}; ` +
        `this release reads layout ${LAYOUT_VERSION}: start the release that wrote it`,
    });
    t.false(await client.indices.existsIndexTemplate({ name: `${other}-*` }), "nothing was changed");
  });
}

test("an unreachable store is reported", async (t) => {
  const nobody = createElasticsearchClient({ nodes: ["http://127.0.0.1:9"], log });
  await t.throwsAsync(() => openElasticsearchStore({ client: nobody, namespace: "nobody", log }), {
    code: "store_unavailable",
    message: /http:\/\/127\.0\.0\.1:9 cannot be reached/,
  });
});

test("a namespace that is not a valid prefix of index names is refused", async (t) => {
  const nobody = createElasticsearchClient({ nodes: ["http://127.0.0.1:9"], log });
  await t.throwsAsync(() => openElasticsearchStore({ client: nobody, namespace: "_Loggia", log }), {
    name: "StartError",
  });
});
