import test from "ava";
import { gzipSync, zstdCompressSync } from "node:zlib";

import { createRateLimiter, DEFAULT_RATES } from "../../../src/ratelimit/rate-limiter.ts";
import { listenForGrpc } from "../../../src/ingest/protocols/otlp/grpc.ts";
import { KEY, LOG } from "../../support/service.ts";
import { bestOf_ms } from "../../support/turns.ts";
import { until } from "../../support/until.ts";
import { eventsOf } from "../posting.ts";
import { encodeRequest } from "../protocols/otlp-proto.ts";
import { contextOf, socketFor } from "./context.ts";
import { begin, call, framed, openSession as open, PATH } from "./grpc-client.ts";
import { closed, connectTo, listeningService, metricOf, portOf } from "./sockets.ts";

function requestOf(...texts: readonly string[]): Buffer {
  const logRecords = texts.map((text) => ({ severityNumber: 17, body: { stringValue: text } }));
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] };
  return Buffer.from(encodeRequest({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }));
}

test("records are stored before the call is answered, compressed or not", async (t) => {
  const service = await listeningService(t, { LOGGIA_OTLP_GRPC: "127.0.0.1:0" });
  const session = open(portOf(service));
  t.teardown(() => session.destroy());
  const ways: readonly (readonly [Buffer, Record<string, string>])[] = [
    [framed(requestOf("plain")), {}],
    [framed(gzipSync(requestOf("gzip")), 1), { "grpc-encoding": "gzip" }],
    [framed(zstdCompressSync(requestOf("zstd")), 1), { "grpc-encoding": "zstd" }],
    [framed(requestOf("said gzip, was plain")), { "grpc-encoding": "gzip" }],
    [framed(requestOf("by a header of its own")), { authorization: "", "x-api-key": KEY }],
    [framed(requestOf("with proto")), { "content-type": "application/grpc+proto", "x-loggia-tags": "grpc" }],
    [framed(Buffer.alloc(0)), {}],
  ];
  for (const [body, headers] of ways) {
    const { status, message, body: answer } = await call(session, body, headers);
    t.is(status, "0", message);
    t.deepEqual(answer, Buffer.alloc(5));
  }
  t.is(await metricOf(service, "events_total", "otlp_grpc"), 6);
  const events = await eventsOf(service, 6);
  for (const event of events) t.like(event, { source: "shop", attributes: { "service.name": "shop" } }, event.text);
  t.deepEqual(events.find(({ text }) => text === "with proto")!.tags, ["error", "grpc"]);
});

test("a refused call gets the status code that clients act upon", async (t) => {
  const service = await listeningService(t, { LOGGIA_OTLP_GRPC: "127.0.0.1:0" });
  const reading = await service.ports.catalog.createApiKey(LOG as never, "read-only");
  await service.ports.catalog.refresh();
  const session = open(portOf(service));
  t.teardown(() => session.destroy());
  const good = framed(requestOf("x"));
  const huge = Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 0]);
  const bomb = framed(gzipSync(Buffer.alloc(60_000_000)), 1);
  const cases: readonly (readonly [string, string, Buffer, Record<string, string>])[] = [
    ["no key", "16", good, { authorization: "" }],
    ["a wrong key", "16", good, { authorization: "Bearer nonsense-key" }],
    ["a key that reads", "7", good, { authorization: `Bearer ${reading.secret}` }],
    ["another service", "12", good, { ":path": "/opentelemetry.proto.collector.trace.v1.TraceService/Export" }],
    ["no gRPC", "415", good, { "content-type": "application/json" }],
    ["no protobuf", "3", framed(Buffer.from("not protobuf")), {}],
    ["cut off", "3", good.subarray(0, 9), {}],
    ["nothing", "3", Buffer.alloc(0), {}],
    ["two messages", "3", Buffer.concat([good, good]), {}],
    ["too large", "3", huge, {}],
    ["a bomb", "3", bomb, { "grpc-encoding": "gzip" }],
    ["no gzip", "3", framed(Buffer.from("nonsense"), 1), { "grpc-encoding": "gzip" }],
    ["an unknown encoding", "12", framed(Buffer.from("x"), 1), { "grpc-encoding": "snappy" }],
    ["unknown flags", "3", framed(Buffer.from("x"), 7), {}],
  ];
  for (const [name, status, body, headers] of cases) {
    const answer = await call(session, body, headers);
    t.is(answer.status, status, `${name}: ${answer.message}`);
    if (status !== "415") t.regex(answer.message, /^\w/, name);
  }
  t.is((await call(session, good)).status, "0", "the connection goes on");
  t.is((await eventsOf(service, 1)).length, 1);
});

test("a full queue tells the client when to retry", async (t) => {
  const { context, bus } = await contextOf(t, {
    limiter: createRateLimiter({ rates: { ...DEFAULT_RATES, caller: 1 }, now: () => 0 }),
  });
  const listening = await listenForGrpc(socketFor("tcp"), context);
  const session = open(listening.port);
  bus.isFull = true;
  const full = await call(session, framed(requestOf("refused")));
  t.is(full.status, "14", full.message);
  t.true(Buffer.from(full.details, "base64").includes("type.googleapis.com/google.rpc.RetryInfo"));
  bus.isFull = false;
  t.is((await call(session, framed(requestOf("taken")))).status, "0");
  const often = await call(session, framed(requestOf("too often")));
  t.is(often.status, "8", often.message);
  t.true(Buffer.from(often.details, "base64").includes("type.googleapis.com/google.rpc.RetryInfo"));
  t.deepEqual(bus.texts, ["taken"]);
  session.destroy();
  await listening.close();
});

const TIMES = { message_ms: 600_000, first_ms: 600_000, idle_ms: 600_000, drain_ms: 500 };

test("slow messages, silent connections and other protocols are closed", async (t) => {
  const { context, bus, counts } = await contextOf(t);
  const listening = await listenForGrpc(socketFor("tcp"), context, { ...TIMES, message_ms: 1_000 });
  const impatient = await listenForGrpc(socketFor("tcp"), context, { ...TIMES, first_ms: 1_000 });
  const session = open(listening.port);
  const slow = session.request({
    ":method": "POST",
    ":path": PATH,
    "content-type": "application/grpc",
    authorization: `Bearer ${KEY}`,
  });
  let status = "";
  slow.on("error", () => {});
  slow.on("response", (head) => (status = String(head["grpc-status"])));
  slow.write(Buffer.from([0, 0, 0, 0]));
  slow.resume();
  const silent = await connectTo(impatient.port);
  silent.resume();
  const other = await connectTo(listening.port);
  other.resume();
  other.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await Promise.all([closed(slow), closed(silent), closed(other)]);
  t.is(status, "4", "DEADLINE_EXCEEDED");
  // On a slow machine this message may be late as well.
  const after = async () => (await call(session, framed(requestOf("after")))).status === "0" || null;
  await until(after, { what: "a call after the slow one" });
  t.deepEqual(bus.texts, ["after"]);
  t.true((counts.get("malformed") ?? 0) >= 1);
  session.destroy();
  await Promise.all([listening.close(), impatient.close()]);
});

test("messages are refused for lack of memory, and a listener closes without those that are incomplete", async (t) => {
  const took_ms = await bestOf_ms(5_000, async () => {
    const { context, counts } = await contextOf(t);
    const listening = await listenForGrpc(socketFor("tcp"), context, TIMES);
    const session = open(listening.port);
    const streams = Array.from({ length: 300 }, () => {
      const stream = begin(session, {});
      stream.write(Buffer.from([0, 0x03, 0xff, 0xff, 0xff]));
      return stream;
    });
    await until(() => Promise.resolve((counts.get("refused") ?? 0) > 0 || null), { what: "memory to be refused" });
    for (const stream of streams) stream.close();
    session.destroy();
    const began_ms = performance.now();
    await listening.close();
    return performance.now() - began_ms;
  });
  t.true(took_ms < 5_000, `${took_ms} ms`);
});
