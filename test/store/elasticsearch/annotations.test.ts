import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import { pino } from "pino";

import { namesIn } from "../../../src/store/elasticsearch/documents/mapping.ts";
import { openElasticsearchStore } from "../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { deleteAlerts, event, listPlan, newLog, newUser, write } from "../../contract/store-fixture.ts";
import { elasticsearchClient } from "../../support/elasticsearch.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { until } from "../../support/until.ts";
import { uniqueName } from "../../support/temporary.ts";
import { writeAlerts, writeEvents } from "../../support/write-events.ts";
import { intercept } from "./rebuild-fixture.ts";

const log = pino({ level: "silent" });

if (realEngines) {
  const namespace = uniqueName("people");
  let client: Client;
  let store: Store;

  test.before(async () => {
    client = elasticsearchClient();
    store = await openElasticsearchStore({ client, namespace, log });
  });

  test.after.always(async () => {
    const { [namespace]: _, ...indices } = await client.indices.get({ index: `${namespace}-*` });
    await client.indices.delete({ index: Object.keys(indices) });
    await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
    await client.close();
  });

  test("a page of events includes its annotations if they are few", async (t) => {
    const key = newLog();
    const marked = Array.from({ length: 21 }, (_, i) => event(key, { text: `marked ${i}` }));
    await write(t, store, marked);
    const users = Array.from({ length: 10 }, newUser);
    const alerts = marked.flatMap((each) => users.map((user) => ({ user, event: each })));
    t.deepEqual(new Set((await writeAlerts(store, alerts)).map(({ kind }) => kind)), new Set(["done"]));
    await store.refresh();
    const few = listPlan(key, { where: { kind: "text", field: "text", op: "=", value: "marked 7" } });
    // On a busy machine a page does not wait for its annotations.
    const marks = await until(async () => (await store.list(few)).annotations, { what: "a page with its marks" });
    t.deepEqual(marks, new Map([[marked[7]!.id, { bookmarks: [], alerts: users.toSorted() }]]));
    const many = await store.list(listPlan(key));
    t.deepEqual([many.total, many.annotations], [21, undefined]);
  });

  test("a new annotation shows in the next list", async (t) => {
    const [key, user] = [newLog(), newUser()];
    const stored = event(key);
    await writeEvents(store, [stored]);
    t.true(await store.addBookmark(user, key, stored.id));
    const bookmarks = listPlan(key, { from: { kind: "bookmarks", user } });
    t.is((await store.list(bookmarks)).total, 1);
    t.true(await store.deleteBookmark(user, key, stored.id));
    t.is((await store.list(bookmarks)).total, 0);
    t.true(await store.deleteEvent(key, stored.id));
    t.is((await store.list(listPlan(key))).total, 0);
  });

  test("of several concurrent deletions of one event, one succeeds", async (t) => {
    const key = newLog();
    const stored = event(key);
    await writeEvents(store, [stored]);
    const answers = await Promise.all(Array.from({ length: 5 }, () => store.deleteEvent(key, stored.id)));
    t.deepEqual(answers.filter(Boolean), [true]);
  });

  test("a bookmark set while its event is deleted does not outlive it", async (t) => {
    const [key, user] = [newLog(), newUser()];
    const stored = event(key);
    const { id } = stored;
    await writeEvents(store, [stored]);
    // Deletes the event after the bookmark has found it and before the bookmark is written.
    const late = new Proxy(client, {
      get(target, name) {
        if (name !== "bulk") return Reflect.get(target, name);
        return async (...request: Parameters<Client["bulk"]>) => {
          await store.deleteEvent(key, id);
          return target.bulk(...request);
        };
      },
    });
    const other = await openElasticsearchStore({ client: late, namespace, log });
    t.false(await other.addBookmark(user, key, id));
    await store.refresh();
    t.is((await store.list(listPlan(key, { from: { kind: "bookmarks", user } }))).total, 0);
  });

  test("a replay creates no alert for a user who subscribed after the event was deleted", async (t) => {
    const [key, user] = [newLog(), newUser()];
    const stored = event(key);
    await writeEvents(store, [stored]);
    await store.deleteEvent(key, stored.id);
    t.deepEqual(await writeAlerts(store, [{ user, event: stored }]), [{ kind: "done" }]);
    await store.refresh();
    t.is((await store.list(listPlan(key, { from: { kind: "alerts", user } }))).total, 0);
    t.is(await store.find({ kind: "alerts", user }, key, stored.id), null);
  });

  test("deletes all alerts of a user, more than one request takes", async (t) => {
    const [key, user] = [newLog(), newUser()];
    const alerts = Array.from({ length: 2500 }, (_, i) => ({ user, event: event(key, { text: `Alert ${i}` }) }));
    await writeAlerts(store, alerts);
    await store.refresh();
    const plan = listPlan(key, { from: { kind: "alerts", user } });
    t.is((await store.list(plan)).total, 2500);
    await deleteAlerts(store, user);
    t.is((await store.list(plan)).total, 0);
    await writeAlerts(store, alerts);
    await store.refresh();
    t.is((await store.list(plan)).total, 0);
  });

  test("writing an alert waits for the shard of a new month", async (t) => {
    const waiting = uniqueName("waiting");
    const alert = { user: newUser(), event: event(newLog()) };
    const index = namesIn(waiting).eventsOf(alert.event.id);
    const allocate = (where: "none" | "all") => ({ "routing.allocation.enable": where });
    let looks = 0;
    // The shard is allocated after the first look and ready before the second, however long it takes.
    const allocating = intercept(client, "mget", async (request) => {
      looks += 1;
      if (looks === 2) await client.cluster.health({ index, wait_for_active_shards: 1, timeout: "2m" });
      const answer = await request();
      if (looks === 1) await client.indices.putSettings({ index, settings: allocate("all") });
      return answer;
    });
    const early = await openElasticsearchStore({ client: allocating, namespace: waiting, log });
    // As for a new index, the shard is on no node.
    await client.indices.create({ index, settings: allocate("none"), wait_for_active_shards: 0 });
    t.deepEqual(await early.writeAlerts([alert]), [{ kind: "done" }]);
    t.is(looks, 2);
    await client.indices.delete({ index: Object.keys(await client.indices.get({ index: `${waiting}-*` })) });
    await client.indices.deleteIndexTemplate({ name: `${waiting}-*` });
  });
}
