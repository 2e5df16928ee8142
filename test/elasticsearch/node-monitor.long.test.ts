import test from "ava";
import type { ExecutionContext } from "ava";
import { once } from "node:events";
import { createServer, request as ask } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";

import { createElasticsearchClient, withoutFailFast, translated } from "../../src/elasticsearch/client.ts";
import { startTcpProxy } from "../chaos/tcp-proxy.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { elasticsearchUrl } from "../support/engines.ts";
import { environmentOf, get, LOG, post, startService } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { turnsDuring } from "../support/turns.ts";
import { until } from "../support/until.ts";

const log = pino({ level: "silent" });
const real = realEngines ? test : test.skip;
/** Time without a response after which reads fail at once. */
const UNRESPONSIVE_MS = 2_000;
const UNRESPONSIVE = { code: "store_unavailable", message: /has not responded for 2 s$/ };

async function proxyOf(t: ExecutionContext) {
  const proxy = await startTcpProxy(elasticsearchUrl().replace("http://", ""));
  t.teardown(() => proxy[Symbol.asyncDispose]());
  return { ...proxy, url: `http://${proxy.address}` };
}

function clientOf(t: ExecutionContext, nodes: readonly string[]) {
  const client = createElasticsearchClient({ nodes, log });
  t.teardown(() => client.close());
  return { client, read: () => translated(() => client.cat.indices({ format: "json", index: "none-*" })) };
}

real("once no node responds, reads fail at once until one responds again", async (t) => {
  const proxy = await proxyOf(t);
  const { client, read } = clientOf(t, [proxy.url]);
  await read();
  proxy.set("stalled");
  await t.throwsAsync(read(), UNRESPONSIVE);
  const turns = await turnsDuring(async () => {
    for (let i = 0; i < 20; i++) await t.throwsAsync(read(), UNRESPONSIVE);
  });
  t.is(turns, 0, "they wait for nothing");
  const written = client.bulk({ operations: [{ delete: { _index: "none-0", _id: "none" } }] });
  const waiting = withoutFailFast(read);
  await t.throwsAsync(read(), UNRESPONSIVE);
  proxy.set("open");
  await t.notThrowsAsync(() => Promise.all([written, waiting]), "they waited for the node");
  await until(
    () =>
      read().then(
        () => true,
        () => false,
      ),
    { what: "a read to succeed" },
  );
});

real("while another node responds, an unresponsive one fails no read and gets none", async (t) => {
  let asked = 0;
  // Checks whether the node is back are not reads.
  const frozen = createServer(({ method }) => void (asked += method === "HEAD" ? 0 : 1)).listen(0, "127.0.0.1");
  await once(frozen, "listening");
  t.teardown(() => {
    frozen.close();
    frozen.closeAllConnections();
  });
  const well = await proxyOf(t);
  const { read } = clientOf(t, [`http://127.0.0.1:${(frozen.address() as AddressInfo).port}`, well.url]);
  await Promise.all([read(), read(), read(), read()]);
  t.true(asked > 0, "it got requests before it was known to be unresponsive");
  const before = asked;
  await Promise.all(Array.from({ length: 20 }, read));
  t.is(asked, before);
});

real("a node that is slow to respond to one query stays in use", async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let probes = 0;
  const pass = async (incoming: IncomingMessage, response: ServerResponse) => {
    if (incoming.method === "HEAD") {
      if ((probes += 1) === 8) release();
      return void response.writeHead(200, { "x-elastic-product": "Elasticsearch" }).end();
    }
    if (incoming.url?.startsWith("/_cat")) await released;
    const { method, url, headers } = incoming;
    const upstream = ask(`${elasticsearchUrl()}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(upstream);
  };
  const server = createServer((incoming, response) => void pass(incoming, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const { read } = clientOf(t, [`http://127.0.0.1:${(server.address() as AddressInfo).port}`]);
  await t.notThrowsAsync(read);
  t.true(probes >= 8, `${probes} probes`);
});

real("with Elasticsearch frozen the service answers reads with 503 at once, accepts posts, and recovers", async (t) => {
  t.timeout(300_000);
  const proxy = await proxyOf(t);
  const environment = environmentOf("cluster", temporaryFolder(t));
  const service = await startService({ ...environment, ELASTICSEARCH_URL: proxy.url });
  t.teardown(() => service.close());
  const events = () => get(service, `/1/logs/${LOG}/events`);
  t.is((await events()).status, 200);
  proxy.set("stalled");
  t.is((await post(service, { text: "posted meanwhile" })).status, 201);
  t.is((await events()).status, 503);
  let best_ms = Infinity;
  for (let attempt = 0; attempt < 10 && best_ms >= UNRESPONSIVE_MS; attempt++) {
    const start_ms = performance.now();
    for (let i = 0; i < 5; i++) {
      const { status, headers } = await events();
      t.is(status, 503);
      t.is(headers.get("Retry-After"), "1");
    }
    best_ms = Math.min(best_ms, performance.now() - start_ms);
  }
  t.true(best_ms < UNRESPONSIVE_MS, `5 took ${best_ms} ms`);
  proxy.set("open");
  await until(async () => (await events()).headers.get("X-Total-Count") === "1", { what: "the event to be listed" });
});
