import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import type { ExecutionContext } from "ava";
import { pino } from "pino";

import type { StoredEvent } from "../../../src/events/event.ts";
import type { Condition } from "../../../src/query/plan.ts";
import { fixedZone } from "../../../src/query/zone.ts";
import { namesIn } from "../../../src/store/elasticsearch/documents/mapping.ts";
import { openElasticsearchStore } from "../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { event, groupPlan, listPlan, MORNING, newLog, write } from "../../contract/store-fixture.ts";
import { evaluateList } from "../../reference/evaluate.ts";
import { evaluateGroup, groupsAgree } from "../../reference/groups.ts";
import { elasticsearchClient, QUERY_TIMEOUT_MS } from "../../support/elasticsearch.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { uniqueName } from "../../support/temporary.ts";
import { hour } from "../../support/groups.ts";

const log = pino({ level: "silent" });
/** More events than one response of documents with data holds. */
const COUNT = 600;

if (realEngines) {
  const key = newLog();
  const odd = [
    "\u212a9 of a \u017falt pool exhausted",
    `${"a".repeat(250)}exhausted${"b".repeat(30)}`,
    "\u0130d exhausted",
  ];
  const events = [
    ...odd.map((data, i) => event(key, { created: MORNING + i, data, value: i })),
    ...Array.from({ length: COUNT }, (_, i) =>
      event(key, {
        created: MORNING + i * 60_000,
        data: i % 4 === 0 ? null : `{"job":${i}} ${i % 20 === 1 ? "pool exhausted" : "exhausted the pool"} ${i % 3}`,
        source: `host-${i % 7}`,
        user: `user ${i % 50}`,
        value: i % 250,
      }),
    ),
  ];
  let client: Client;
  let store: Store;
  const namespace = uniqueName("data");

  test.before(async (t) => {
    client = elasticsearchClient();
    store = await openElasticsearchStore({ client, namespace, log, queryTimeout_ms: QUERY_TIMEOUT_MS });
    await write(t, store, events);
  });

  test.after.always(async () => {
    await remove(namespace);
    await client.close();
  });

  async function remove(some: string): Promise<void> {
    const indices = Object.keys(await client.indices.get({ index: `${some}-*` }));
    if (indices.length > 0) await client.indices.delete({ index: indices });
    await client.indices.deleteIndexTemplate({ name: `${some}-*` });
  }

  const asked: readonly Condition[] = [
    contains("exhausted"),
    contains("pool exhausted"),
    contains("exhausted the pool"),
    contains("t"),
    contains('"job":123}'),
    contains("salt"),
    matches("pool exhausted [12]$"),
    not(contains("pool exhausted")),
    not(contains("exhausted")),
    {
      kind: "or",
      conditions: [contains("pool exhausted"), { kind: "text", field: "source", op: "=", value: "host-3" }],
    },
    { kind: "and", conditions: [contains("exhausted"), not(matches("pool exhausted [12]$"))] },
  ];
  for (const where of asked) {
    test(`data: ${JSON.stringify(where)} gives the same lists, totals and groups`, async (t) => {
      await agree(t, store, events, where);
    });
  }

  test("data: no column, and no memory of the node, holds it", async (t) => {
    const { events: index } = namesIn(namespace);
    for (const field of ["data", "folded.dataDigits"]) {
      const found = await client.fieldCaps({ index, fields: field });
      for (const { aggregatable, searchable } of Object.values(found.fields[field]!)) {
        t.false(aggregatable);
        t.true(searchable);
      }
    }
  });

  test("data: 65,536 characters without a break are stored and found", async (t) => {
    const own = newLog();
    const some = ["x", "é", "7", "日"].map((character, i) =>
      event(own, { created: MORNING + i, data: `${character.repeat(65_531)}needle`.slice(-65_536) }),
    );
    await write(t, store, some);
    for (const where of [contains("needle"), contains("日n"), contains("xxxneedle"), matches("7n.*e$")]) {
      await agree(t, store, some, where);
    }
  });
} else {
  test.skip("data: these tests need Elasticsearch", (t) => t.pass());
}

function contains(value: string): Condition {
  return { kind: "contains", field: "data", value };
}

function matches(pattern: string): Condition {
  return { kind: "matches", field: "data", pattern };
}

function not(condition: Condition): Condition {
  return { kind: "not", condition };
}

async function agree(
  t: ExecutionContext,
  store: Store,
  events: readonly StoredEvent[],
  where: Condition,
): Promise<void> {
  const what = JSON.stringify(where);
  const key = events[0]!.log;
  const list = listPlan(key, { where, sort: [{ field: "value", direction: "desc" }], skip: 2, take: 30 });
  const expected = evaluateList(list, events);
  const page = await store.list(list);
  t.is(page.total, expected.total, what);
  t.deepEqual(page.rows, expected.rows, what);
  t.deepEqual(await store.rows(list), expected.rows, what);
  const few = await store.list(list, { countUpTo: 60 });
  t.is(few.total, Math.min(expected.total, 60), what);
  t.deepEqual(few.rows, expected.rows, what);
  const group = groupPlan(key, { where, by: [hour(fixedZone(-90))] });
  t.true(groupsAgree(group, await store.group(group), events), what);
  const counted = groupPlan(key, {
    by: [{ kind: "field", field: "source" }],
    aggregates: [
      { kind: "count", where },
      { kind: "distinct", field: "user" },
    ],
    having: { kind: "compare", aggregate: 0, op: ">", value: 2 },
  });
  t.deepEqual(await store.group(counted), evaluateGroup(counted, events), what);
}
