import test from "ava";
import type { ExecutionContext } from "ava";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { pino } from "pino";

import { createElasticsearchClient } from "../../../src/elasticsearch/client.ts";
import type { LogKey } from "../../../src/events/event.ts";
import { openElasticsearchStore } from "../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { groupPlan, listPlan } from "../../contract/store-fixture.ts";

const logger = pino({ level: "silent" });
const log = "held" as LogKey;
const QUERY_TIMEOUT_MS = 300;
const [first, last] = [Date.UTC(2026, 10, 27, 8), Date.UTC(2026, 10, 27, 16) - 1];

/** Whether a node answers a request, by its path and body. */
type Answers = (path: string, body: string) => boolean;

/** Opens a store on a node that has answered at the start, and then answers some requests. */
async function openHeld(t: ExecutionContext, answers: Answers, queryTimeout_ms = QUERY_TIMEOUT_MS): Promise<Store> {
  let isOpen = false;
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = "" } = request;
    const body = await text(request);
    if (!isOpen || answers(url, body)) answer(url, response);
  };
  const server = createServer((request, response) => void respond(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = createElasticsearchClient({
    nodes: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`],
    log: logger,
  });
  const store = await openElasticsearchStore({
    client,
    namespace: "held",
    log: logger,
    queryTimeout_ms,
  });
  isOpen = true;
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
    await store[Symbol.asyncDispose]();
    await client.close();
  });
  return store;
}

function answer(url: string, response: ServerResponse): void {
  const found = {
    hits: { total: { value: 100_000, relation: "eq" }, hits: [] },
    aggregations: { first: { value: first }, last: { value: last } },
  };
  const body = url === "/" ? { version: { number: "9.5.3" } } : url.includes("_search") ? found : {};
  response.writeHead(200, { "content-type": "application/json", "x-elastic-product": "Elasticsearch" });
  response.end(JSON.stringify(body));
}

const where = { kind: "contains", field: "data", value: "pool exhausted" } as const;
const plans = {
  list: (store: Store) => store.list(listPlan(log, { where })),
  rows: (store: Store) => store.rows(listPlan(log, { where })),
  group: (store: Store) => store.group(groupPlan(log, { where })),
  counts: (store: Store) => store.group(groupPlan(log, { aggregates: [{ kind: "count", where }] })),
};

for (const [kind, run] of Object.entries(plans)) {
  test(`${kind}: a search of data that Elasticsearch does not finish names a shorter time`, async (t) => {
    const store = await openHeld(t, (_path, body) => !body.includes("pool") && !body.includes('"has":"data"'));
    await t.throwsAsync(run(store), {
      code: "too_wide",
      message:
        "The data of the events could not be searched in the time that a query has: " +
        "ask for a shorter time, or for whole words that the data contains, for example OCCURS('2026-11-27T14:00Z')",
    });
  });
}

test("a search of data is unavailable if Elasticsearch answers nothing", async (t) => {
  const store = await openHeld(t, () => false);
  await t.throwsAsync(plans.list(store), { code: "store_unavailable" });
});

test("another search is too slow if Elasticsearch answers other requests meanwhile", async (t) => {
  const store = await openHeld(t, (path) => !path.includes("_search"), 3_000);
  await t.throwsAsync(store.list(listPlan(log)), { code: "overloaded", message: /took longer than 3 s: narrow it/ });
});

test("another search is unavailable if Elasticsearch answers nothing", async (t) => {
  const store = await openHeld(t, () => false);
  await t.throwsAsync(store.list(listPlan(log)), { code: "store_unavailable" });
});
