import test from "ava";
import { gzipSync } from "node:zlib";

import { environmentOf, serviceOf, startService } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { eventsOf, send } from "../posting.ts";
import { bulk, lines, NDJSON, statuses } from "./elasticsearch-requests.ts";
import type { Answer } from "./elasticsearch-requests.ts";

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
