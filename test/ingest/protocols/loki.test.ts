import test from "ava";
import fc from "fast-check";
import { gzipSync } from "node:zlib";
import { compress } from "snappyjs";

import { decodeJson, decodeProtobuf } from "../../../src/ingest/protocols/loki/decode.ts";
import { parseLabels } from "../../../src/ingest/protocols/loki/labels.ts";
import { receivedOf } from "../../support/received.ts";
import { serviceOf } from "../../support/service.ts";
import { eventsOf, send } from "../posting.ts";
import { encodePush } from "./loki-proto.ts";

const PATH = "/loki/api/v1/push";
const JSON_TYPE = { "Content-Type": "application/json" };
const PROTOBUF = { "Content-Type": "application/x-protobuf" };

const push = {
  streams: [
    {
      labels: '{app="shop", level="warn", quoted="a\\"b\\n,}"}',
      entries: [
        {
          timestamp: { seconds: 1700000000, nanos: 123456789 },
          line: "plain line",
          structuredMetadata: [{ name: "trace_id", value: "abc" }],
        },
        { timestamp: { seconds: 1700000001 }, line: '{"msg":"json line","level":50,"n":5}' },
      ],
      hash: "5",
    },
  ],
};
const json = {
  streams: [
    {
      stream: { app: "shop", level: "warn", quoted: 'a"b\n,}' },
      values: [
        ["1700000000123456789", "plain line", { trace_id: "abc" }],
        ["1700000001000000000", '{"msg":"json line","level":50,"n":5}'],
      ],
    },
  ],
};

test("a push in protobuf or JSON is stored with labels and structured metadata", async (t) => {
  const service = await serviceOf(t, "embedded");
  const snappy = Buffer.from(compress(encodePush(push)));
  const ways: readonly (readonly [string | Buffer, Record<string, string>])[] = [
    [snappy, PROTOBUF],
    [snappy, { ...PROTOBUF, "Content-Encoding": "snappy" }],
    [snappy, {}],
    [JSON.stringify(json), JSON_TYPE],
    [gzipSync(JSON.stringify(json)), { ...JSON_TYPE, "Content-Encoding": "gzip" }],
  ];
  for (const [body, headers] of ways) {
    const { status, text } = await send(service, PATH, body, { headers: { ...headers, "X-Scope-OrgID": "team" } });
    t.is(status, 204, text);
    t.is(text, "");
  }
  const events = await eventsOf(service, 2 * ways.length);
  t.is(events.length, 2 * ways.length);
  for (const event of events) {
    t.is(event.source, "shop");
    const common = { app: "shop", quoted: 'a"b\n,}', tenant: "team" };
    if (event.text === "plain line") {
      t.deepEqual(event.tags, ["warn"]);
      t.deepEqual(event.attributes, { ...common, level: "warn", trace_id: "abc", time_ns: "1700000000123456789" });
    } else {
      t.is(event.text, "json line");
      t.deepEqual(event.tags, ["error"]);
      t.deepEqual(event.attributes, { ...common, level: 50, "label.level": "warn", n: 5 });
    }
  }
});

test("both encodings of a push give the same events", (t) => {
  const name = fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/);
  const entry = fc.record({
    seconds: fc.integer({ min: 1, max: 4_000_000_000 }),
    nanos: fc.nat(999_999_999),
    line: fc.string({ unit: "grapheme" }),
    metadata: fc.dictionary(name, fc.string(), { maxKeys: 3 }),
  });
  const streams = fc.array(
    fc.record({ labels: fc.dictionary(name, fc.string(), { maxKeys: 3 }), entries: fc.array(entry, { maxLength: 3 }) }),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(streams, (given) => {
      const bytes = encodePush({
        streams: given.map(({ labels, entries }) => ({
          labels: `{${Object.entries(labels)
            .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
            .join(", ")}}`,
          entries: entries.map(({ seconds, nanos, line, metadata }) => ({
            timestamp: { seconds, nanos },
            line,
            structuredMetadata: Object.entries(metadata).map(([name, value]) => ({ name, value })),
          })),
        })),
      });
      const text = JSON.stringify({
        streams: given.map(({ labels, entries }) => ({
          stream: labels,
          values: entries.map(({ seconds, nanos, line, metadata }) => [
            String(BigInt(seconds) * 1_000_000_000n + BigInt(nanos)),
            line,
            metadata,
          ]),
        })),
      });
      t.deepEqual([...decodeProtobuf(receivedOf(bytes))], [...decodeJson(receivedOf(text))]);
    }),
  );
});

test("labels are parsed as Prometheus writes them", (t) => {
  const pairs = (text: string) => [...parseLabels(text)];
  t.deepEqual(pairs(""), []);
  t.deepEqual(pairs("{}"), []);
  t.deepEqual(pairs(' { a = "1" , b=`x"y\\`, } '), [
    ["a", "1"],
    ["b", 'x"y\\'],
  ]);
  t.deepEqual(pairs('{a="\\u00e9\\x41\\t\\\\"}'), [["a", "éA\t\\"]]);
  t.deepEqual(pairs('{a="\\U0001f600\\U000e0001\\101"}'), [["a", "\u{1f600}\u{e0001}A"]]);
  t.deepEqual(pairs('{a="\\Uffffffff"}'), [["a", "\ufffd"]]);
  t.deepEqual(pairs('{"k8s/app"="1", k8s-app="2", "a\\"b"="3"}'), [
    ["k8s/app", "1"],
    ["k8s-app", "2"],
    ['a"b', "3"],
  ]);
  // Vector does not escape values.
  t.deepEqual(pairs('{file="C:\\Programs\\x.log", job="say "hi", or \\d"}'), [
    ["file", "C:\\Programs\\x.log"],
    ["job", 'say "hi", or \\d'],
  ]);
  t.deepEqual(pairs('{a=""quoted""}'), [["a", '"quoted"']]);
  for (const text of [
    "{",
    "}",
    "a",
    '{a="1" b="2"}',
    '{a="1}',
    "{a=1}",
    '{a="1",,}',
    '{="1"}',
    `{${'a="1",'.repeat(20_000)}}`,
  ]) {
    t.throws(() => parseLabels(text), { message: /labels are malformed/ }, text.slice(0, 20));
  }
});

test("a malformed push is refused with an error and stores nothing", async (t) => {
  const service = await serviceOf(t, "embedded");
  for (const body of [
    "",
    "[]",
    "{",
    '{"streams":{}}',
    '{"streams":[1]}',
    '{"streams":[{"values":1}]}',
    '{"streams":[{"labels":"{"}]}',
  ]) {
    const { status, headers } = await send(service, PATH, body, { headers: JSON_TYPE });
    t.is(status, 400, body);
    t.is(headers.get("content-type"), "text/plain; charset=utf-8");
  }
  t.is((await send(service, PATH, "no snappy at all", { headers: PROTOBUF })).status, 400);
  t.is(
    (await send(service, PATH, Buffer.from(compress(Buffer.from("no protobuf"))), { headers: PROTOBUF })).status,
    400,
  );
  t.is((await send(service, PATH, "{}", { headers: { ...JSON_TYPE, apikey: "wrong" } })).status, 401);
  const mixed = {
    streams: [
      { stream: { a: 1, b: null }, values: [["x"], 1, [null, "no time"], [1700000000123, "ms"]] },
      { labels: '{old="yes"}', entries: [{ ts: "2026-11-20T10:00:00Z", line: "old" }] },
    ],
  };
  t.is((await send(service, "/api/prom/push", JSON.stringify(mixed), { headers: JSON_TYPE })).status, 204);
  t.deepEqual((await eventsOf(service, 3)).map(({ text }) => text).toSorted(), ["ms", "no time", "old"]);
  t.is((await send(service, "/ready", null, { method: "GET" })).text, "ready\n");
});
