import { type Client, errors } from "@elastic/elasticsearch";
import test from "ava";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";

import {
  createElasticsearchClient,
  withTimeout,
  pingElasticsearch,
  translated,
  translateElasticsearchError,
} from "../../src/elasticsearch/client.ts";
import { LoggiaError } from "../../src/errors.ts";
import { isTooLong } from "../../src/store/elasticsearch/client/scan.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { elasticsearchUrl } from "../support/engines.ts";
import { uniqueName } from "../support/temporary.ts";

const log = pino({ level: "silent" });
const NOWHERE = "http://127.0.0.1:9";

/** Pings with more time than a busy machine needs for a response. */
function ping(client: Client): Promise<void> {
  return pingElasticsearch(client, 60_000);
}

/**
 * Returns the address of a server that answers everything with `status` and claims to be
 * Elasticsearch.
 */
async function serverOf(
  t: { teardown: (work: () => void) => void },
  status: number,
  headers: Record<string, string>,
  error = { type: "some_exception", reason: "no reason" },
) {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ error, status }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("many requests share one time limit, and clean-up requests after it are still sent", async (t) => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    // A probe of a node that is slow on a busy machine is not a request of the work.
    if (request.method !== "HEAD") asked.push(request.method ?? "");
    const answer = () =>
      response.writeHead(200, { "content-type": "application/json", "x-elastic-product": "Elasticsearch" }).end("{}");
    setTimeout(answer, 100);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const client = createElasticsearchClient({
    nodes: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`],
    log,
  });
  t.teardown(() => client.close());
  const pages = async () => {
    try {
      for (let i = 0; i < 50; i++) await client.search({ index: "any" });
    } finally {
      await client.closePointInTime({ id: "any" });
    }
  };
  const error = await t.throwsAsync(
    translated(() => withTimeout(350, pages)),
    { instanceOf: LoggiaError },
  );
  // The first request asks for the version too: if only that is answered, the node has responded.
  t.regex(error.message, /^Elasticsearch did not respond in time$|took longer than 0\.35 s/);
  t.true(asked.length < 10, `${asked.length} requests`);
  t.is(asked.at(-1), "DELETE");
  await client.search({ index: "any" });
  t.deepEqual(await withTimeout(60_000, async () => client.search({ index: "any" })), {});
});

test("an unreachable node is reported with its address and the error", async (t) => {
  const client = createElasticsearchClient({ nodes: [NOWHERE], log });
  const error = await t.throwsAsync(() => ping(client), { instanceOf: LoggiaError });
  t.like(error, { code: "store_unavailable", retryAfter_s: 1 });
  t.regex(error.message, /^Elasticsearch at http:\/\/127\.0\.0\.1:9 cannot be reached: .*ECONNREFUSED/);
});

test("credentials never occur in a message", async (t) => {
  const client = createElasticsearchClient({
    nodes: ["http://somebody:hidden@127.0.0.1:9"],
    auth: { username: "other", password: "secret" },
    log,
  });
  const error = await t.throwsAsync(() => ping(client));
  t.notRegex(JSON.stringify([error.message, error.stack]), /hidden|secret/);
});

const elastic = { "x-elastic-product": "Elasticsearch" };
const answers: readonly [status: number, headers: Record<string, string>, code: string, message: RegExp][] = [
  [400, elastic, "internal_error", /returned 400: some_exception: no reason/],
  [401, elastic, "store_unavailable", /requires credentials \(401\)/],
  [401, {}, "store_unavailable", /requires credentials \(401\)/],
  [429, elastic, "store_unavailable", /is overloaded \(429\)/],
  [500, elastic, "store_unavailable", /returned 500: some_exception: no reason/],
  [503, elastic, "store_unavailable", /returned 503: some_exception: no reason/],
  [200, {}, "store_unavailable", /returned a response that is not Elasticsearch's/],
];

for (const [status, headers, code, message] of answers) {
  test(`a response ${status} ${headers === elastic ? "" : "of another server "}is ${code}`, async (t) => {
    const url = await serverOf(t, status, headers);
    const client = createElasticsearchClient({ nodes: [url], log });
    const error = await t.throwsAsync(() => ping(client), { message });
    t.like(error, { code });
    t.true(error.message.startsWith(`Elasticsearch at ${url} `), error.message);
  });
}

test("credentials without permission for the cluster's health still connect", async (t) => {
  const client = createElasticsearchClient({ nodes: [await serverOf(t, 403, elastic)], log });
  await t.notThrowsAsync(() => ping(client));
});

for (const status of [403, 429]) {
  test(`a full disk (${status}) is distinguished from wrong credentials and from overload`, async (t) => {
    const error = { type: "cluster_block_exception", reason: "disk usage exceeded flood-stage watermark" };
    const client = createElasticsearchClient({ nodes: [await serverOf(t, status, elastic, error)], log });
    await t.throwsAsync(
      translated(() => client.index({ index: "any", document: {} })),
      { code: "store_unavailable", message: /rejects writes: .*flood-stage watermark$/ },
    );
  });
}

test("an answer longer than its limit is not read, and is no fault of the node", async (t) => {
  const node = await serverOf(t, 200, elastic, { type: "x".repeat(1_000), reason: "" });
  const client = createElasticsearchClient({ nodes: [node], log });
  t.teardown(() => client.close());
  const error = await t.throwsAsync(client.search({ index: "any" }, { maxResponseSize: 500 }));
  t.true(isTooLong(error));
  await client.search({ index: "any" }, { maxResponseSize: 5_000 });
});

test("a request that waits too long is unavailable, not internal", async (t) => {
  const server = createServer(() => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createElasticsearchClient({ nodes: [url], log });
  await t.throwsAsync(
    translated(() => client.search({ index: "any" }, { requestTimeout: 50 })),
    { code: "store_unavailable", message: `Elasticsearch at ${url} did not respond in time` },
  );
});

test("an error of the service passes unchanged, any other is internal", (t) => {
  const ours = new LoggiaError("unsupported", "no");
  t.is(translateElasticsearchError(ours), ours);
  const bug = new TypeError("undefined is not a function");
  t.like(translateElasticsearchError(bug), { code: "internal_error", cause: bug });
  t.is(translateElasticsearchError(new errors.ConfigurationError("odd")).code, "internal_error");
});

if (realEngines) {
  test("a running node answers", async (t) => {
    const client = createElasticsearchClient({ nodes: [elasticsearchUrl()], log });
    t.teardown(() => client.close());
    await t.notThrowsAsync(() => ping(client));
  });

  test("an unreachable node is skipped", async (t) => {
    const client = createElasticsearchClient({ nodes: [NOWHERE, elasticsearchUrl()], log });
    t.teardown(() => client.close());
    for (let i = 0; i < 4; i++) {
      t.false(await translated(() => client.indices.exists({ index: uniqueName("none") })));
      await t.notThrowsAsync(() => ping(client));
    }
  });
}
