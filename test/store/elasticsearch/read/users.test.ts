import test from "ava";
import { pino } from "pino";

import type { LogKey } from "../../../../src/events/event.ts";
import type { Visit } from "../../../../src/events/visit.ts";
import type { UsersPlan } from "../../../../src/query/plan.ts";
import { EVERYTHING } from "../../../../src/query/plan.ts";
import { openElasticsearchStore } from "../../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../../src/store/store.ts";
import { idAt, MORNING, newLog } from "../../../contract/store-fixture.ts";
import { elasticsearchClient, QUERY_TIMEOUT_MS } from "../../../support/elasticsearch.ts";
import { realEngines } from "../../../support/engine-kinds.ts";
import { uniqueName } from "../../../support/temporary.ts";

const log = pino({ level: "silent" });

function visit(key: LogKey, user: string, fields: Partial<Visit> = {}): Visit {
  const { created = MORNING } = fields;
  return { id: idAt(created), log: key, created, user, email: "", page: "", ...fields };
}

function usersPlan(key: LogKey, fields: Partial<UsersPlan> = {}): UsersPlan {
  return { kind: "users", logs: [key], where: EVERYTHING, sort: [], skip: 0, take: 100, columns: null, ...fields };
}

if (realEngines) {
  let store: Store;
  let cleanUp: () => Promise<void>;

  test.before(async () => {
    const namespace = uniqueName("visits");
    const client = elasticsearchClient();
    store = await openElasticsearchStore({ client, namespace, log, queryTimeout_ms: QUERY_TIMEOUT_MS });
    cleanUp = async () => {
      await client.indices.delete({ index: Object.keys(await client.indices.get({ index: `${namespace}-*` })) });
      await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
      await client.close();
    };
  });
  test.after.always(() => cleanUp());

  test("a user is computed from all visits: last spelling, e-mail address and page, first and last moment", async (t) => {
    const key = newLog();
    const visits = [
      visit(key, "Ann", { created: MORNING, email: "ann@example.org", page: "/start" }),
      visit(key, "ANN", { created: MORNING + 86_400_000 * 40, page: "/end" }),
      visit(key, "ann", { created: MORNING + 5000, email: "ann@example.com" }),
      visit(key, "Bob", { created: MORNING + 7 }),
      visit(newLog(), "Bob", { created: MORNING }),
    ];
    for (let i = 0; i < 2; i++) t.true((await store.writeVisits(visits)).every(({ kind }) => kind === "done"));
    await store.refresh();
    const page = await store.users(usersPlan(key));
    t.is(page.total, 2);
    t.deepEqual(page.rows, [
      {
        log: key,
        user: "ANN",
        email: "ann@example.com",
        page: "/end",
        created: MORNING,
        seen: MORNING + 86_400_000 * 40,
        count: 3,
      },
      { log: key, user: "Bob", email: "", page: "", created: MORNING + 7, seen: MORNING + 7, count: 1 },
    ]);
  });

  test("conditions and order apply to users, not to visits", async (t) => {
    const key = newLog();
    const visits = Array.from({ length: 60 }, (_, i) =>
      visit(key, `User ${i % 10}`, { created: MORNING + i, email: i === 7 ? "seven@example.org" : "" }),
    );
    await store.writeVisits([...visits, visit(key, "once")]);
    await store.refresh();
    const names = async (fields: Partial<UsersPlan>) =>
      (await store.users(usersPlan(key, fields))).rows.map(({ user }) => user);
    t.deepEqual(await names({ where: { kind: "number", field: "count", op: "<", value: 6 } }), ["once"]);
    t.deepEqual(await names({ where: { kind: "text", field: "user", op: "=", value: "user 3" } }), ["User 3"]);
    t.deepEqual(await names({ where: { kind: "in", field: "user", values: ["once", "user 4"] } }), ["once", "User 4"]);
    t.deepEqual(await names({ where: { kind: "not", condition: { kind: "absent", field: "email" } } }), ["User 7"]);
    t.deepEqual(
      await names({
        where: {
          kind: "and",
          conditions: [
            { kind: "contains", field: "user", value: "SER" },
            { kind: "not", condition: { kind: "matches", field: "user", pattern: "[2-9]$" } },
          ],
        },
      }),
      ["User 0", "User 1"],
    );
    t.deepEqual(await names({ sort: [{ field: "seen", direction: "desc" }], skip: 2, take: 2 }), ["User 7", "User 6"]);
    t.deepEqual((await names({ sort: [{ field: "email", direction: "desc" }] })).slice(0, 2), ["User 7", "User 9"]);
  });

  test("returns more users than one request gives", async (t) => {
    const key = newLog();
    await store.writeVisits(Array.from({ length: 6000 }, (_, i) => visit(key, `u${i}`, { page: `/${i}` })));
    await store.refresh();
    const page = await store.users(usersPlan(key, { skip: 5990, take: 20 }));
    t.is(page.total, 6000);
    t.is(page.rows.length, 10);
  });

  test("a log without visits has no users", async (t) => {
    t.deepEqual(await store.users(usersPlan(newLog())), { rows: [], total: 0 });
    t.deepEqual(await store.users({ ...usersPlan(newLog()), logs: [] }), { rows: [], total: 0 });
  });
} else {
  test.skip("this file needs Elasticsearch", (t) => t.pass());
}
