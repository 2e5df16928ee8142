import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import type { ExecutionContext } from "ava";
import fc from "fast-check";
import { pino } from "pino";

import type { LogKey, StoredEvent } from "../../../src/events/event.ts";
import type { Condition } from "../../../src/query/plan.ts";
import { encodeDocument, NO_COLUMNS } from "../../../src/store/elasticsearch/document.ts";
import type { Document } from "../../../src/store/elasticsearch/document.ts";
import { namesIn } from "../../../src/store/elasticsearch/mapping.ts";
import { putTemplates } from "../../../src/store/elasticsearch/templates.ts";
import { openElasticsearchStore } from "../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { fixedZone } from "../../../src/query/zone.ts";
import { event, groupPlan, listPlan, MORNING, newLog, write } from "../../contract/store-fixture.ts";
import { evaluateList } from "../../reference/evaluate.ts";
import { groupsAgree } from "../../reference/groups.ts";
import { elasticsearchClient, QUERY_TIMEOUT_MS } from "../../support/elasticsearch.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { expressions, textsForExpressions } from "../../reference/expressions.ts";
import { uniqueName } from "../../support/temporary.ts";
import { hour } from "../../support/groups.ts";

const log = pino({ level: "silent" });
/** More events than are checked one by one have each of the words `worker` and `slept`. */
const COUNT = 6_000;

if (realEngines) {
  const namespace = uniqueName("words");
  const key = newLog();
  const odd = [
    // The engine's lower-casing turns the first letter of the second word into an i.
    "t\u0130meout of \u0130d 9123",
    // Runs that the engine splits, with the word across the boundary.
    `${"a".repeat(250)}timeout${"b".repeat(30)}`,
    `${"é".repeat(253)}timeout`,
    `at ${"7".repeat(252)}91234567`,
    "timeoutſ of \u212a9123",
    "Timeout\u00e9 id=9123\u0661",
    "日9123 timeout日",
  ];
  const events = [
    ...odd.map((text, i) => event(key, { created: MORNING + i, text, value: i })),
    ...Array.from({ length: COUNT }, (_, i) =>
      event(key, {
        created: MORNING + i * 60_000,
        text: i % 100 === 0 ? `timeout after ${i} ms, id=9${i}` : `worker ${i % 16} slept in room${i % 300} id=${i}`,
        source: `host-${i % 7}`,
        value: i % 250,
      }),
    ),
  ];
  let client: Client;
  let store: Store;

  test.before(async (t) => {
    client = elasticsearchClient();
    store = await openElasticsearchStore({ client, namespace, log, queryTimeout_ms: QUERY_TIMEOUT_MS });
    await write(t, store, events);
  });

  test.after.always(async () => {
    const indices = Object.keys(await client.indices.get({ index: `${namespace}-*` }));
    if (indices.length > 0) await client.indices.delete({ index: indices });
    await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
    await client.close();
  });

  const asked: readonly Condition[] = [
    contains("timeout"),
    contains("9123"),
    contains("worker"),
    contains("room17"),
    matches("timeout.*id=9[0-9]{3}$"),
    matches("[0-9]91234567"),
    matches("a+timeout"),
    matches("(?-i:Timeout)"),
    matches("slept in room2[0-9]{2} "),
    matches("(timeout|room299) "),
    matches("\\b9123\\b"),
    not(contains("slept")),
    not(matches("timeout.*9")),
    { kind: "and", conditions: [contains("worker"), not(contains("room17"))] },
    { kind: "or", conditions: [contains("timeout"), matches("room1[0-9]\\b")] },
  ];
  for (const where of asked) {
    test(`words: ${JSON.stringify(where)} gives the same lists, totals and groups`, async (t) => {
      await agree(t, store, events, where);
    });
  }

  test("words: expressions of all kinds match what they match in the texts themselves", async (t) => {
    const own = newLog();
    const [texts] = fc.sample(fc.array(textsForExpressions, { minLength: 400, maxLength: 400 }), 1);
    const some = texts!.map((text, i) => event(own, { created: MORNING + i, text }));
    await write(t, store, some);
    for (const pattern of fc.sample(expressions, 60)) {
      const plan = listPlan(own, { where: matches(pattern), take: 500 });
      const page = await store.list(plan);
      t.deepEqual(
        page.rows.map(({ text }) => text),
        evaluateList(plan, some).rows.map(({ text }) => text),
        pattern,
      );
    }
  });

  test("words: events written by an earlier release are found beside those of this one", async (t) => {
    const { old, names } = newNamespace(t);
    await putTemplates(client, names, {});
    const own = newLog();
    const [before, after] = [Date.UTC(2031, 4, 1), Date.UTC(2031, 5, 1)].map((moment) =>
      events.slice(0, 500).map((one, i) => event(own, { ...fieldsOf(one), created: moment + i })),
    ) as [StoredEvent[], StoredEvent[]];
    await makeIndexWithoutWords(names.eventsOf(before[0]!.id), names.events);
    const upgraded = await openElasticsearchStore({ client, namespace: old, log });
    await write(t, upgraded, [...before, ...after]);
    for (const where of asked) await agree(t, upgraded, [...before, ...after], where, own);
  });

  test("words: events that an earlier release wrote into an index of this one are found after a rebuild", async (t) => {
    const { old, names } = newNamespace(t);
    const own = newLog();
    const some = events.slice(0, 500).map((one, i) => event(own, { ...fieldsOf(one), created: MORNING + i }));
    const upgraded = await openElasticsearchStore({ client, namespace: old, log });
    const operations = some.flatMap((one) => [
      JSON.stringify({ create: { _index: names.eventsOf(one.id), _id: one.id } }),
      encodedByLayout1(one),
    ]);
    t.false((await client.bulk({ operations, refresh: true })).errors);
    const found = async (): Promise<number> =>
      (await upgraded.list(listPlan(own, { where: matches("timeout.*id=9[0-9]{3}$") }))).total;
    // Verifies the premise: numbers are found by words that the earlier release did not write.
    t.is(await found(), 0);
    const { signal } = new AbortController();
    await upgraded.rebuild!({ since: 0, fill: async () => {}, revise: (one) => one, signal });
    t.is(await found(), 4);
    for (const where of asked) await agree(t, upgraded, some, where);
  });

  /** Returns a namespace for a store of the test's own. */
  function newNamespace(t: ExecutionContext) {
    const old = uniqueName("old");
    t.teardown(async () => {
      await client.indices.delete({ index: Object.keys(await client.indices.get({ index: `${old}-*` })) });
      await client.indices.deleteIndexTemplate({ name: `${old}-*` });
    });
    return { old, names: namesIn(old) };
  }

  /** Creates an index of layout 1, in which the words of documents are not indexed. */
  async function makeIndexWithoutWords(index: string, alias: string): Promise<void> {
    await client.indices.create({ index });
    const { [index]: made } = await client.indices.getMapping({ index });
    await client.indices.delete({ index });
    const { folded, ...properties } = made!.mappings.properties!;
    const { digits: _, ...others } = (folded as { properties: Record<string, object> }).properties;
    await client.indices.deleteIndexTemplate({ name: alias });
    await client.indices.create({
      index,
      aliases: { [alias]: {} },
      mappings: {
        dynamic: false,
        properties: { ...properties, folded: { properties: { ...others, text: { type: "keyword", index: false } } } },
      },
    });
  }
} else {
  test.skip("words: these tests need Elasticsearch", (t) => t.pass());
}

/** Encodes an event as layout 1 did, without words. */
function encodedByLayout1(event: StoredEvent): string {
  const { folded, has: _, ...document } = JSON.parse(encodeDocument(event, NO_COLUMNS)) as Document;
  const { digits: __, ...others } = folded!;
  return JSON.stringify({ ...document, folded: others });
}

function contains(value: string): Condition {
  return { kind: "contains", field: "text", value };
}

function matches(pattern: string): Condition {
  return { kind: "matches", field: "text", pattern };
}

function not(condition: Condition): Condition {
  return { kind: "not", condition };
}

function fieldsOf({ text, source, value }: StoredEvent): Pick<StoredEvent, "text" | "source" | "value"> {
  return { text, source, value };
}

async function agree(
  t: ExecutionContext,
  store: Store,
  events: readonly StoredEvent[],
  where: Condition,
  key: LogKey = events[0]!.log,
): Promise<void> {
  for (const skip of [0, 20]) {
    const list = listPlan(key, { where, sort: [{ field: "value", direction: "desc" }], skip, take: 30 });
    const [page, expected] = [await store.list(list), evaluateList(list, events)];
    t.is(page.total, expected.total, JSON.stringify(where));
    t.deepEqual(page.rows, expected.rows);
  }
  for (const by of [hour(fixedZone(-90)), { kind: "field", field: "source" } as const]) {
    const group = groupPlan(key, { where, by: [by] });
    t.true(groupsAgree(group, await store.group(group), events), JSON.stringify(where));
  }
}
