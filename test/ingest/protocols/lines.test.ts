import { encode, ExtData } from "@msgpack/msgpack";
import test from "ava";
import { deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";

import { serviceOf } from "../../support/service.ts";
import { dataOf, eventsOf, send } from "../posting.ts";

test("each line that is not blank is an event, with any line ending and compression", async (t) => {
  const service = await serviceOf(t, "embedded");
  const body = "\ufefffirst\r\n\n  \nsecond é\nthird";
  for (const [encoding, bytes] of [
    ["identity", Buffer.from(body)],
    ["gzip", gzipSync(body)],
    ["x-gzip", Buffer.concat([gzipSync("\ufefffirst\r\n"), gzipSync("second é\nthird")])],
    ["deflate", deflateSync(body)],
    ["deflate", deflateRawSync(body)],
    ["zstd", zstdCompressSync(body)],
  ] as const) {
    const posted = await send(service, "/1/logs/first/lines?source=till&tags=a,b", bytes, {
      headers: { "Content-Encoding": encoding, "Content-Type": "application/x-www-form-urlencoded" },
    });
    t.is(posted.status, 201, posted.text);
    t.deepEqual(JSON.parse(posted.text), { accepted: 3 });
  }
  const events = await eventsOf(service, 18);
  t.is(events.length, 18);
  t.deepEqual(new Set(events.map(({ text }) => text)), new Set(["first", "second é", "third"]));
  t.true(events.every(({ source, tags }) => source === "till" && tags.join(" ") === "a b"));
});

test("lines in Latin-1 are read as such, in JSON too, and bad bytes beside UTF-8 are replaced", async (t) => {
  const service = await serviceOf(t, "embedded");
  const lines = ["caf\xe9 ouvert", Buffer.from("Größe €").subarray(0, -1).toString("latin1"), "plain"];
  t.is((await send(service, "/lines", Buffer.from(lines.join("\n"), "latin1"))).status, 201);
  const json = Buffer.from('{"msg":"na\xefve","user":"Zo\xeb"}\n', "latin1");
  t.is((await send(service, "/lines", json, { headers: { "Content-Type": "application/x-ndjson" } })).status, 201);
  const events = await eventsOf(service, 4);
  t.deepEqual(events.map(({ text }) => text).toSorted(), ["Größe \ufffd", "café ouvert", "naïve", "plain"]);
  t.is(events.find(({ text }) => text === "naïve")?.user, "Zoë");
});

test("a text longer than its field is cut and marked, and kept whole as data", async (t) => {
  const service = await serviceOf(t, "embedded");
  const long = `${"😀".repeat(8_100)} end`;
  t.is((await send(service, "/1/logs/first/lines", long)).status, 201);
  const [event] = await eventsOf(service, 1);
  t.is(event?.text, "😀".repeat(8_000));
  t.deepEqual(event?.tags, ["cut"]);
  t.is(await dataOf(service, event!.id), long);
});

test("fields of JSON lines are found by name, or selected by parameter and header", async (t) => {
  const service = await serviceOf(t, "embedded");
  const documents = [
    { level: 50, time: 1700000000123, pid: 7, hostname: "box", msg: "pino", req: { id: "r1", ok: true } },
    { "@timestamp": "2026-11-20T10:00:00.123456789Z", message: "ecs", log: { level: "WARNING" }, id: 0 },
    { what: "chosen", when: "1700000000.5", who: "me", list: [1, "a", null], rows: [{ a: 1 }] },
    { nothing: "of a text" },
  ];
  const lines =
    documents.map((document) => JSON.stringify(document)).join("\n") + '\n{"big":12345678901234567890}\nno JSON';
  const posted = await send(
    service,
    "/1/logs/first/lines?text_field=what,msg,message&time_field=when,time,@timestamp",
    lines,
    {
      headers: { "Content-Type": "application/x-ndjson", "X-Loggia-Source-Field": "who,hostname" },
    },
  );
  t.is(posted.status, 201, posted.text);
  const events = new Map((await eventsOf(service, 6)).map((event) => [event.text, event]));
  t.like(events.get("pino"), {
    source: "box",
    tags: ["error"],
    attributes: { level: 50, pid: 7, "req.id": "r1", "req.ok": true },
  });
  t.like(events.get("ecs"), { tags: ["warn"], attributes: { time_ns: "1795168800123456789" } });
  t.like(events.get("chosen"), { source: "me", attributes: { list: [1, "a"], rows: ['{"a":1}'] } });
  t.like(events.get('{"nothing":"of a text"}'), { attributes: { nothing: "of a text" } });
  t.like(events.get('{"big":"12345678901234567890"}'), { attributes: { big: "12345678901234567890" } });
  t.truthy(events.get("no JSON"));
});

test("an array of objects and an object over several lines are events, as batching senders post them", async (t) => {
  const service = await serviceOf(t, "embedded");
  const post = (body: string) =>
    send(service, "/1/logs/first/lines?source=till", body, { headers: { "Content-Type": "application/json" } });
  const many = Array.from({ length: 400 }, (_, i) => ({ message: `many ${i}`, level: "warn", took: i }));
  for (const [body, accepted] of [
    ['\ufeff [ {"message":"one","level":"info"},\n{"message":"two"}, 5 ]\n', 3],
    [JSON.stringify({ message: "three", user: { name: "ann" } }, null, 2), 1],
    [JSON.stringify(many), 400],
    ['{"message":"run 1"}{"message":"}{"} {"message":"run 3","n":1}', 3],
    ['{"message":"run 4"}{"message":"run 5"}\n{"m":1}{broken\n{"message":"run 6"}', 4],
    [many.map((one) => JSON.stringify({ message: `long ${one.took}`, pad: "x".repeat(2_000) })).join(""), 400],
    ["[]", 0],
    ["[info] no list", 1],
    ['{"message":"four"}\n{"message":"five"}', 2],
    ['{"message":"cut off\n{"message":"six"}', 2],
    ['{\n"message": "cut off"\n', 2],
    ['{\n"message": "seven"\n}\n{\n"message": "eight"\n}\n', 2],
    ['[{"message":"nine"}]\n[{"message":"ten"}, {"message":"eleven"}]', 3],
    ['[{"message":"twelve"}', 1],
    ['[{"message":"thirteen"}] behind', 1],
    ["[] starting", 1],
  ] as const) {
    const posted = await post(body);
    t.is(posted.status, 201, posted.text);
    t.deepEqual(JSON.parse(posted.text), { accepted }, body.slice(0, 80));
  }
  const events = await eventsOf(service, 826);
  const texts = new Map(events.map((event) => [event.text, event]));
  for (const text of [
    "one",
    "two",
    "5",
    "three",
    "many 399",
    "long 399",
    "run 1",
    "}{",
    "run 3",
    "run 5",
    '{"m":1}{broken',
    "run 6",
    "[info] no list",
    "four",
    "five",
    "six",
    "{",
    "seven",
    "eight",
    "nine",
    "eleven",
    "[] starting",
  ])
    t.truthy(texts.get(text), text);
  t.like(texts.get("three"), { user: "ann", source: "till" });
  t.deepEqual(texts.get("many 7")?.tags, ["warn"]);
  for (const body of ['[{"message":"one"},]', '[{"message":"one"}] [{"message":}]', '{\n"message":}'])
    t.like(await post(body), { status: 400 }, body);
});

test("events of .NET loggers have their text, time and severity", async (t) => {
  const service = await serviceOf(t, "embedded");
  const time = "2026-11-20T10:00:00.123Z";
  const events = [
    {
      Timestamp: time,
      Level: "Warning",
      MessageTemplate: "Disk {Id}",
      RenderedMessage: "Disk 1",
      Properties: { Id: 1 },
    },
    { "@t": time, "@m": "Disk 2", "@l": "Error", "@i": "a1", Id: 2 },
    { Timestamp: time, EventId: 0, LogLevel: "Information", Category: "Shop", Message: "Disk 3", State: { Id: 3 } },
  ];
  const headers = { "Content-Type": "application/json" };
  t.is((await send(service, "/lines", JSON.stringify(events), { headers })).status, 201);
  const found = (await eventsOf(service, 3)).toSorted((a, b) => (a.text < b.text ? -1 : 1));
  t.deepEqual(
    found.map(({ text, tags, created }) => [text, tags, created]),
    [
      ["Disk 1", ["warn"], `/Date(${Date.parse(time)})/`],
      ["Disk 2", ["error"], `/Date(${Date.parse(time)})/`],
      ["Disk 3", ["info"], `/Date(${Date.parse(time)})/`],
    ],
  );
});

test("MessagePack records are events, with their times where a time comes with them", async (t) => {
  const service = await serviceOf(t, "embedded");
  const post = (bytes: Uint8Array, type: string, encoding = "identity") =>
    send(service, "/lines?source=till&text_field=log,what", bytes, {
      headers: { "Content-Type": type, "Content-Encoding": encoding },
    });
  const time = new ExtData(0, Buffer.from("691ee1200000000f", "hex"));
  const record = (log: string) => ({ log, level: "warn", n: 2n ** 60n, raw: Buffer.from("é") });
  const packed = (...values: unknown[]) => Buffer.concat(values.map((value) => encode(value, { useBigInt64: true })));
  // Fluent Bit: a time with metadata, and a record.
  const fluentBit = packed([[time, { meta: 1 }], record("one")], [[time, {}], record("two")]);
  t.is((await post(fluentBit, "application/msgpack")).text, '{"accepted":2}');
  // Fluentd: records alone, or lists of them.
  t.is((await post(packed(record("three"), record("four")), "application/x-msgpack")).text, '{"accepted":2}');
  t.is((await post(packed([record("five"), { what: "six" }]), "application/vnd.msgpack; x=y")).status, 201);
  t.is((await post(gzipSync(packed([1_763_632_800, record("seven")])), "application/msgpack", "gzip")).status, 201);
  const events = new Map((await eventsOf(service, 7)).map((event) => [event.text, event]));
  t.deepEqual([...events.keys()].toSorted(), ["five", "four", "one", "seven", "six", "three", "two"]);
  t.like(events.get("one"), { source: "till", tags: ["warn"], attributes: { n: "1152921504606846976", raw: "é" } });
  t.like(events.get("one")?.attributes, { meta: 1, time_ns: "1763631392000000015" });
  t.is(events.get("seven")?.created, events.get("two")?.created.replace(/\d+/, "1763632800000"));
  for (const bytes of [packed("text"), packed(record("a"), 7), packed(record("b")).subarray(0, -1), packed([[1, 2]])]) {
    t.is((await post(bytes, "application/msgpack")).status, 400);
  }
  t.is((await post(Buffer.from([0xc1]), "application/msgpack")).status, 400);
  t.is((await eventsOf(service, 7)).length, 7);
});

/** What Fluent Bit 5.1 sends of two resources of OpenTelemetry, as groups of entries. */
const GROUPS =
  "kpLXAP////8AAAAA3wAAAAOmc2NoZW1hpG90bHCrcmVzb3VyY2VfaWQAqHNjb3BlX2lkAN8AAAACqHJlc291cmNl3wAAAAGqYXR0cmlidXRl" +
  "c98AAAACrHNlcnZpY2UubmFtZaNwYXmpaG9zdC5uYW1lpGJveDmlc2NvcGXfAAAAA6RuYW1lo2xpYqd2ZXJzaW9uozEuMqphdHRyaWJ1dGVz" +
  "3wAAAAGic2EFkpLXAGsINSAHW80V3wAAAAGkb3RscN8AAAAGsm9ic2VydmVkX3RpbWVzdGFtcM8Y65ui3HzuFa9zZXZlcml0eV9udW1iZXIR" +
  "rXNldmVyaXR5X3RleHSlRVJST1KqYXR0cmlidXRlc98AAAACpW9yZGVyEatodHRwLnN0YXR1c80B9Kh0cmFjZV9pZMQQS/kvNXezTaajzpKd" +
  "Dg5HNqdzcGFuX2lkxAgA8GeqC6kCt98AAAABo2xvZ6hwYWlkIG5vdJKS1wBrCDUhB1vNFd8AAAABpG90bHDfAAAAAa9zZXZlcml0eV9udW1i" +
  "ZXIJ3wAAAAKnbWVzc2FnZaZzZWNvbmShawGSktcA/////gAAAADfAAAAAN8AAAAAkpLXAP////8AAAAA3wAAAAOmc2NoZW1hpG90bHCrcmVz" +
  "b3VyY2VfaWQBqHNjb3BlX2lkAN8AAAACqHJlc291cmNl3wAAAAGqYXR0cmlidXRlc98AAAABrHNlcnZpY2UubmFtZaVvdGhlcqVzY29wZd8A" +
  "AAAAkpLXAGsINSIHW80V3wAAAAGkb3RscN8AAAAA3wAAAAGjbG9npXRoaXJkkpLXAP////4AAAAA3wAAAADfAAAAAA==";

test("entries that Fluent Bit groups by resource are the events that OTLP would make of them", async (t) => {
  const service = await serviceOf(t, "embedded");
  const headers = { "Content-Type": "application/msgpack" };
  const posted = await send(service, "/lines", Buffer.from(GROUPS, "base64"), { headers });
  t.is(posted.text, '{"accepted":3}');
  const events = new Map((await eventsOf(service, 3)).map((event) => [event.text, event]));
  t.like(events.get("paid not"), {
    source: "pay",
    tags: ["error"],
    attributes: {
      "host.name": "box9",
      "http.status": 500,
      observed_time_ns: "1795700000223456789",
      order: 17,
      "otel.scope.name": "lib",
      "otel.scope.version": "1.2",
      sa: 5,
      "service.name": "pay",
      severity_number: 17,
      severity_text: "ERROR",
      span_id: "00f067aa0ba902b7",
      time_ns: "1795700000123456789",
      trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    },
  });
  t.like(events.get("second"), { source: "pay", tags: ["info"], attributes: { k: 1, "host.name": "box9" } });
  t.deepEqual(events.get("third")?.attributes, { "service.name": "other", time_ns: "1795700002123456789" });
});

test("events of Python's loguru have their text, time and severity", async (t) => {
  const service = await serviceOf(t, "embedded");
  const serialized = (name: string, no: number) =>
    JSON.stringify({
      text: `2026-11-20 10:00:00.218 | ${name} | __main__:main:7 - Order 17\n`,
      record: {
        elapsed: { repr: "0:00:00.005513", seconds: 0.005513 },
        exception: null,
        extra: { order: 17 },
        level: { icon: "❌", name, no },
        message: `Order 17 ${name}`,
        name: "__main__",
        time: { repr: "2026-11-20 10:00:00.218927+00:00", timestamp: 1795168800.218927 },
      },
    });
  const body = `${serialized("ERROR", 40)}\n${serialized("SUCCESS", 25)}\n${serialized("TRACE", 5)}\n`;
  const headers = { "Content-Type": "application/x-ndjson" };
  t.is((await send(service, "/1/logs/first/lines", body, { headers })).status, 201);
  const events = new Map((await eventsOf(service, 3)).map((event) => [event.text, event]));
  const created = "/Date(1795168800218)/";
  t.like(events.get("Order 17 ERROR"), { tags: ["error"], created, attributes: { "record.extra.order": 17 } });
  t.like(events.get("Order 17 SUCCESS"), { tags: ["info"], created });
  t.like(events.get("Order 17 TRACE"), { tags: ["trace"], created });
});
