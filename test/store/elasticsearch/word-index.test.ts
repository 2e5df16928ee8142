import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import type { ExecutionContext } from "ava";
import fc from "fast-check";
import { pino } from "pino";

import type { LogKey, StoredEvent } from "../../../src/events/event.ts";
import type { Condition } from "../../../src/query/plan.ts";
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
} else {
  test.skip("words: these tests need Elasticsearch", (t) => t.pass());
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
