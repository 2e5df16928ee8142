import type { ExecutionContext } from "ava";
import test from "ava";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";

import { openElasticsearchDocuments } from "../../../src/catalog/documents/elasticsearch.ts";
import { createElasticsearchClient } from "../../../src/elasticsearch/client.ts";
import { LoggiaError, StartError } from "../../../src/errors.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { elasticsearchUrl } from "../../support/engines.ts";
import { uniqueName } from "../../support/temporary.ts";

const log = pino({ level: "silent" });

if (realEngines) {
  test("a write whose response was lost recognizes itself when the client repeats it", async (t) => {
    const proxy = await startProxy(t);
    const { client, namespace } = connect(t, proxy.url);
    const documents = await openElasticsearchDocuments({ client, namespace });
    proxy.loseAnswers(1);
    const created = await documents.create("a", { n: 1 });
    t.is(proxy.lost, 1);
    t.is(created.kind, "done");
    if (created.kind === "conflict") return;
    proxy.loseAnswers(1);
    const replaced = await documents.replace("a", { n: 2 }, created.version);
    t.is(proxy.lost, 2);
    t.is(replaced.kind, "done");
    if (replaced.kind === "conflict") return;
    t.deepEqual(await documents.read("a"), { id: "a", version: replaced.version, body: { n: 2 } });
    proxy.loseAnswers(1);
    t.is((await documents.remove("a", replaced.version)).kind, "done");
    t.is((await documents.read("a"))?.body, null);
  });

  test("the feed stops repeating a change after the overlap, and continues from there", async (t) => {
    const { client, namespace } = connect(t, elasticsearchUrl());
    const documents = await openElasticsearchDocuments({ client, namespace, overlap_ms: 0 });
    let { cursor } = await documents.changes(null);
    for (let n = 0; n < 5; n++) {
      await documents.create(`a${n}`, { n });
      const page = await documents.changes(cursor);
      t.true(page.documents.some(({ id }) => id === `a${n}`));
      t.true(page.documents.length <= 2);
      cursor = (await documents.changes(page.cursor)).cursor;
      t.deepEqual((await documents.changes(cursor)).documents, []);
    }
  });

  test("refuses an index of another layout", async (t) => {
    const { client, namespace } = connect(t, elasticsearchUrl());
    await client.indices.create({ index: `${namespace}-catalog`, mappings: { _meta: { layout: 2 } } });
    const opening = openElasticsearchDocuments({ client, namespace });
    await t.throwsAsync(opening, { instanceOf: StartError, message: /has layout 2; this release reads layout 1/ });
  });

  test("a missing index is a failure, not an empty catalog", async (t) => {
    const { client, namespace } = connect(t, elasticsearchUrl());
    const documents = await openElasticsearchDocuments({ client, namespace });
    await client.indices.delete({ index: `${namespace}-catalog` });
    await t.throwsAsync(documents.changes(null), { instanceOf: LoggiaError, code: "store_unavailable" });
    await t.throwsAsync(documents.read("a"), { instanceOf: LoggiaError, code: "store_unavailable" });
    await t.throwsAsync(documents.ping(), { instanceOf: LoggiaError, code: "store_unavailable" });
  });

  test("a write does not recreate a lost index, and one recreated by another process is not mistaken for it", async (t) => {
    const { client, namespace } = connect(t, elasticsearchUrl());
    const documents = await openElasticsearchDocuments({ client, namespace });
    const { cursor } = await documents.changes(null);
    const created = await documents.create("a", { n: 1 });
    t.is(created.kind, "done");
    if (created.kind === "conflict") return;
    await client.indices.delete({ index: `${namespace}-catalog` });
    const failsOn = async (what: string) => {
      const unavailable = { instanceOf: LoggiaError, code: "store_unavailable" } as const;
      await t.throwsAsync(documents.create("b", { n: 1 }), unavailable, `create, ${what}`);
      await t.throwsAsync(documents.replace("a", { n: 2 }, created.version), unavailable, `replace, ${what}`);
      await t.throwsAsync(documents.remove("a", created.version), unavailable, `remove, ${what}`);
      await t.throwsAsync(documents.read("a"), unavailable, `read, ${what}`);
      await t.throwsAsync(documents.changes(cursor), unavailable, `changes, ${what}`);
      await t.throwsAsync(documents.ping(), unavailable, `ping, ${what}`);
    };
    await failsOn("lost");
    t.false(await client.indices.exists({ index: `${namespace}-catalog` }));
    const another = await openElasticsearchDocuments({ client, namespace });
    t.is((await another.create("c", { n: 3 })).kind, "done");
    await failsOn("made anew");
    t.deepEqual(
      (await another.changes(null)).documents.map(({ id }) => id),
      ["c"],
    );
  });

  test("an expendable index is recreated whenever it is lost, and each loss is reported once", async (t) => {
    const { client, namespace } = connect(t, elasticsearchUrl());
    const losses: string[] = [];
    const lost = (index: string): void => void losses.push(index);
    const documents = await openElasticsearchDocuments({ client, namespace, lost });
    for (let round = 1; round <= 2; round++) {
      await documents.create("a", { round });
      const before = await documents.state();
      await client.indices.delete({ index: `${namespace}-catalog` });
      const found = await Promise.all([documents.read("a"), documents.read("b"), documents.changes(null)]);
      t.deepEqual(found.slice(0, 2), [null, null]);
      t.is((await documents.create("b", { round })).kind, "done");
      t.is((await documents.read("b"))?.body?.["round"], round);
      const after = await documents.state();
      t.not(after.id, before.id);
      t.is(after.count, 1);
      t.is(losses.length, round);
    }
  });

  test("an unreachable engine is reported as unavailable", async (t) => {
    const { client, namespace } = connect(t, "http://127.0.0.1:1");
    const opening = openElasticsearchDocuments({ client, namespace });
    await t.throwsAsync(opening, { instanceOf: LoggiaError, code: "store_unavailable" });
  });
} else {
  test.skip("this file needs Elasticsearch", (t) => t.pass());
}

function connect(t: ExecutionContext, url: string) {
  const namespace = uniqueName("test");
  const client = createElasticsearchClient({ nodes: [url], log });
  const direct = createElasticsearchClient({ nodes: [elasticsearchUrl()], log });
  t.teardown(async () => {
    await direct.indices.delete({ index: `${namespace}-catalog`, ignore_unavailable: true });
    await Promise.all([client.close(), direct.close()]);
  });
  return { client, namespace };
}

/**
 * Proxies a client to the real Elasticsearch, and resets the connection instead of forwarding the
 * responses to some writes.
 */
async function startProxy(t: ExecutionContext) {
  let losing = 0;
  let lost = 0;
  const target = new URL(elasticsearchUrl());
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const forwarded = request({ host: target.hostname, port: target.port, method, path, headers }, (answer) => {
      if (method === "PUT" && losing > 0) {
        losing -= 1;
        lost += 1;
        answer.resume().on("end", () => incoming.socket.destroy());
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseAnswers(count: number): void {
      losing = count;
    },
    get lost(): number {
      return lost;
    },
  };
}
