import test from "ava";
import fc from "fast-check";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { compress } from "snappyjs";

import { KEPT_BYTES } from "../../../src/ingest/kit/long-json.ts";
import { decodeJson } from "../../../src/ingest/protocols/otlp/decode-json.ts";
import { decodeProtobuf } from "../../../src/ingest/protocols/otlp/decode-protobuf.ts";
import { isPending } from "../../../src/ingest/kit/steps.ts";
import type { ProducerEvent } from "../../../src/ingest/kit/endpoint.ts";
import { receivedOf } from "../../support/received.ts";
import { KEY, serviceOf } from "../../support/service.ts";
import { eventsOf, send } from "../posting.ts";
import { encodeRequest, Request, Status } from "./otlp-proto.ts";

const PROTOBUF = { "Content-Type": "application/x-protobuf" };
const JSON_TYPE = { "Content-Type": "application/json" };
const NO_CHOICE = { text: [], time: [], source: [], tags: [] };

const text = (stringValue: string) => ({ stringValue });
const record = {
  timeUnixNano: "1700000000123456789",
  observedTimeUnixNano: "1700000001000000000",
  severityNumber: 18,
  severityText: "Error2",
  body: text("order failed"),
  attributes: [
    { key: "http.status", value: { intValue: "500" } },
    { key: "big", value: { intValue: "9007199254740993" } },
    { key: "least", value: { intValue: "-9223372036854775808" } },
    { key: "took", value: { doubleValue: 12.5 } },
    { key: "ok", value: { boolValue: true } },
    { key: "list", value: { arrayValue: { values: [{ intValue: "1" }, text("a")] } } },
    {
      key: "map",
      value: {
        kvlistValue: { values: [{ key: "a", value: { kvlistValue: { values: [{ key: "b", value: text("c") }] } } }] },
      },
    },
    { key: "raw", value: { bytesValue: "AAEC" } },
    { key: "user.name", value: text("ann") },
    { key: "none", value: {} },
  ],
  traceId: "5B8EFFF798038103D269B633813FC60C",
  spanId: "EEE19B7EC3C1B174",
  flags: 1,
  eventName: "order.failed",
  droppedAttributesCount: 2,
};
const request = {
  resourceLogs: [
    {
      scopeLogs: [
        { logRecords: [record], scope: { name: "lib", version: "1.2", attributes: [{ key: "s", value: text("S") }] } },
      ],
      resource: {
        attributes: [
          { key: "service.name", value: text("shop") },
          { key: "host.name", value: text("box") },
        ],
      },
    },
  ],
};
const expected = {
  text: "order failed",
  source: "shop",
  user: "ann",
  tags: ["error"],
  attributes: {
    "http.status": 500,
    big: "9007199254740993",
    least: "-9223372036854775808",
    took: 12.5,
    ok: true,
    list: [1, "a"],
    "map.a.b": "c",
    raw: "AAEC",
    "user.name": "ann",
    "service.name": "shop",
    "host.name": "box",
    "otel.scope.name": "lib",
    "otel.scope.version": "1.2",
    s: "S",
    severity_text: "Error2",
    severity_number: 18,
    trace_id: "5b8efff798038103d269b633813fc60c",
    span_id: "eee19b7ec3c1b174",
    trace_flags: 1,
    event_name: "order.failed",
    dropped_attributes_count: 2,
    observed_time_ns: "1700000001000000000",
    time_ns: "1700000000123456789",
  },
} as const;

/** Protobufjs takes bytes in base64, while the JSON of OTLP has ids in hex. */
function forProtobuf(): object {
  const hex = (id: string) => Buffer.from(id, "hex");
  const changed = { ...record, traceId: hex(record.traceId), spanId: hex(record.spanId) };
  const [logs] = request.resourceLogs;
  return { resourceLogs: [{ ...logs, scopeLogs: [{ ...logs!.scopeLogs[0], logRecords: [changed] }] }] };
}

test("a record is stored with all of its fields, in each encoding and compression", async (t) => {
  const service = await serviceOf(t, "embedded");
  const json = JSON.stringify(request);
  const numbers = json
    .replaceAll(/"intValue":"(-?\d+)"/g, '"intValue":$1')
    .replaceAll(/UnixNano":"(\d+)"/g, 'UnixNano":$1');
  const protobuf = encodeRequest(forProtobuf());
  const snake = json.replaceAll(
    /"([a-z]+)([A-Z][A-Za-z]*)":/g,
    (_, first: string, rest: string) =>
      `"${first}${rest.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}":`,
  );
  const ways: readonly (readonly [string | Buffer, Record<string, string>])[] = [
    [json, JSON_TYPE],
    [numbers, { "Content-Type": "application/json; charset=utf-8" }],
    [snake, JSON_TYPE],
    [gzipSync(json), { ...JSON_TYPE, "Content-Encoding": "gzip" }],
    [protobuf, PROTOBUF],
    [gzipSync(protobuf), { ...PROTOBUF, "Content-Encoding": "gzip" }],
    [zstdCompressSync(protobuf), { ...PROTOBUF, "Content-Encoding": "zstd" }],
    [Buffer.from(compress(protobuf)), { ...PROTOBUF, "Content-Encoding": "snappy" }],
  ];
  for (const [body, headers] of ways) {
    const { status, text, headers: answered } = await send(service, "/v1/logs", body, { headers });
    t.is(status, 200, text);
    const isJson = headers["Content-Type"]!.startsWith("application/json");
    t.is(answered.get("content-type"), isJson ? "application/json" : "application/x-protobuf");
    t.is(text, isJson ? "{}" : "");
  }
  for (const event of await eventsOf(service, ways.length)) {
    const { id: _id, ...rest } = event;
    t.like(rest, { ...expected, created: event.created });
    t.regex(event.created, /1700000000123/);
    t.deepEqual(event.attributes, expected.attributes as never);
  }
});

test("error responses have the encoding of the request", async (t) => {
  const service = await serviceOf(t, "embedded");
  const wrong = await send(service, "/v1/logs", "x", { headers: { ...JSON_TYPE, Authorization: "Bearer wrong" } });
  t.is(wrong.status, 401);
  t.like(JSON.parse(wrong.text) as object, { code: 16 });
  const response = await fetch(`${service.postUrl}/v1/logs`, {
    method: "POST",
    body: "x",
    headers: { ...PROTOBUF, "X-API-Key": KEY },
  });
  t.is(response.status, 400);
  const status = Status.toObject(Status.decode(Buffer.from(await response.arrayBuffer())));
  t.is(status["code"], 3);
  t.regex(String(status["message"]), /not a valid protobuf message/);
  t.is((await send(service, "/v1/logs", "x", { headers: { "Content-Type": "text/plain" } })).status, 415);
  for (const body of [
    "",
    "[]",
    "1",
    "{",
    '{"resourceLogs":{}}',
    '{"resourceLogs":[1]}',
    '{"resourceLogs":[{"scopeLogs":1}]}',
  ]) {
    t.is((await send(service, "/v1/logs", body, { headers: JSON_TYPE })).status, 400, body);
  }
  for (const body of ["{}", '{"resourceLogs":[]}', '{"resourceLogs":[{"resource":1,"scopeLogs":[{"scope":[]}]}]}']) {
    t.is((await send(service, "/v1/logs", body, { headers: JSON_TYPE })).status, 200, body);
  }
  t.is((await send(service, "/v1/logs", "", { headers: PROTOBUF })).status, 200, "an empty request");
});

test("several requests in one body of JSON are stored, as Vector batches them", async (t) => {
  const service = await serviceOf(t, "embedded");
  const of = (body: string) => ({
    host: "box",
    resourceLogs: [
      { resource: {}, scopeLogs: [{ logRecords: [{ body: text(body), timeUnixNano: 1_700_000_000_123 }] }] },
    ],
  });
  const long = (body: string) => ({ ...of(body), rest: "x".repeat(KEPT_BYTES) });
  const ndjson = { "Content-Type": "application/x-ndjson" };
  const ways: readonly (readonly [string, Record<string, string>])[] = [
    [`${JSON.stringify(of("a"))}\n${JSON.stringify(of("b"))}`, JSON_TYPE],
    [`${JSON.stringify(of("c"))}\n${JSON.stringify(of("d"))}\n`, ndjson],
    [JSON.stringify([of("e"), of("f")]), JSON_TYPE],
    [`${JSON.stringify(of("g"))}\n${JSON.stringify(long("h"))}`, ndjson],
    [JSON.stringify([long("i"), of("j")]), JSON_TYPE],
  ];
  for (const [body, headers] of ways) {
    const { status, text: answer } = await send(service, "/v1/logs", body, { headers });
    t.is(status, 200, answer);
  }
  const one = JSON.stringify(of("refused"));
  const pad = `{"rest":"${"x".repeat(KEPT_BYTES)}"}`;
  for (const body of [
    `${one}\n{}`,
    `${one}x`,
    `[${one},1]`,
    `[${one},{"message":"lost"}]`,
    `[${one}]]`,
    `${one}\n${pad}`,
    `[${one},${pad}]`,
    `[${pad},${one}] 1`,
  ]) {
    t.is((await send(service, "/v1/logs", body, { headers: JSON_TYPE })).status, 400, body.slice(0, 50));
  }
  t.is((await send(service, "/v1/logs", pad, { headers: JSON_TYPE })).status, 200, "unknown members are allowed");
  t.is(
    (await eventsOf(service, 10))
      .map((event) => event.text)
      .toSorted()
      .join(""),
    "abcdefghij",
  );
});

test("malformed records are reported as a partial success", async (t) => {
  const service = await serviceOf(t, "embedded");
  const logRecords = [
    1,
    { body: text("good"), attributes: 5, severityNumber: "SEVERITY_NUMBER_WARN3", traceId: "zz" },
    null,
  ];
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  const { status, text: answer } = await send(service, "/v1/logs", body, { headers: JSON_TYPE });
  t.is(status, 200);
  t.deepEqual(JSON.parse(answer), {
    partialSuccess: { rejectedLogRecords: "2", errorMessage: "a log record is not an object" },
  });
  const [event] = await eventsOf(service, 1);
  t.like(event, { text: "good", tags: ["warn"], attributes: { severity_number: 15 } });
});

test("ids in base64, as protobuf's own JSON writes them, are accepted", (t) => {
  const read = (ids: object) => {
    const body = JSON.stringify({
      resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "a" }, ...ids }] }] }],
    });
    const [event] = [...decodeJson(receivedOf(body))];
    return Object.fromEntries((event as ProducerEvent).attributes) as Record<string, unknown>;
  };
  const [trace, span] = [
    Buffer.from("5b8efff798038103d269b633813fc60c", "hex"),
    Buffer.from("eee19b7ec3c1b174", "hex"),
  ];
  const expected = { trace_id: trace.toString("hex"), span_id: span.toString("hex") };
  t.deepEqual(read({ traceId: trace.toString("base64"), spanId: span.toString("base64") }), expected);
  t.deepEqual(read({ traceId: trace.toString("hex"), spanId: span.toString("hex").toUpperCase() }), expected);
  t.deepEqual(read({ traceId: "zz", spanId: "=" }), {});
  t.deepEqual(read({ traceId: "0".repeat(32), spanId: "0".repeat(16) }), {}, "zeros mean no id");
});

test("a text is never empty, and its attribute can be selected", (t) => {
  const decode = (record: object, choice: object = {}) => {
    const body = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }));
    const [event] = [...decodeJson(receivedOf(body, { choice: { ...NO_CHOICE, ...choice } }))];
    if (event === undefined || "fault" in event) throw new Error("no event");
    return { ...event, attributes: Object.fromEntries(event.attributes) };
  };
  const pairs = (values: object[]) => ({ kvlistValue: { values } });
  t.like(
    decode({
      body: pairs([
        { key: "message", value: text("m") },
        { key: "n", value: { intValue: 1 } },
      ]),
    }),
    {
      text: "m",
      attributes: { "body.n": 1 },
    },
  );
  t.like(decode({ eventName: "click" }), { text: "click" });
  t.like(decode({ body: { intValue: 5 } }), { text: "5" });
  t.like(decode({ body: { arrayValue: { values: [text("a")] } } }), { text: "", attributes: { body: ["a"] } });
  t.like(decode({ body: text("b"), attributes: [{ key: "m", value: text("chosen") }] }, { text: ["m"] }), {
    text: "chosen",
    attributes: { body: "b" },
  });
});

test("a protobuf message is decoded as protobufjs decodes it", (t) => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.string().map((stringValue) => ({ stringValue })),
      fc.boolean().map((boolValue) => ({ boolValue })),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((whole) => ({ intValue: String(whole) })),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((doubleValue) => ({ doubleValue })),
      fc.array(tie("any"), { maxLength: 3 }).map((values) => ({ arrayValue: { values } })),
      fc
        .array(fc.record({ key: fc.string(), value: tie("any") }), { maxLength: 3 })
        .map((values) => ({ kvlistValue: { values } })),
    ),
  })).any as fc.Arbitrary<object>;
  const pairs = fc.array(fc.record({ key: fc.string(), value }), { maxLength: 4 });
  const nanoseconds = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String);
  const logRecord = fc.record({
    timeUnixNano: nanoseconds,
    observedTimeUnixNano: nanoseconds,
    severityNumber: fc.nat(30),
    severityText: fc.string(),
    body: value,
    attributes: pairs,
    flags: fc.nat(2 ** 31 - 1),
    eventName: fc.string(),
    droppedAttributesCount: fc.nat(2 ** 31 - 1),
  });
  const requests = fc.record({
    resourceLogs: fc.array(
      fc.record({
        resource: fc.record({ attributes: pairs }),
        scopeLogs: fc.array(
          fc.record({
            scope: fc.record({ name: fc.string(), version: fc.string(), attributes: pairs }),
            logRecords: fc.array(logRecord, { maxLength: 3 }),
          }),
          { maxLength: 3 },
        ),
      }),
      { maxLength: 3 },
    ),
  });
  fc.assert(
    fc.property(requests, (given) => {
      const bytes = encodeRequest(given);
      // The JSON of the same message, as protobufjs decodes its own bytes.
      const message = Request.toObject(Request.decode(bytes), { longs: String, bytes: String });
      const json = Buffer.from(JSON.stringify(message));
      const plain = (event: unknown) =>
        JSON.stringify(event, (_, v: unknown) => (v instanceof Map ? [...(v as Map<unknown, unknown>)] : v));
      t.deepEqual([...decodeProtobuf(receivedOf(bytes))].map(plain), [...decodeJson(receivedOf(json))].map(plain));
    }),
    { numRuns: 300 },
  );
});

test("messages that are truncated, nested endlessly or give wrong lengths are refused or bounded", (t) => {
  const decode = (bytes: Buffer) => [...decodeProtobuf(receivedOf(bytes))];
  const whole = encodeRequest(forProtobuf());
  for (let length = 1; length < whole.length; length++) {
    t.throws(() => decode(whole.subarray(0, length)), { message: /not a valid protobuf message/ });
  }
  const refused = (...bytes: number[]) =>
    t.throws(() => decode(Buffer.from(bytes)), { message: /not a valid protobuf message/ });
  refused(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f);
  refused(0x0a, ...Array.from({ length: 11 }, () => 0xff));
  refused(0x00);
  refused(0x0b, 0x0c);
  refused(0x1f);
  let nested = Buffer.from([0x08, 0x01]);
  const field = (number: number, bytes: Buffer) => {
    const length: number[] = [];
    let left = bytes.length;
    for (; left > 0x7f; left >>>= 7) length.push((left & 0x7f) | 0x80);
    return Buffer.concat([Buffer.from([(number << 3) | 2, ...length, left]), bytes]);
  };
  for (let i = 0; i < 3_000; i++) nested = field(5, field(1, nested));
  const bytes = field(1, field(2, field(2, field(5, nested))));
  const [event] = decode(bytes);
  t.truthy(event);
  const deep = `${'{"arrayValue":{"values":['.repeat(5_000)}{}${"]}}".repeat(5_000)}`;
  const json = Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${deep}}]}]}]}`);
  t.is([...decodeJson(receivedOf(json))].filter((read) => !isPending(read)).length, 1);
});

test("bytes that old encoders write as an object in JSON are kept", (t) => {
  const bytesOf = (bytesValue: unknown) => {
    const logRecords = [{ body: text("x"), attributes: [{ key: "raw", value: { bytesValue } }] }];
    const body = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    const [event] = [...decodeJson(receivedOf(body))] as readonly ProducerEvent[];
    return event?.attributes.get("raw");
  };
  t.is(bytesOf({ 0: 1, 1: 2, 2: 255 }), "AQL/");
  t.is(bytesOf({ type: "Buffer", data: [1, 2, 255] }), "AQL/");
  t.is(bytesOf("AQL/"), "AQL/");
});
