import test from "ava";
import type { ExecutionContext } from "ava";
import { once } from "node:events";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { pino } from "pino";

import { createElasticsearchClient } from "../../../../src/elasticsearch/client.ts";
import {
  createOperation,
  deleteOperation,
  writeBulk,
  writeNow,
} from "../../../../src/store/elasticsearch/client/bulk.ts";

type Reply = { status: number; body: unknown };
type Item = { status: number; error?: { type: string; reason: string } };

/**
 * Starts a node that answers bulk requests as the test says and records the ids of each request.
 */
async function nodeThat(t: ExecutionContext, reply: (ids: string[], request: number) => Reply | "hang up") {
  const requests: string[][] = [];
  const answer = (body: string, response: ServerResponse) => {
    const ids = [...body.matchAll(/^\{"(?:create|index|delete)":.*"_id":"([^"]*)"\}\}$/gm)].map(([, id]) => id ?? "");
    requests.push(ids);
    const chosen = reply(ids, requests.length);
    if (chosen === "hang up") return response.destroy();
    response.writeHead(chosen.status, {
      "content-type": "application/vnd.elasticsearch+json;compatible-with=9",
      "x-elastic-product": "Elasticsearch",
    });
    return response.end(JSON.stringify(chosen.body));
  };
  const server = createServer((request, response) => {
    // The client probes the node while a response is slow, as on a busy machine.
    if (request.method === "HEAD") return void response.end();
    // The client asks for the version before its first request.
    if (request.method === "GET") return answerVersion(response);
    void text(request).then((body) => answer(body, response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createElasticsearchClient({ nodes: [url], log: pino({ level: "silent" }) });
  t.teardown(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return { client, requests, url };
}

function answerVersion(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json", "x-elastic-product": "Elasticsearch" });
  response.end(JSON.stringify({ version: { number: "9.5.4" } }));
}

function items(ids: string[], itemOf: (id: string) => Item): Reply {
  const answers = ids.map(itemOf);
  const errors = answers.some(({ status }) => status >= 300);
  return { status: 200, body: { errors, items: answers.map((create) => ({ create })) } };
}

const created = (): Item => ({ status: 201 });
const operationsOf = (...ids: string[]) => ids.map((id) => createOperation("events", id, '{"text":"x"}'));

test("each item has its own outcome", async (t) => {
  const answers: Record<string, Item> = {
    new: { status: 201 },
    known: { status: 409, error: { type: "version_conflict_engine_exception", reason: "exists" } },
    busy: { status: 429, error: { type: "es_rejected_execution_exception", reason: "queue is full" } },
    away: { status: 503, error: { type: "unavailable_shards_exception", reason: "primary is away" } },
    broken: { status: 400, error: { type: "document_parsing_exception", reason: "immense term" } },
    full: { status: 400, error: { type: "validation_exception", reason: "no room for more shards" } },
    forbidden: { status: 403, error: { type: "cluster_block_exception", reason: "index is read-only" } },
    nowhere: { status: 404, error: { type: "index_not_found_exception", reason: "no such index" } },
  };
  const { client } = await nodeThat(t, (ids) => items(ids, (id) => answers[id]!));
  t.deepEqual(await writeBulk(client, operationsOf(...Object.keys(answers))), [
    { kind: "done" },
    { kind: "done" },
    { kind: "retry", reason: "429 es_rejected_execution_exception: queue is full" },
    { kind: "retry", reason: "503 unavailable_shards_exception: primary is away" },
    { kind: "rejected", reason: "400 document_parsing_exception: immense term" },
    { kind: "retry", reason: "400 validation_exception: no room for more shards" },
    { kind: "retry", reason: "403 cluster_block_exception: index is read-only" },
    { kind: "retry", reason: "404 index_not_found_exception: no such index" },
  ]);
});

for (const status of [429, 502, 503]) {
  test(`a request answered with ${status} is sent once, and all its items are to be retried`, async (t) => {
    const { client, requests, url } = await nodeThat(t, () => ({
      status,
      body: { error: { type: "busy", reason: "later" }, status },
    }));
    const outcomes = await writeBulk(client, operationsOf("a", "b"));
    t.deepEqual(
      outcomes.map(({ kind }) => kind),
      ["retry", "retry"],
    );
    t.true(outcomes[0]?.kind === "retry" && outcomes[0].reason.includes(url), JSON.stringify(outcomes[0]));
    t.is(requests.length, 1);
  });
}

test("a connection that breaks or is refused does not throw", async (t) => {
  const { client } = await nodeThat(t, () => "hang up");
  t.deepEqual(
    (await writeBulk(client, operationsOf("a", "b"))).map(({ kind }) => kind),
    ["retry", "retry"],
  );
  const nobody = createElasticsearchClient({ nodes: ["http://127.0.0.1:9"], log: pino({ level: "silent" }) });
  const [outcome] = await writeBulk(nobody, operationsOf("a"));
  t.regex(outcome?.kind === "retry" ? outcome.reason : "", /http:\/\/127\.0\.0\.1:9 cannot be reached/);
});

test("a request that is too large is halved, down to the single item that is too large", async (t) => {
  const { client, requests } = await nodeThat(t, (ids) =>
    ids.includes("large") || ids.length > 2
      ? { status: 413, body: { error: "too large", status: 413 } }
      : items(ids, created),
  );
  const outcomes = await writeBulk(client, operationsOf("a", "b", "large", "c", "d"));
  t.deepEqual(
    outcomes.map(({ kind }) => kind),
    ["done", "done", "rejected", "done", "done"],
  );
  t.deepEqual(requests, [["a", "b", "large", "c", "d"], ["a", "b"], ["large", "c", "d"], ["large"], ["c", "d"]]);
});

test("requests have a bounded size", async (t) => {
  const { client, requests } = await nodeThat(t, (ids) => items(ids, created));
  const document = JSON.stringify({ text: "€".repeat(1024 * 1024) });
  await writeBulk(
    client,
    ["a", "b", "c", "d", "e"].map((id) => createOperation("events", id, document)),
  );
  t.deepEqual(requests, [["a", "b"], ["c", "d"], ["e"]]);
});

test("while the cluster is unreachable, later requests are not sent", async (t) => {
  const { client, requests } = await nodeThat(t, (ids, request) =>
    request === 2 ? { status: 503, body: { error: "away", status: 503 } } : items(ids, created),
  );
  const ids = Array.from({ length: 12_000 }, (_, i) => String(i));
  const outcomes = await writeBulk(client, operationsOf(...ids));
  t.is(requests.length, 2);
  t.is(outcomes.length, ids.length);
  t.is(
    outcomes.findIndex(({ kind }) => kind === "retry"),
    requests[0]!.length,
  );
  t.true(outcomes.slice(requests[0]!.length).every(({ kind }) => kind === "retry"));
});

test("an empty batch sends no request", async (t) => {
  const { client, requests } = await nodeThat(t, (ids) => items(ids, created));
  t.deepEqual(await writeBulk(client, []), []);
  t.is(requests.length, 0);
});

test("writes of a user are retried item by item", async (t) => {
  const { client, requests } = await nodeThat(t, (ids, request) =>
    items(ids, (id) =>
      id === "b" && request < 3 ? { status: 429, error: { type: "busy", reason: "later" } } : created(),
    ),
  );
  await writeNow(client, operationsOf("a", "b", "c"));
  t.deepEqual(requests, [["a", "b", "c"], ["b"], ["b"]]);
});

test("writes of a user that keep failing end with an error that states the reason", async (t) => {
  const { client } = await nodeThat(t, (ids) =>
    items(ids, () => ({ status: 429, error: { type: "busy", reason: "later" } })),
  );
  const error = await t.throwsAsync(() => writeNow(client, [deleteOperation("events", "a")]));
  t.like(error, { code: "store_unavailable", message: "Elasticsearch did not apply all of a change: 429 busy: later" });
});
