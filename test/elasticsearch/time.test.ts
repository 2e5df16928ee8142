import test from "ava";

import { readClusterTime } from "../../src/elasticsearch/time.ts";
import { elasticsearchClient } from "../support/elasticsearch.ts";
import { realEngines } from "../support/engine-kinds.ts";

if (realEngines) {
  test("a node returns its time", async (t) => {
    const client = elasticsearchClient();
    t.teardown(() => client.close());
    const [before, time, after] = [Date.now(), await readClusterTime(client), Date.now()];
    t.true(time !== null && time >= before - 1 && time <= after + 1, `${before} ${time} ${after}`);
  });
} else {
  test.skip("this file needs Elasticsearch", (t) => t.pass());
}
