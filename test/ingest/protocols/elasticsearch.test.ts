import test from "ava";
import { gzipSync } from "node:zlib";

import { infoOf } from "../../../src/ingest/protocols/elasticsearch/info.ts";
import { environmentOf, KEY, serviceOf, startService } from "../../support/service.ts";
import type { Service } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { eventsOf, send } from "../posting.ts";

type Item = Readonly<
  Record<
    string,
    { _index: string; _id: string; status: number; result?: string; error?: { type: string; reason: string } }
  >
>;
type Answer = { errors: boolean; items: Item[] };

const JSON_TYPE = { "Content-Type": "application/json" };
const NDJSON = { "Content-Type": "application/x-ndjson" };
const lines = (...values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");

async function bulk(
  service: Pick<Service, "postUrl">,
  body: string,
  path = "/_bulk",
): Promise<{ status: number; answer: Answer }> {
  const { status, text } = await send(service, path, body, { headers: NDJSON });
  return { status, answer: JSON.parse(text) as Answer };
}

const statuses = ({ items }: Answer) => items.map((item) => [Object.keys(item)[0], Object.values(item)[0]!.status]);

test("each action has an item in order, under its own name", async (t) => {
  const service = await serviceOf(t, "embedded");
  const body =
    lines(
      { index: { _index: "app" } },
      {
        "@timestamp": "2026-11-20T10:00:00.123456Z",
        message: "indexed",
        log: { level: "error" },
        service: { name: "s" },
      },
    ) +
    "\n  \r\n" +
    lines(
      { create: { _id: "c1" } },
      { message: "created" },
      { delete: { _id: "d1" } },
      { update: { _id: "u1" } },
      { doc: { message: "no" } },
    ) +
    lines({ update: { _id: "u2" } }, { doc: { message: "upserted" }, doc_as_upsert: true }, { index: {} }, [1]) +
    `{"index":{}}\nno JSON\n{"index":{"_id":7}}\n{"message":"last","n":12345678901234567890}`;
  const { status, answer } = await bulk(service, body, "/logs-%C3%A9/_bulk");
  t.is(status, 200);
  t.true(answer.errors);
  t.deepEqual(statuses(answer), [
    ["index", 201],
    ["create", 201],
    ["delete", 404],
    ["update", 400],
    ["update", 201],
    ["index", 400],
    ["index", 400],
    ["index", 201],
  ]);
  t.like(answer.items[0]!["index"], { _index: "app", result: "created" });
  t.like(answer.items[1]!["create"], { _index: "logs-é", _id: "c1" });
  t.regex(answer.items[6]!["index"]!.error!.reason, /not valid JSON/);
  const events = new Map((await eventsOf(service, 4)).map((event) => [event.text, event]));
  t.is(events.size, 4);
  t.like(events.get("indexed"), {
    id: answer.items[0]!["index"]!["_id"],
    source: "s",
    tags: ["error"],
    attributes: { _index: "app", "log.level": "error", "service.name": "s" },
  });
  t.like(events.get("created"), { attributes: { _index: "logs-é", _id: "c1" } });
  t.like(events.get("last"), { attributes: { _id: "7", n: "12345678901234567890" } });
});

test("a long answer says at its beginning whether there are errors, for clients that keep no more of it", async (t) => {
  const service = await serviceOf(t, "embedded");
  const post = (body: string) => send(service, "/_bulk", body, { headers: NDJSON });
  // Fluent Bit searches what it kept of an answer for this text, else sends the request again.
  t.regex((await post(lines({ create: {} }, { message: "m" }))).text, /^\{"took":\d+,"errors":false,"items":\[/);
  t.regex((await post(lines({ create: {} }, 7))).text, /^\{"took":\d+,"errors":true,"items":\[/);
});

test("the answer to Fluent Bit has the items that failed, and one that did not, however many there are", async (t) => {
  const service = await serviceOf(t, "embedded");
  const post = async (body: string): Promise<{ text: string; answer: Answer }> => {
    const { text } = await send(service, "/_bulk", body, { headers: { ...NDJSON, "User-Agent": "Fluent-Bit" } });
    return { text, answer: JSON.parse(text) as Answer };
  };
  const documents = Array.from({ length: 5_000 }, (_, n) =>
    lines({ create: { _index: "a", _id: n } }, { message: "m" }),
  );
  const stored = await post(documents.join(""));
  t.false(stored.answer.errors);
  t.deepEqual(statuses(stored.answer), [["create", 201]]);
  // It sends a request again whose answer has more than 512,000 bytes.
  t.true(stored.text.length < 1_000, String(stored.text.length));
  const known = lines({ create: { _index: "a", _id: 7 } }, { message: "m" });
  const more = lines({ index: {} }, { message: "n" }, { index: {} }, { message: "o" });
  const some = await post(`${known}${more}${lines({ index: {} })}[1]\n`);
  t.true(some.answer.errors);
  t.deepEqual(statuses(some.answer), [
    ["create", 409],
    ["index", 201],
    ["index", 400],
  ]);
  t.is((await eventsOf(service, 5_002)).length, 5_002);
});

test("a repeated event with the same id is stored once", async (t) => {
  const folder = temporaryFolder(t);
  const environment = environmentOf("embedded", folder);
  let service = await startService(environment);
  const events = Array.from({ length: 50 }, (_, i) => [
    { create: { _index: "a", _id: `id-${i}` } },
    { message: `m${i}` },
  ]);
  const body = lines(...events.flat());
  t.false((await bulk(service, body)).answer.errors);
  const again = (await bulk(service, body)).answer;
  t.true(again.errors);
  t.true(statuses(again).every(([name, status]) => name === "create" && status === 409));
  const some = (
    await bulk(
      service,
      lines(
        { index: { _index: "a", _id: "id-1" } },
        { message: "x" },
        { create: { _index: "b", _id: "id-1" } },
        { message: "other index" },
        { create: { _index: "b", _id: "id-1" } },
        { message: "twice" },
      ),
    )
  ).answer;
  t.deepEqual(statuses(some), [
    ["index", 200],
    ["create", 201],
    ["create", 409],
  ]);
  const two = await Promise.all([1, 2].map(() => bulk(service, lines(...events.flat()).replaceAll("id-", "both-"))));
  for (const { status } of two) t.true(status === 200 || status === 503, String(status));
  t.true(two.some(({ status }) => status === 200));
  t.is((await eventsOf(service, 101)).length, 101);
  await service.close();
  service = await startService(environment);
  t.teardown(() => service.close());
  t.is((await bulk(service, body)).status, 200, "the same request, after a restart");
  t.false((await bulk(service, lines({ index: {} }, { message: "end" }))).answer.errors);
  t.is((await eventsOf(service, 102)).length, 102);
});

test("documents of the Collector's exporter have text, severity and source in each of its mappings", async (t) => {
  const service = await serviceOf(t, "embedded");
  const index = { create: { _index: "logs-generic-default" } };
  const { status } = await bulk(
    service,
    lines(
      index,
      {
        "@timestamp": "1795673947801.301794",
        body: { text: "otel" },
        severity_number: 17,
        attributes: { n: 1, "user.name": "ann", message: "an attribute" },
        resource: { attributes: { "service.name": "shop", "host.name": "box" } },
      },
      index,
      {
        "@timestamp": "2026-11-26T06:19:11.655508662Z",
        Body: "none",
        SeverityText: "WARN",
        Resource: { service: { name: "shop" } },
      },
      index,
      { Body: "no word", SeverityNumber: 9, Resource: { host: { name: "box" } }, "Attributes.user.id": "u1" },
    ),
  );
  t.is(status, 200);
  const events = new Map((await eventsOf(service, 3)).map((event) => [event.text, event]));
  const otel = events.get("otel")!;
  t.like(otel, { source: "shop", tags: ["error"], user: "ann" });
  t.like(otel.attributes, { "attributes.n": 1, "attributes.message": "an attribute", time_ns: "1795673947801301794" });
  t.like(events.get("none"), { source: "shop", tags: ["warn"] });
  t.like(events.get("no word"), { source: "box", tags: ["info"], user: "u1" });
});

test("the node that clients find is at the address they used", (t) => {
  for (const [host, address, more] of [
    ["127.0.0.1:8081", "127.0.0.1:8081", {}],
    ["[::1]:8081", "[::1]:8081", {}],
    ["in.example.org", "in.example.org:80", {}],
    ["in.example.org", "in.example.org:443", { "x-forwarded-proto": "https" }],
    ['no"host', undefined, {}],
  ] as const) {
    const answer = infoOf("GET", "/_nodes/http")!;
    const { body } = answer({ settings: { elasticsearchVersion: "8.19.0" }, headers: { host, ...more } });
    const { _nodes: counts, nodes } = JSON.parse(body as string) as {
      _nodes: { total: number };
      nodes: Record<string, { http: { publish_address: string } }>;
    };
    t.is(nodes["loggia"]?.http.publish_address, address);
    t.is(counts.total, Object.keys(nodes).length);
  }
});

test("a malformed request stores nothing", async (t) => {
  const service = await serviceOf(t, "embedded");
  const good = lines({ index: {} }, { message: "good" });
  const wrong = [
    "",
    "x\n",
    '{"index":1}\n{}\n',
    '{"other":{}}\n{}\n',
    '{"index":{},"create":{}}\n{}\n',
    "[]\n",
    "null\n",
    '{"index":{}}\n',
    '{"index":{"_id":{}}}\n{}\n',
    '{"index":{"_index":1}}\n{}\n',
    `{"index":{"_id":"${"x".repeat(600)}"}}\n{}\n`,
  ];
  for (const end of wrong) {
    const { status, text, headers } = await send(service, "/_bulk", end === "" ? "" : good + end, { headers: NDJSON });
    t.is(status, 400, end);
    t.is(headers.get("x-elastic-product"), "Elasticsearch");
    t.like(JSON.parse(text) as object, { status: 400, error: { type: "illegal_argument_exception" } });
  }
  // More than one append, malformed at its end.
  t.is((await send(service, "/_bulk", `${good.repeat(25_000)}{"index":{}}`, { headers: NDJSON })).status, 400);
  t.is((await send(service, "/_bulk", good.repeat(3), { method: "PUT", headers: NDJSON })).status, 200);
  t.is((await eventsOf(service, 3)).length, 3);
});

test("a large request is answered action by action, in pieces", async (t) => {
  const service = await serviceOf(t, "embedded");
  const count = 25_000;
  const body = Array.from({ length: count }, (_, i) =>
    lines({ create: { _index: "big" } }, i % 1_000 === 0 ? 1 : { message: `m${i}` }),
  ).join("");
  const posted = await send(service, "/_bulk", gzipSync(body), { headers: { ...NDJSON, "Content-Encoding": "gzip" } });
  const answer = JSON.parse(posted.text) as Answer;
  t.is(answer.items.length, count);
  t.deepEqual(
    answer.items.flatMap((item, i) => (item["create"]!.status === 201 ? [] : [i])),
    Array.from({ length: 25 }, (_, i) => i * 1_000),
  );
  const ids = answer.items.flatMap(({ create }) => (create!.status === 201 ? [create!["_id"]] : []));
  t.is(new Set(ids).size, count - 25);
  const filtered = await send(
    service,
    "/_bulk?filter_path=errors,items.*.error,items.*.status",
    lines({ index: {} }, { message: "x" }),
    { headers: NDJSON },
  );
  t.like(JSON.parse(filtered.text) as object, { errors: false, items: [{ index: { status: 201 } }] });
});

test("thousands of refused actions cost little, and each has its item", async (t) => {
  const service = await serviceOf(t, "embedded");
  const count = 30_000;
  const { status, answer } = await bulk(service, '{"delete":{}}\n{"index":{}}\n1\n'.repeat(count));
  t.is(status, 200);
  t.true(answer.errors);
  t.is(answer.items.length, 2 * count);
  t.deepEqual(statuses({ ...answer, items: answer.items.slice(-2) }), [
    ["delete", 404],
    ["index", 400],
  ]);
  t.regex(answer.items.at(-1)!["index"]!.error!.reason, /more than 10000 actions/);
  t.false((await bulk(service, '{"delete":{}}\n')).answer.errors, "what is not there is no error");
});

test("endpoints that clients query before posting are answered", async (t) => {
  const service = await startService({
    ...environmentOf("embedded", temporaryFolder(t)),
    LOGGIA_ELASTICSEARCH_VERSION: "9.1.0",
  });
  t.teardown(() => service.close());
  const ask = async (method: string, path: string) => {
    const response = await fetch(service.postUrl + path, { method, ...(method === "PUT" && { body: "{}" }) });
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

test("members beside an action are ignored, as winston-elasticsearch sends them", async (t) => {
  const service = await serviceOf(t, "embedded");
  const body = lines({ index: { _index: "logs", pipeline: null }, attempts: 0 }, { message: "one", severity: "warn" });
  const { status, answer } = await bulk(service, body);
  t.is(status, 200);
  t.deepEqual(statuses(answer), [["index", 201]]);
  t.is((await bulk(service, lines({ index: {}, create: {} }, { message: "two" }))).status, 400);
  t.deepEqual(
    (await eventsOf(service, 1)).map(({ text, tags }) => [text, ...tags]),
    [["one", "warn"]],
  );
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
