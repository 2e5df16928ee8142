import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import { pino } from "pino";

import type { LogKey, StoredEvent } from "../../../../../src/events/event.ts";
import type { Aggregate, GroupPlan } from "../../../../../src/query/plan.ts";
import { openElasticsearchStore } from "../../../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../../../src/store/store.ts";
import { event, groupPlan, MORNING, newLog, write } from "../../../../contract/store-fixture.ts";
import { evaluateGroup, groupsAgree } from "../../../../reference/groups.ts";
import { elasticsearchClient } from "../../../../support/elasticsearch.ts";
import { realEngines } from "../../../../support/engine-kinds.ts";
import { uniqueName } from "../../../../support/temporary.ts";

const log = pino({ level: "silent" });
const MONTH_MS = 31 * 86_400_000;
const USERS = 700;
const SUM: Aggregate = { kind: "sum", of: "value" };
const COUNT: Aggregate = { kind: "count", where: null };
const BY_USER: GroupPlan["by"] = [{ kind: "field", field: "user" }];

if (realEngines) {
  /** One month, and three: each an index with one shard. */
  const STORES = [
    { name: "of one shard", months: 1 },
    { name: "of several shards", months: 3 },
  ].map((each) => ({ ...each, namespace: uniqueName("top"), key: newLog() }));
  const events = new Map<LogKey, readonly StoredEvent[]>();
  const stores = new Map<LogKey, Store>();
  let client: Client;

  test.before(async (t) => {
    client = elasticsearchClient();
    for (const { namespace, key, months } of STORES) {
      const store = await openElasticsearchStore({ client, namespace, log });
      stores.set(key, store);
      const some = Array.from({ length: 5_000 }, (_, i) => eventOf(key, i, months));
      events.set(key, some);
      await write(t, store, some);
    }
  });

  test.after.always(async () => {
    for (const store of stores.values()) await store[Symbol.asyncDispose]();
    for (const { namespace } of STORES) {
      await client.indices.delete({ index: Object.keys(await client.indices.get({ index: `${namespace}-*` })) });
      await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
    }
    await client.close();
  });

  /** Sums below zero, users without numbers, events without a user, and many equal sums. */
  const eventOf = (key: LogKey, i: number, months: number): StoredEvent => {
    const user = (i * 7919) % USERS;
    const number = user < 300 ? 8 : ((i * 31) % 400) / 8 - 10;
    return event(key, {
      created: MORNING + (i % months) * MONTH_MS + i,
      user: i % 50 === 0 ? "" : `user ${user}`,
      value: user % 5 === 0 ? null : number,
      tags: [`tag ${i % 900}`, `tag ${(i * 7) % 900}`],
    });
  };

  for (const { name, key, namespace } of STORES) {
    const plans: Record<string, Partial<GroupPlan>> = {
      "the greatest sums": { aggregates: [SUM], take: 10 },
      "a page of them": { aggregates: [SUM, COUNT], skip: 20, take: 30 },
      "so many that groups without a number are among them": { aggregates: [SUM], take: 600 },
      "the greatest counts, of which many are the same": { aggregates: [COUNT], take: 10 },
      "the greatest averages": { aggregates: [COUNT, { kind: "avg", of: "value" }], take: 10 },
      "the greatest of all, of which many are the same": { aggregates: [{ kind: "max", of: "value" }], take: 200 },
      "the least sums": { aggregates: [SUM], take: 10 },
      "tags, of which an event has several": {
        by: [{ kind: "field", field: "tags" }],
        aggregates: [SUM],
        take: 10,
      },
      "with a condition on groups": {
        aggregates: [SUM],
        take: 10,
        having: { kind: "compare", aggregate: 0, op: "<", value: 100 },
      },
    };
    for (const [what, fields] of Object.entries(plans)) {
      test(`${what}, ${name}`, async (t) => {
        const by = (fields.aggregates?.length ?? 1) - 1;
        const direction = what.startsWith("the least") ? "asc" : "desc";
        const plan = groupPlan(key, { by: BY_USER, sort: { by, direction }, ...fields });
        const groups = await stores.get(key)!.group(plan);
        t.true(groups.length > 0);
        t.true(groupsAgree(plan, groups, events.get(key)!), JSON.stringify(groups.slice(0, 3)));
      });
    }

    test(`reads no more groups than are shown, plus the few needed to decide, ${name}`, async (t) => {
      const read: number[] = [];
      const own = elasticsearchClient();
      own.diagnostic.on("response", (_error, response) => {
        const { aggregations } = (response?.body ?? {}) as { aggregations?: { groups?: { buckets?: unknown[] } } };
        if (aggregations?.groups?.buckets !== undefined) read.push(aggregations.groups.buckets.length);
      });
      const groups = await openElasticsearchStore({ client: own, namespace, log });
      const plan = groupPlan(key, { by: BY_USER, aggregates: [SUM], sort: { by: 0, direction: "desc" }, take: 10 });
      t.deepEqual(await groups.group(plan), evaluateGroup(plan, events.get(key)!));
      t.deepEqual(read, [60]);
      await groups[Symbol.asyncDispose]();
      await own.close();
    });
  }
}
