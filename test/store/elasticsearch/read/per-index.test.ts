import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import type { ExecutionContext } from "ava";
import { pino } from "pino";

import type { LogKey, StoredEvent } from "../../../../src/events/event.ts";
import type { Condition } from "../../../../src/query/plan.ts";
import { namesIn } from "../../../../src/store/elasticsearch/documents/mapping.ts";
import type { Names } from "../../../../src/store/elasticsearch/documents/mapping.ts";
import { openElasticsearchStore } from "../../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../../src/store/store.ts";
import { fixedZone } from "../../../../src/query/zone.ts";
import { event, groupPlan, listPlan, newLog, pageOf, write } from "../../../contract/store-fixture.ts";
import { evaluateList } from "../../../reference/evaluate.ts";
import { groupsAgree } from "../../../reference/groups.ts";
import { elasticsearchClient } from "../../../support/elasticsearch.ts";
import { realEngines } from "../../../support/engine-kinds.ts";
import { uniqueName } from "../../../support/temporary.ts";
import { day } from "../../../support/groups.ts";

const log = pino({ level: "silent" });
const STUCK: Condition = { kind: "matches", field: "text", pattern: "stuck in [a-z]+ after [0-9]{2}" };

if (realEngines) {
  test("few matches in several months: searches each index separately, in one request", async (t) => {
    const { store, key, written, searches } = await storeOf(t, [1, 2]);
    await agree(t, store, key, written);
    searches.length = 0;
    await agree(t, store, key, written);
    t.deepEqual(searches, ["_msearch", "_msearch"]);
  });

  test("few matches in several months: however many are in one month", async (t) => {
    const { store, key, written } = await storeOf(t, [1, 2]);
    const more = Array.from({ length: 400 }, (_, i) => stuck(key, Date.UTC(2031, 1, 20) + i, i));
    await write(t, store, more);
    await agree(t, store, key, [...written, ...more]);
    await agree(t, store, key, [...written, ...more]);
  });

  test("few matches in several months: finds a new month at once", async (t) => {
    const { store, key, written, searches } = await storeOf(t, [1, 2]);
    await agree(t, store, key, written);
    for (const month of [3, 4]) {
      const later = eventsOf(key, month);
      await write(t, store, later);
      written.push(...later);
      await agree(t, store, key, written);
    }
    searches.length = 0;
    await agree(t, store, key, written);
    t.deepEqual(searches, ["_msearch", "_msearch"]);
  });

  test("few matches in many months: searches all indices as one", async (t) => {
    const { store, key, written, searches } = await storeOf(t, [1, 2, 3, 4, 5]);
    await agree(t, store, key, written);
    t.deepEqual(searches, ["_search", "_search"]);
  });

  test("few matches in several months: after one of them was dropped", async (t) => {
    const { store, key, written, names } = await storeOf(t, [1, 2, 3]);
    await agree(t, store, key, written);
    await client.indices.delete({ index: names.eventsOf(written[0]!.id) });
    const left = written.filter(({ id }) => names.eventsOf(id) !== names.eventsOf(written[0]!.id));
    t.true(left.length > 0 && left.length < written.length);
    await agree(t, store, key, left);
  });

  test("few matches in several months: during and after a rebuild", async (t) => {
    const { store, key, written } = await storeOf(t, [1, 2, 3]);
    await agree(t, store, key, written);
    const { signal } = new AbortController();
    const over = new AbortController();
    const rebuilt = store.rebuild!({ since: 0, fill: async () => {}, revise: (one) => one, signal }).finally(() =>
      over.abort(),
    );
    do await agree(t, store, key, written);
    while (!over.signal.aborted);
    await rebuilt;
    await agree(t, store, key, written);
    await agree(t, store, key, written);
  });

  let client: Client;
  test.before(() => {
    client = elasticsearchClient();
  });
  test.after.always(() => client.close());

  /**
   * A store of the test's own with events of some months, and the kinds of searches that it has
   * sent.
   */
  async function storeOf(t: ExecutionContext, months: readonly number[]) {
    const namespace = uniqueName("months");
    const names: Names = namesIn(namespace);
    const own = elasticsearchClient();
    const searches: string[] = [];
    own.diagnostic.on("request", (_error, request) => {
      const { path = "" } = request?.meta.request.params ?? {};
      if (path === "/_msearch" || path.startsWith(`/${names.events}/_search`)) searches.push(path.split("/").at(-1)!);
    });
    const store = await openElasticsearchStore({ client: own, namespace, log });
    t.teardown(async () => {
      await store[Symbol.asyncDispose]();
      await own.close();
      await client.indices.delete({ index: Object.keys(await client.indices.get({ index: `${namespace}-*` })) });
      await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
    });
    const key = newLog();
    const written = months.flatMap((month) => eventsOf(key, month));
    await write(t, store, written);
    return { store, names, key, written, searches };
  }
} else {
  test.skip("few matches in several months: needs Elasticsearch", (t) => t.pass());
}

/** Returns events of a month of 2031; every other one is "stuck". */
function eventsOf(key: LogKey, month: number): StoredEvent[] {
  return Array.from({ length: 40 }, (_, i) => {
    const created = Date.UTC(2031, month - 1, 3 + (i % 20), i);
    return i % 2 === 0 ? stuck(key, created, i) : event(key, { created, text: `worker ${i} goes on`, value: i });
  });
}

function stuck(key: LogKey, created: number, i: number): StoredEvent {
  return event(key, { created, text: `worker ${i % 16} is stuck in room after ${10 + i} retries`, value: i });
}

/** Asserts that a list and a group agree with the reference. */
async function agree(t: ExecutionContext, store: Store, key: LogKey, events: readonly StoredEvent[]): Promise<void> {
  const list = listPlan(key, { where: STUCK, sort: [{ field: "created", direction: "desc" }], take: 1_000 });
  t.deepEqual(await pageOf(store, list), evaluateList(list, events));
  const group = groupPlan(key, { where: STUCK, by: [day(fixedZone(0))] });
  t.true(groupsAgree(group, await store.group(group), events));
}
