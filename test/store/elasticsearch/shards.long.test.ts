import test from "ava";
import { pino } from "pino";

import { namesIn } from "../../../src/store/elasticsearch/documents/mapping.ts";
import { openElasticsearchStore } from "../../../src/store/elasticsearch/store.ts";
import { event, listPlan, newLog, write } from "../../contract/store-fixture.ts";
import { elasticsearchClient } from "../../support/elasticsearch.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { uniqueName } from "../../support/temporary.ts";

const log = pino({ level: "silent" });
const clusterTest = realEngines ? test : test.skip;

clusterTest("shards and replicas are settings, and the operator's component template precedes them", async (t) => {
  const client = elasticsearchClient();
  const own = uniqueName("shards");
  const custom = `${own}-events@custom`;
  t.teardown(async () => {
    await client.indices.delete({ index: Object.keys(await client.indices.get({ index: `${own}-*` })) });
    await client.indices.deleteIndexTemplate({ name: `${own}-*` });
    await client.cluster.deleteComponentTemplate({ name: custom }, { ignore: [404] });
  });
  /** Opens the store and writes an event of a new month. @returns the settings of that index */
  async function settingsOf(month: number) {
    const opened = await openElasticsearchStore({ client, namespace: own, log, shards: 3, replicas: 0 });
    const one = event(newLog(), { created: Date.UTC(2023, month, 4) });
    await write(t, opened, [one]);
    const index = namesIn(own).eventsOf(one.id);
    await client.cluster.health({ index, wait_for_status: "green", timeout: "2m" }, { requestTimeout: 150_000 });
    const found = await opened.list(listPlan([one.log]));
    t.is(found.rows.length, 1, "the index has the layout of the store");
    const { [index]: settings } = await client.indices.getSettings({ index, flat_settings: true });
    return settings?.settings as Record<string, string>;
  }
  const plain = await settingsOf(0);
  t.like(plain, { "index.number_of_shards": "3", "index.number_of_replicas": "0", "index.refresh_interval": "1s" });
  t.is(plain["index.auto_expand_replicas"], undefined);

  await client.cluster.putComponentTemplate({
    name: custom,
    template: {
      settings: { number_of_shards: 2, auto_expand_replicas: "0-2", "index.priority": "5" },
      mappings: { dynamic: true, properties: { log: { type: "text" }, mine: { type: "keyword" } } },
    },
  });
  const composed = await settingsOf(1);
  t.like(composed, {
    "index.number_of_shards": "2",
    "index.auto_expand_replicas": "0-2",
    "index.refresh_interval": "1s",
    "index.priority": "5",
  });
});
