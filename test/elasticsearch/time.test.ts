import test from "ava";
import { pino } from "pino";

import { createElasticsearchClient } from "../../src/elasticsearch/client.ts";
import { readClusterTime } from "../../src/elasticsearch/time.ts";
import { elasticsearchUrl, realEngines } from "../support/engines.ts";

if (realEngines) {
  test("a node returns its time", async (t) => {
    const client = createElasticsearchClient({ nodes: [elasticsearchUrl()], log: pino({ level: "silent" }) });
    t.teardown(() => client.close());
    const [before, time, after] = [Date.now(), await readClusterTime(client), Date.now()];
    t.true(time !== null && time >= before - 1 && time <= after + 1, `${before} ${time} ${after}`);
  });
} else {
  test.skip("this file needs Elasticsearch", (t) => t.pass());
}
