import { Client } from "@elastic/elasticsearch";
import test, { type ExecutionContext } from "ava";
import { join } from "node:path";

import { pino } from "pino";

import { openElasticsearchDocuments } from "../../src/catalog/documents/elasticsearch.ts";
import type { LogKey } from "../../src/events/event.ts";
import { createHolds, type NewHold } from "../../src/monitoring/holds.ts";
import {
  type Decisions,
  decisionsInDocument,
  decisionsInFile,
  followDecisions,
} from "../../src/operations/decisions.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { elasticsearchUrl } from "../support/engines.ts";
import { LOG, post } from "../support/service.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { READY, clusterWithHistory, loggiaAdmin, readiness } from "./fixture.ts";

const log = pino({ level: "silent" });

/** The stores of decisions; each call connects as another process. */
const STORAGES: Record<string, (t: ExecutionContext) => () => Promise<Decisions>> = {
  file: (t) => {
    const file = join(temporaryFolder(t), "decisions.json");
    return () => Promise.resolve(decisionsInFile(file));
  },
  ...(realEngines && {
    document: (t: ExecutionContext) => {
      const client = new Client({ node: elasticsearchUrl() });
      const namespace = uniqueName("test");
      t.teardown(async () => {
        await client.indices.delete({ index: `${namespace}-marks` });
        await client.close();
      });
      return async () => decisionsInDocument(await openElasticsearchDocuments({ client, namespace, name: "marks" }));
    },
  }),
};

for (const [name, connectTo] of Object.entries(STORAGES)) {
  test(`${name}: a decision ends all holds that existed before it, in every process, and no later one`, async (t) => {
    const connect = connectTo(t);
    const operator = await connect();
    const accepted: string[] = [];
    const processes = await Promise.all(
      ["a", "b"].map(async (process) => {
        const holds = createHolds({ log });
        const hold = (): NewHold => ({
          name: "clock",
          why: "it is wrong",
          todo: "mend it",
          blocks: null,
          accept: () => void accepted.push(process),
        });
        const following = followDecisions({ decisions: await connect(), holds, log, poll_ms: 3_600_000 });
        t.teardown(() => following[Symbol.asyncDispose]());
        return { holds, set: () => holds.set(hold()), poll: () => following.poll() };
      }),
    );
    const pollAll = () => Promise.all(processes.map(({ poll }) => poll()));
    await operator.add("clock");
    for (const { set } of processes) set();
    await pollAll();
    t.deepEqual(accepted, [], "a decision from before");
    await operator.add("store");
    await pollAll();
    t.deepEqual(accepted, [], "a decision about another hold");
    await operator.add("clock");
    await pollAll();
    t.deepEqual(accepted.toSorted(), ["a", "b"]);
    for (const { holds, set } of processes) {
      t.deepEqual(holds.list(), []);
      set();
    }
    await pollAll();
    await pollAll();
    t.is(accepted.length, 2, "a later hold waits for a later decision");
  });
}

if (realEngines) {
  test("cluster: a hold of a process without an API is accepted on its machine", async (t) => {
    const { environment, start, remove } = await clusterWithHistory(t);
    await remove("events*");
    const service = await start({ LOGGIA_ROLES: "pipeline", LOGGIA_OPS: "127.0.0.1:0" });
    const ready = () => fetch(`http://127.0.0.1:${service.monitoring?.port}/health/ready`);
    t.is((await ready()).status, 503);
    t.regex(await loggiaAdmin(environment, "accept-hold", "store"), /^store accepted/);
    await until(async () => (await ready()).status === 200, { what: "the decision" });
  });

  test("cluster: no process creates an admin for an emptied catalog until an operator accepts it", async (t) => {
    const { environment, start, remove } = await clusterWithHistory(t);
    await remove("catalog");
    const posting = await start({ LOGGIA_ROLES: "post" });
    const service = await start();
    const ready = () => fetch(`${service.apiUrl}/health/ready`);
    t.is((await ready()).status, 503);
    t.regex(await (await ready()).text(), /the catalog holds no accounts/);
    // 401 would make producers drop their events.
    t.is((await post(posting, { text: "posted meanwhile" })).status, 503);
    await posting.ports.catalog.refresh();
    t.deepEqual(
      [posting, service].map(({ ports }) => ports.catalog.accounts().length),
      [0, 0],
    );
    await loggiaAdmin(environment, "accept-hold", "catalog");
    await until(() => service.ports.catalog.log(LOG as LogKey) !== null, { what: "the first log" });
    t.deepEqual(await readiness(service), READY);
  });
}
