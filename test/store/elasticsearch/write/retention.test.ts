import test, { type ExecutionContext } from "ava";
import { pino } from "pino";

import { openElasticsearchStore } from "../../../../src/store/elasticsearch/store.ts";
import { event, listPlan, newLog, newUser, write } from "../../../contract/store-fixture.ts";
import { elasticsearchClient } from "../../../support/elasticsearch.ts";
import { realEngines } from "../../../support/engine-kinds.ts";
import { uniqueName } from "../../../support/temporary.ts";
import { writeAlerts, writeEvents } from "../../../support/write-events.ts";

const log = pino({ level: "silent" });
const client = realEngines ? elasticsearchClient() : null;
const onCluster = realEngines ? test : test.skip;

const JANUARY = Date.UTC(2015, 0, 10);
const FEBRUARY = Date.UTC(2015, 1, 10);
const MARCH = Date.UTC(2015, 2, 10);

async function open(t: ExecutionContext) {
  const namespace = uniqueName("retention");
  t.teardown(async () => {
    const left = Object.keys(await client!.indices.get({ index: `${namespace}-*` }));
    if (left.length > 0) await client!.indices.delete({ index: left });
    await client!.indices.deleteIndexTemplate({ name: `${namespace}-*` });
  });
  const store = await openElasticsearchStore({ client: client!, namespace, log });
  const months = async () => Object.keys(await client!.indices.get({ index: `${namespace}-events-*` })).toSorted();
  return { namespace, store, months };
}

test.after.always(() => client?.close());

onCluster("a fully expired month is dropped as a whole, one with other events is not", async (t) => {
  const { namespace, store, months } = await open(t);
  const [a, b] = [newLog(), newLog()];
  await write(t, store, [event(a, { created: JANUARY }), event(a, { created: FEBRUARY })]);
  await write(t, store, [event(b, { created: FEBRUARY }), event(a, { created: MARCH })]);
  const deleted = await store.deleteExpired({ before: new Map([[a, MARCH]]), markersBefore: null });
  t.is(deleted, 2);
  t.deepEqual(await months(), [`${namespace}-events-2015.02`, `${namespace}-events-2015.03`]);
  await store.refresh();
  t.is((await store.list(listPlan([a, b]))).total, 2);
});

onCluster("a month with markers is dropped once no log keeps events of it", async (t) => {
  const { store, months } = await open(t);
  const log = newLog();
  const gone = event(log, { created: JANUARY });
  await write(t, store, [gone, event(log, { created: JANUARY + 1 })]);
  await store.deleteEvent(log, gone.id);
  const before = new Map([[log, MARCH]]);
  t.is(await store.deleteExpired({ before, markersBefore: null }), 1);
  t.is((await months()).length, 1, "another log may hold the deleted event's like for ever");
  await store.refresh();
  await write(t, store, [gone]);
  t.is((await store.list(listPlan(log))).total, 0);
  await store.deleteExpired({ before, markersBefore: MARCH });
  t.deepEqual(await months(), []);
});

onCluster("a month left read-only by an interrupted sweep accepts writes again", async (t) => {
  const { namespace, store } = await open(t);
  const b = newLog();
  await write(t, store, [event(b, { created: JANUARY })]);
  await client!.indices.addBlock({ index: `${namespace}-events-2015.01`, block: "write" });
  const late = event(b, { created: JANUARY + 1 });
  t.deepEqual(
    (await writeEvents(store, [late])).map(({ kind }) => kind),
    ["retry"],
  );
  await store.deleteExpired({ before: new Map(), markersBefore: null });
  await write(t, store, [late]);
  t.is((await store.list(listPlan(b))).total, 2);
});

onCluster("copies in their own months and bookmarks expire too, whoever owns them", async (t) => {
  const { namespace, store } = await open(t);
  const log = newLog();
  const old = event(log, { created: JANUARY });
  await write(t, store, [old]);
  const users = [newUser(), newUser()];
  await writeAlerts(
    store,
    users.map((user) => ({ user, event: old })),
  );
  for (const user of users) await store.addBookmark(user, log, old.id);
  await store.refresh();
  await store.deleteExpired({ before: new Map([[log, MARCH]]), markersBefore: MARCH });
  await store.refresh();
  const { count } = await client!.count({ index: `${namespace}-*`, allow_no_indices: true });
  t.is(count, 0);
  t.deepEqual(Object.keys(await client!.indices.get({ index: `${namespace}-*` })), [`${namespace}-bookmarks`]);
});
