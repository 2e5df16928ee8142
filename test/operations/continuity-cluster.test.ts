import test from "ava";
import { pino } from "pino";

import { openElasticsearchDocuments } from "../../src/catalog/documents/elasticsearch.ts";
import type { LogKey } from "../../src/events/event.ts";
import { createHolds } from "../../src/monitoring/holds.ts";
import { watchContinuity } from "../../src/operations/continuity.ts";
import { marksInDocument } from "../../src/operations/marks-file.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { get, LOG, post, postOnce } from "../support/service.ts";
import { until } from "../support/until.ts";
import {
  clusterOf,
  READY,
  clusterWithHistory,
  loggia,
  loggiaAdmin,
  postAndDrain,
  readiness,
  heldBy,
  removeTopic,
  replayAll,
  send,
  total,
} from "./fixture.ts";

const declare = realEngines ? test : test.skip;

declare("cluster: a lost index of events and a recreated topic are detected", async (t) => {
  const { namespace, start, remove } = clusterOf(t);
  let service = await start();
  t.deepEqual(await readiness(service), READY, "a first start");
  await postAndDrain(service, ["one", "two", "three"]);
  await service.ports.store.refresh();
  await service.close();
  service = await start();
  t.deepEqual(await readiness(service), READY, "a second start");
  await service.close();

  await remove("events*");
  service = await start();
  t.deepEqual(await readiness(service), heldBy("store"));
  await replayAll(service);
  t.deepEqual(await readiness(service), READY, "replayed");
  t.is(await total(service), 3);
  await service.close();

  await removeTopic(t, namespace);
  service = await start();
  t.deepEqual(await readiness(service), heldBy("bus"));
  t.is(await send(service, "/manage/1/holds/bus/accept"), 200);
  t.deepEqual(await readiness(service), READY, "accepted");
});

declare("cluster: one lost month among others is detected, also if a write has recreated it", async (t) => {
  const { namespace, start, remove, elasticsearch } = await clusterWithHistory(t);
  await remove("events-2015.01");
  let service = await start();
  t.deepEqual(await readiness(service), heldBy("store"));
  const listed = await loggia(service, "holds", "list");
  for (const words of [`${namespace}-events-2015.01`, "loggia replay start"]) t.true(listed.includes(words), listed);
  t.regex(await loggia(service, "holds", "accept", "store"), /^store accepted: these indices were lost or recreated/);
  t.deepEqual(await readiness(service), READY, "accepted");
  await service.close();
  service = await start();
  t.deepEqual(await readiness(service), READY, "the start after");
  await service.close();
  // The only month that is left.
  const [month = ""] = Object.keys(await elasticsearch.indices.get({ index: `${namespace}-events-*` }));
  await elasticsearch.indices.delete({ index: month });
  await elasticsearch.indices.create({ index: month });
  service = await start();
  t.deepEqual(await readiness(service), heldBy("store"), "made anew");
  await loggia(service, "replay", "start");
  t.deepEqual(await readiness(service), READY, "rebuilt from the bus");
});

declare("cluster: an index that another template created raises a hold, and a replay builds it anew", async (t) => {
  const { namespace, start, elasticsearch } = clusterOf(t);
  const name = `operator-${namespace}`;
  await elasticsearch.indices.putIndexTemplate({
    name,
    index_patterns: [`${namespace}-events-*`],
    priority: 1000,
    template: { settings: { number_of_shards: 2 } },
  });
  t.teardown(() => elasticsearch.indices.deleteIndexTemplate({ name }, { ignore: [404] }));
  let service = await start();
  await postAndDrain(service, ["one", "two", "three"]);
  t.is(await total(service), 0, "queries do not find them");
  await service.close();

  service = await start();
  t.deepEqual(await readiness(service), heldBy("store"));
  const listed = await loggia(service, "holds", "list");
  t.true(listed.includes(`created by an index template other than the service's`), listed);
  await elasticsearch.indices.deleteIndexTemplate({ name });
  await loggia(service, "replay", "start");
  t.deepEqual(await readiness(service), READY, "rebuilt in the layout");
  t.is(await total(service), 3);
  await service.close();
  service = await start();
  t.deepEqual(await readiness(service), READY, "the start after");
});

declare("cluster: a lost store is detected if each log has a retention", async (t) => {
  const { start, remove } = await clusterWithHistory(t);
  let service = await start();
  await service.ports.catalog.updateLog(LOG as LogKey, { retentionDays: 36_500 });
  await service.close();
  await remove("events*");
  service = await start();
  t.deepEqual(await readiness(service), heldBy("store"));
});

declare("cluster: lost bookmarks are detected, and no replay resolves that", async (t) => {
  const { start, remove } = await clusterWithHistory(t);
  await remove("bookmarks");
  let service = await start();
  t.deepEqual(await readiness(service), heldBy("store"));
  await replayAll(service);
  t.deepEqual(await readiness(service), heldBy("store"), "a replay knows no bookmarks");
  t.is(await send(service, "/manage/1/holds/store/accept"), 200);
  await service.close();
  service = await start();
  t.deepEqual(await readiness(service), READY, "accepted");
});

declare("cluster: a recreated topic is detected once it has more records than the old one", async (t) => {
  const { namespace, start } = await clusterWithHistory(t);
  await removeTopic(t, namespace);
  const posting = await start({ LOGGIA_ROLES: "post" });
  for (let i = 0; i < 6; i++) await postOnce(posting, { text: `new ${i}` });
  await posting.close();
  let service = await start();
  t.deepEqual(await readiness(service), heldBy("bus"));
  t.is(await send(service, "/manage/1/holds/bus/accept"), 200);
  await service.close();
  service = await start();
  t.deepEqual(await readiness(service), READY, "accepted");
});

declare("cluster: a month that retention failed to drop is detected if it is lost later", async (t) => {
  const { namespace, start, remove, elasticsearch } = await clusterWithHistory(t);
  const { ports } = await start({ LOGGIA_ROLES: "post" });
  const documents = await openElasticsearchDocuments({ client: elasticsearch, namespace, name: "marks" });
  const catalog = await openElasticsearchDocuments({ client: elasticsearch, namespace });
  const marks = marksInDocument(documents, catalog);
  const old = (await ports.store.parts!()).find(({ place }) => place.endsWith("-events-2015.01"))!;
  await marks.beforeRemoval(old);
  const holds = createHolds({ log: pino({ level: "silent" }) });
  const options = { ...ports, marks, holds, group: "pipeline", keepsOffsets: false, interval_ms: 3_600_000 };
  const watch = watchContinuity({ ...options, removal_ms: 0, log: pino({ level: "silent" }) });
  t.teardown(() => watch[Symbol.asyncDispose]());
  await watch.compare();
  await watch.compare();
  t.deepEqual(holds.list(), []);
  t.deepEqual(await marks.removed(), []);
  await remove("events-2015.01");
  await watch.compare();
  t.regex(holds.list()[0]?.why ?? "", /events-2015\.01/);
});

declare("cluster: a lost catalog is not ready in the process that knows it and in later ones", async (t) => {
  const { namespace, environment, start, remove, elasticsearch } = await clusterWithHistory(t);
  let service = await start();
  await remove("catalog");
  t.is(await send(service, "/manage/1/accounts", { email: "b@example.org", password: "correct horse b" }), 503);
  t.false(await elasticsearch.indices.exists({ index: `${namespace}-catalog` }), "no write has made it anew");
  const postMeanwhile = async () => {
    const { status } = await post(service, { text: "posted meanwhile" });
    // The bus did not confirm it in time.
    return status === 503 ? null : status;
  };
  t.is(await until(postMeanwhile, { what: "an answer to a post", interval_ms: 500 }), 201);
  const another = await start({ LOGGIA_ROLES: "post" });
  await loggiaAdmin(environment, "reset", "eve@example.org");
  t.is((await readiness(service)).api, 503, "the new catalog is not taken for the old one");
  await Promise.all([service.close(), another.close()]);
  service = await start();
  t.deepEqual(await readiness(service), heldBy("catalog"));
});

declare("cluster: a catalog with missing documents is not ready", async (t) => {
  const { namespace, start, elasticsearch } = await clusterWithHistory(t);
  let service = await start();
  await service.ports.catalog.createAccount({ email: "b@example.org", password: "correct horse b", admin: false });
  await service.close();
  service = await start();
  t.deepEqual(await readiness(service), READY);
  await service.close();
  await elasticsearch.delete({ index: `${namespace}-catalog`, id: "account/b@example.org", refresh: true });
  service = await start();
  t.deepEqual(await readiness(service), heldBy("catalog"));
  t.is(await send(service, "/manage/1/holds/catalog/accept"), 200);
  t.deepEqual(await readiness(service), READY, "accepted");
});

declare("cluster: months dropped by retention, a rebuilt store and concurrent starts are ready", async (t) => {
  const { namespace, start, elasticsearch } = await clusterWithHistory(t);
  const service = await start();
  const before = new Map([[LOG as LogKey, Date.UTC(2016, 0, 1)]]);
  t.is(await service.ports.store.deleteExpired({ before, markersBefore: Date.UTC(2016, 0, 1) }), 1);
  t.false(await elasticsearch.indices.exists({ index: `${namespace}-events-2015.01` }), "the month was dropped");
  t.is(await send(service, "/manage/1/replay", { from: "start", into: "new" }), 202);
  const state = async () => (await get(service, "/manage/1/replay")).body as { last: { state: string } };
  await until(async () => (await state()).last.state === "done", { what: "the store to be rebuilt" });
  t.deepEqual(await readiness(service), READY);
  await service.close();
  const several = await Promise.all([start(), start(), start()]);
  t.deepEqual(await Promise.all(several.map(readiness)), [READY, READY, READY]);
});
