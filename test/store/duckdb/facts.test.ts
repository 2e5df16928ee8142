import { DuckDBInstance } from "@duckdb/node-api";
import test from "ava";

import { AttributeColumns } from "../../../src/store/duckdb/attributes.ts";
import { BlockIndex } from "../../../src/store/duckdb/blocks/block-index.ts";
import { Facts } from "../../../src/store/duckdb/facts.ts";
import { LogNumbers } from "../../../src/store/duckdb/logs.ts";
import { MarkedLogs } from "../../../src/store/duckdb/marked-logs.ts";
import { RememberedMoments } from "../../../src/store/duckdb/remembered-moments.ts";
import { TimeSums } from "../../../src/store/duckdb/sums/time-sums.ts";

test("how far events reach is known to all who ask at once, and looked up again after it could not be", async (t) => {
  const instance = await DuckDBInstance.create(":memory:");
  t.teardown(() => instance.closeSync());
  const connections = [await instance.connect(), await instance.connect()];
  const facts = new Facts({
    logs: new LogNumbers(),
    attributes: new AttributeColumns(1024),
    blocks: new BlockIndex(8192),
    marked: new MarkedLogs(),
    remembered: new RememberedMoments({ changes: 0, stillness: 0 }),
    sums: new TimeSums({ settled: 0, stillness: 0 }, 0),
  });
  await t.throwsAsync(facts.reach(connections[0]!), { message: /events does not exist/ });
  await connections[0]!.run("create table events as select unnest([5000, 3000, 9000])::bigint as created");
  const all = await Promise.all(connections.map((connection) => facts.reach(connection)));
  t.deepEqual(all, [
    { count: 3, first: 3000, last: 9000 },
    { count: 3, first: 3000, last: 9000 },
  ]);
});
