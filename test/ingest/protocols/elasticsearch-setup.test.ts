import test from "ava";

import { infoAnswer } from "../../../src/ingest/protocols/elasticsearch/info.ts";
import { environmentOf, KEY, serviceOf, startService } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { eventsOf, send } from "../posting.ts";
import { JSON_TYPE, lines } from "./elasticsearch-requests.ts";
import type { Answer } from "./elasticsearch-requests.ts";

test("the node that clients find is at the address they used", (t) => {
  for (const [host, address, more] of [
    ["127.0.0.1:8081", "127.0.0.1:8081", {}],
    ["[::1]:8081", "[::1]:8081", {}],
    ["in.example.org", "in.example.org:80", {}],
    ["in.example.org", "in.example.org:443", { "x-forwarded-proto": "https" }],
    ['no"host', undefined, {}],
  ] as const) {
    const answer = infoAnswer("GET", "/_nodes/http")!;
    const { body } = answer({ settings: new Map(), headers: { host, ...more } });
    const { _nodes: counts, nodes } = JSON.parse(body as string) as {
      _nodes: { total: number };
      nodes: Record<string, { http: { publish_address: string } }>;
    };
    t.is(nodes["loggia"]?.http.publish_address, address);
    t.is(counts.total, Object.keys(nodes).length);
  }
});

test("a client learns of a wrong key from its first request", async (t) => {
  const service = await serviceOf(t, "embedded");
  const ask = (path: string, headers: Record<string, string> = {}) => fetch(service.postUrl + path, { headers });
  for (const [path, headers] of [
    ["/", {}],
    ["/", { Authorization: "ApiKey d3Jvbmc6d3Jvbmc=" }],
    ["/keys/wrong/", {}],
    ["/1/logs/first/", { "X-API-Key": "wrong" }],
  ] as const) {
    const response = await ask(path, headers);
    t.is(response.status, 401, path);
    // Clients reject a response without the product header as one of another product.
    t.is(response.headers.get("x-elastic-product"), "Elasticsearch", path);
    t.like(await response.json(), { error: { type: "security_exception" }, status: 401 });
  }
  const basic = { Authorization: `Basic ${Buffer.from(`any:${KEY}`).toString("base64")}` };
  t.is((await ask("/", basic)).status, 200);
  t.is((await ask(`/keys/${KEY}/`)).status, 200);
});

test("endpoints that clients query before posting are answered", async (t) => {
  const service = await startService({
    ...environmentOf("embedded", temporaryFolder(t)),
    LOGGIA_ELASTICSEARCH_VERSION: "9.1.0",
  });
  t.teardown(() => service.close());
  const ask = async (method: string, path: string) => {
    const response = await fetch(service.postUrl + path, {
      method,
      headers: { "X-API-Key": KEY },
      ...(method === "PUT" && { body: "{}" }),
    });
    t.is(response.status, 200, `${method} ${path}`);
    t.is(response.headers.get("x-elastic-product"), "Elasticsearch", path);
    return await response.text();
  };
  t.like(JSON.parse(await ask("GET", "/")) as object, { version: { number: "9.1.0" } });
  t.is(await ask("HEAD", "/"), "");
  t.like(JSON.parse(await ask("GET", "/1/logs/first")) as object, { tagline: "You Know, for Search" });
  t.like(JSON.parse(await ask("GET", "/_license")) as object, { license: { status: "active" } });
  for (const path of [
    "/_cluster/health",
    "/_cat/health",
    "/_index_template",
    "/_index_template/x",
    "/_template/x",
    "/_ilm/policy/x",
    "/_ingest/pipeline/x",
    "/_nodes",
    "/_nodes/http",
    "/_xpack",
    "/_alias/filebeat-7.17.0",
    "/x/_alias",
    "/x/_refresh",
  ]) {
    await ask("GET", path);
    await ask("HEAD", path);
  }
  for (const path of ["/_index_template/x", "/_template/x", "/_ilm/policy/x", "/_ingest/pipeline/x"])
    await ask("PUT", path);
  await ask("POST", "/x/_refresh");
  // Fluentd asks after 10,000 requests, and then posts to these nodes alone.
  const { nodes } = JSON.parse(await ask("GET", "/_nodes/http")) as { nodes: Record<string, object> };
  t.like(nodes, { loggia: { version: "9.1.0", http: { publish_address: new URL(service.postUrl).host } } });
  for (const [method, path] of [
    ["GET", "/orders/_search"],
    ["POST", "/_search"],
    ["DELETE", "/_index_template/x"],
  ] as const) {
    const { status, headers, text } = await send(service, path, null, { method });
    t.is(status, 404, path);
    t.is(headers.get("x-elastic-product"), "Elasticsearch", path);
    t.like(JSON.parse(text) as object, { status: 404 });
  }
  const vendor = "application/vnd.elasticsearch+x-ndjson; compatible-with=9";
  const posted = await send(service, `/keys/${KEY}/_bulk`, lines({ index: {} }, { message: "x" }), {
    headers: { "Content-Type": vendor, Accept: vendor },
  });
  t.is(posted.status, 200);
  t.is(posted.headers.get("content-type"), "application/vnd.elasticsearch+json;compatible-with=9");
  t.is(
    (await send(service, "/_bulk", "x", { headers: { apikey: "wrong" } })).headers.get("x-elastic-product"),
    "Elasticsearch",
  );
});

test("a document is posted by itself, and stored once if it has an id", async (t) => {
  const service = await serviceOf(t, "embedded");
  const document = JSON.stringify({ message: "not paid", "log.level": "error" }, null, 2);
  const post = async (method: string, path: string, body = document) => {
    const { status, headers, text } = await send(service, path, body, { method, headers: JSON_TYPE });
    t.is(headers.get("x-elastic-product"), "Elasticsearch");
    return { status, body: JSON.parse(text) as Record<string, unknown> };
  };
  const created = await post("POST", "/orders/_doc");
  t.is(created.status, 201);
  t.like(created.body, { _index: "orders", result: "created" });
  t.regex(String(created.body["_id"]), /^[0-9a-f]{24}$/);
  t.like(await post("PUT", "/orders/_doc/a%2F1?refresh=true"), {
    status: 201,
    body: { _id: "a/1", result: "created" },
  });
  t.like(await post("PUT", "/orders/_doc/a%2F1"), { status: 200, body: { _id: "a/1", result: "noop" } });
  const conflict = { status: 409, error: { type: "version_conflict_engine_exception" } };
  t.like(await post("POST", "/orders/_create/a%2F1"), { status: 409, body: conflict });
  t.like(await post("PUT", "/orders/_doc/a%2F1?op_type=create"), { status: 409, body: conflict });
  t.like(await post("PUT", "/orders/_create/b"), { status: 201, body: { _id: "b" } });
  for (const [path, body] of [
    ["/orders/_doc", "[]"],
    ["/orders/_doc", ""],
    ["/orders/_doc", `${document}${document}`],
    [`/orders/_doc/${"x".repeat(513)}`, document],
  ] as const) {
    t.is((await post("POST", path, body)).status, 400, body);
  }
  t.is((await send(service, "/orders/_doc", document, { headers: { apikey: "wrong" } })).status, 401);
  t.is((await post("PUT", "/orders/_doc")).status, 404);
  const events = await eventsOf(service, 3);
  t.is(events.length, 3);
  for (const event of events) t.like(event, { text: "not paid", tags: ["error"], attributes: { _index: "orders" } });
});

test("an index exists, and is created without any effect, as Logstash and clients set one up", async (t) => {
  const service = await serviceOf(t, "embedded");
  const names = ["/ecs-logstash", "/logs.2026", "/%3Cecs-logstash-%7Bnow%2Fd%7D-000001%3E"];
  for (const path of names) {
    const { status, headers } = await send(service, path, null, { method: "HEAD" });
    t.is(status, 200, path);
    t.is(headers.get("x-elastic-product"), "Elasticsearch");
    for (const body of [null, "{}", '{"aliases":{"ecs-logstash":{"is_write_index":true}},"mappings":{}}']) {
      const created = await send(service, path, body, { method: "PUT", headers: JSON_TYPE });
      t.is(created.status, 200, created.text);
      t.like(JSON.parse(created.text) as object, { acknowledged: true });
    }
  }
  // Nothing that may be an event is acknowledged.
  for (const body of ['{"message":"lost"}', "[]", "lost"]) {
    t.is((await send(service, "/ecs-logstash", body, { method: "PUT", headers: JSON_TYPE })).status, 400, body);
  }
  t.is((await send(service, "/ecs-logstash", "{}", { method: "PUT", headers: { apikey: "wrong" } })).status, 401);
  for (const path of ["/Upper", "/-x", "/1/logs", "/a/b"]) {
    t.is((await send(service, path, null, { method: "HEAD" })).status, 404, path);
  }
});

test("clients of version 7 are told a type of each document, later ones none", async (t) => {
  const { postUrl } = await serviceOf(t, "embedded");
  const vendor = (version: number) => `application/vnd.elasticsearch+json; compatible-with=${version}`;
  const typesFor = async (accept: string) => {
    const headers = { Authorization: `ApiKey ${KEY}`, Accept: accept, "Content-Type": "application/json" };
    const body = lines({ index: { _index: "a" } }, { message: "m" }, { index: {} }, [1]);
    const many = await fetch(`${postUrl}/_bulk`, { method: "POST", headers, body });
    const one = await fetch(`${postUrl}/a/_doc`, { method: "POST", headers, body: '{"message":"m"}' });
    const items = ((await many.json()) as Answer).items.map(({ index }) => index as { _type?: string });
    return [...items, (await one.json()) as { _type?: string }].map(({ _type }) => _type);
  };
  for (const accept of ["*/*", "application/json", vendor(7)]) {
    t.deepEqual(await typesFor(accept), ["_doc", "_doc", "_doc"], accept);
  }
  for (const version of [8, 9]) t.deepEqual(await typesFor(vendor(version)), [undefined, undefined, undefined]);
});
