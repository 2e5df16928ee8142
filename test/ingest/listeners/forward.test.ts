import { decode, decodeMultiStream, encode, ExtData } from "@msgpack/msgpack";
import test from "ava";
import fc from "fast-check";
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";

import { LoggiaError } from "../../../src/errors.ts";
import { listenForForward } from "../../../src/ingest/protocols/forward/listen.ts";
import { MsgpackScan } from "../../../src/ingest/kit/msgpack-scan.ts";
import { environmentOf, LOG, startService } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import { eventsOf } from "../posting.ts";
import { contextOf, FORGETFUL, socketFor } from "./context.ts";
import { closed, connectTo, listeningService, metricOf, portOf, sendStream } from "./sockets.ts";

const TIME_S = 1_763_632_800;

function eventTime(seconds: number, nanoseconds: number): ExtData {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(seconds);
  bytes.writeUInt32BE(nanoseconds, 4);
  return new ExtData(0, bytes);
}

const packed = (...entries: unknown[]): Buffer => Buffer.concat(entries.map((entry) => encode(entry)));

/** Returns a function that reads the next response of a connection. */
function answersOf(socket: Socket): () => Promise<unknown> {
  const answers = decodeMultiStream(socket);
  return async () => (await answers.next()).value;
}

test("a text that is not UTF-8 swallows nothing behind it", async (t) => {
  const service = await listeningService(t, { LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}` });
  const bytes = Buffer.from(encode(["app", TIME_S, { log: "caf# ouvert", user: "Zoë" }]));
  bytes[bytes.indexOf("#")] = 0xe9;
  await sendStream(portOf(service), bytes);
  const [event] = await eventsOf(service, 1);
  t.like(event, { text: "café ouvert", user: "Zoë" });
});

test("all modes are received with their times, tags and types", async (t) => {
  const service = await listeningService(t, { LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}?tags=fluent` });
  const time = eventTime(TIME_S, 123_456_789);
  const record = (log: string, more: object = {}) => ({ log, level: "warn", n: 7, half: 0.5, ok: true, ...more });
  const gz = (log: string) => gzipSync(packed([time, record(log)]));
  const stream = Buffer.concat([
    encode(["app.a", TIME_S, record("message")]),
    encode(null),
    encode(["app.a", time, record("message with option"), { size: 1 }]),
    encode([
      "app.b",
      [
        [time, record("forward 1")],
        [TIME_S, record("forward 2")],
      ],
      null,
    ]),
    encode(["app.c", packed([time, record("packed 1")], [time, record("packed 2")]), { size: 2 }]),
    encode(["app.d", Buffer.concat([gz("gzip 1"), gz("gzip 2"), gz("gzip 3")]), { compressed: "gzip" }]),
    encode(["app.e", [[[time, { meta: 1 }], record("with metadata")]]]),
    encode(
      [
        "app.f",
        time,
        record("types", {
          big: 2n ** 60n,
          bytes: Buffer.from("text"),
          raw: Buffer.from([0xff, 0]),
          deep: { list: [1, "a"] },
        }),
      ],
      { useBigInt64: true },
    ),
  ]);
  const pieces = Array.from({ length: Math.ceil(stream.length / 37) }, (_, i) => stream.subarray(37 * i, 37 * (i + 1)));
  await sendStream(portOf(service), ...pieces);
  const events = new Map((await eventsOf(service, 11)).map((event) => [event.text, event]));
  t.is(events.size, 11);
  for (const [text, { source, tags, attributes = {}, created }] of events) {
    t.deepEqual([...tags].toSorted(), ["fluent", "warn"], text);
    t.regex(source, /^app\.[a-f]$/, text);
    t.like(attributes, { n: 7, half: 0.5, ok: true, tag: source }, text);
    const isWhole = text === "message" || text === "forward 2";
    t.true(created.includes(`${TIME_S}${isWhole ? "000" : "123"}`), text);
    if (!isWhole) t.is(attributes["time_ns"], `${TIME_S}123456789`, text);
  }
  t.like(events.get("types")!.attributes, {
    big: String(2n ** 60n),
    bytes: "text",
    raw: Buffer.from([0xff, 0]).toString("base64"),
    "deep.list": [1, "a"],
  });
  t.is(await metricOf(service, "events_total", "forward"), 11);
});

test("an acknowledged chunk is stored, and a repeated one is stored once", async (t) => {
  const environment = { ...environmentOf("embedded", temporaryFolder(t)), LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}` };
  const service = await startService(environment);
  const chunk = (id: string) =>
    encode(["app", packed(...Array.from({ length: 50 }, (_, i) => [TIME_S, { log: `${id} ${i}` }])), { chunk: id }]);
  const send = async (port: number, ids: readonly string[]): Promise<unknown[]> => {
    const socket = await connectTo(port);
    const next = answersOf(socket);
    socket.write(Buffer.concat(ids.map(chunk)));
    const answers: unknown[] = [];
    for (const _ of ids) answers.push(await next());
    socket.destroy();
    return answers;
  };
  const told = (await send(portOf(service), ["a", "b"])) as { ack: string }[];
  t.deepEqual(told.map(({ ack }) => ack).toSorted(), ["a", "b"]);
  t.deepEqual(await send(portOf(service), ["a"]), [{ ack: "a" }]);
  await service.close();
  const again = await startService(environment);
  t.teardown(() => again.close());
  t.deepEqual(await send(portOf(again), ["b"]), [{ ack: "b" }], "after a restart as well");
  t.deepEqual(await send(portOf(again), ["c"]), [{ ack: "c" }]);
  const texts = (await eventsOf(again, 150)).map(({ text }) => text);
  t.is(texts.length, 150);
  t.is(new Set(texts).size, 150);
});

test("equal chunks of one connection are messages of their own, and repeats by another are not", async (t) => {
  const service = await listeningService(t, { LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}` });
  // Fluent Bit derives the chunk from the content: equal lines of one second have the same.
  const message = (log: string, chunk: string) => encode(["app", TIME_S, { log }, { chunk }]);
  const flush = [message("GET /", "a"), message("GET /", "a"), message("POST /", "b"), message("GET /", "a")];
  for (const parts of [flush.slice(0, 3), flush]) {
    const socket = await connectTo(portOf(service));
    const next = answersOf(socket);
    for (const part of parts) {
      socket.write(part);
      t.truthy(await next());
    }
    socket.destroy();
  }
  const texts = (await eventsOf(service, 4)).map(({ text }) => text);
  t.deepEqual(texts.toSorted(), ["GET /", "GET /", "GET /", "POST /"]);
});

test("a chunk repeated by the same connection before its acknowledgement is stored once", async (t) => {
  const service = await listeningService(t, { LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}` });
  const socket = await connectTo(portOf(service));
  const next = answersOf(socket);
  const message = (log: string, chunk: string) => encode(["app", TIME_S, { log }, { chunk }]);
  socket.write(Buffer.concat([message("once", "a"), message("once", "a")]));
  t.deepEqual([await next(), await next()], [{ ack: "a" }, { ack: "a" }]);
  socket.write(message("last", "b"));
  t.deepEqual(await next(), { ack: "b" });
  socket.destroy();
  const texts = (await eventsOf(service, 2)).map(({ text }) => text);
  t.deepEqual(texts.toSorted(), ["last", "once"]);
});

test("a repeat that arrives with its message is one, also if that is acknowledged before it is read", async (t) => {
  const { context, bus } = await contextOf(t, { idempotency: FORGETFUL });
  const listening = await listenForForward(socketFor("tcp"), context);
  const socket = await connectTo(listening.port);
  const next = answersOf(socket);
  const message = Buffer.from(encode(["app", TIME_S, { log: "once" }, { chunk: "a" }]));
  // Takes turns to be read, in which the first message is stored. All arrive at once.
  const long = Array.from({ length: 20_000 }, () => 1);
  const between = Buffer.from(encode(["app", TIME_S, { log: "between", long }, { chunk: "b" }]));
  socket.write(Buffer.concat([message, between, message]));
  t.deepEqual(await next(), { ack: "a" });
  await Promise.all([next(), next()]);
  t.deepEqual(bus.texts.toSorted(), ["between", "once"]);
  socket.destroy();
  await listening.close();
});

test("metrics and traces of Fluent Bit are acknowledged, counted, and not stored", async (t) => {
  const service = await listeningService(t, { LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}` });
  const socket = await connectTo(portOf(service));
  const next = answersOf(socket);
  socket.write(encode(["cpu", Buffer.from([0x81, 0xa1, 0x61, 1]), { chunk: "m", fluent_signal: 1 }]));
  t.deepEqual(await next(), { ack: "m" });
  socket.write(encode(["spans", Buffer.from([0x80]), { fluent_signal: 2 }]));
  socket.write(encode(["app", [[TIME_S, { log: "a log" }]], { chunk: "l", fluent_signal: 0 }]));
  t.deepEqual(await next(), { ack: "l" });
  socket.destroy();
  t.deepEqual(
    (await eventsOf(service, 1)).map(({ text }) => text),
    ["a log"],
  );
  t.is(await metricOf(service, "refused_total", "forward"), 2);
});

test("nothing is acknowledged before it is on the bus", async (t) => {
  const { context, bus } = await contextOf(t, { idempotency: FORGETFUL });
  const listening = await listenForForward(socketFor("tcp"), context);
  bus.isFull = true;
  const socket = await connectTo(listening.port);
  const next = answersOf(socket);
  let acknowledged = false;
  const answer = next().then((value) => {
    acknowledged = true;
    return value;
  });
  socket.write(encode(["app", TIME_S, { log: "one" }, { chunk: "c1" }]));
  await until(() => Promise.resolve(bus.refusals > 2 || null), { what: "a full bus to be met" });
  t.false(acknowledged);
  bus.isFull = false;
  t.deepEqual(await answer, { ack: "c1" });
  t.deepEqual(bus.texts, ["one"]);
  socket.destroy();
  await listening.close();
});

test("a shared key is required and revealed by neither side", async (t) => {
  const key = "a shared secret";
  const service = await listeningService(t, {
    LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}?shared_key=${key.replaceAll(" ", "+")}`,
  });
  const sha = (...parts: (string | Uint8Array)[]) =>
    parts.reduce((hash, part) => hash.update(part), createHash("sha512")).digest("hex");
  const greet = async (shared: string) => {
    const socket = await connectTo(portOf(service));
    const next = answersOf(socket);
    const [word, { nonce }] = (await next()) as [string, { nonce: Uint8Array }];
    t.is(word, "HELO");
    socket.write(encode(["PING", "client", "salt", sha("salt", "client", nonce, shared), "", ""]));
    const pong = (await next()) as [string, boolean, string, string, string];
    return { socket, next, pong, nonce };
  };
  const right = await greet(key);
  t.deepEqual(right.pong.slice(0, 2), ["PONG", true]);
  t.is(right.pong[4], sha("salt", right.pong[3], right.nonce, key));
  right.socket.write(encode(["app", TIME_S, { log: "inside" }, { chunk: "1" }]));
  t.deepEqual(await right.next(), { ack: "1" });
  right.socket.destroy();
  const wrong = await greet("another secret");
  t.deepEqual(wrong.pong.slice(0, 2), ["PONG", false]);
  wrong.socket.resume();
  await closed(wrong.socket);
  const silent = await connectTo(portOf(service));
  silent.resume();
  silent.write(encode(["app", TIME_S, { log: "outside" }, { chunk: "1" }]));
  await closed(silent);
  const endless = await connectTo(portOf(service));
  endless.resume();
  endless.write(Buffer.concat([Buffer.from([0x95, 0xc6, 0x7f, 0xff, 0xff, 0xff]), Buffer.alloc(100_000)]));
  await closed(endless);
  t.deepEqual(
    (await eventsOf(service, 1)).map(({ text }) => text),
    ["inside"],
  );
  t.is(await metricOf(service, "refused_total", "forward"), 3);
});

test("a salt and a host name that are not UTF-8 prove the shared key as well", async (t) => {
  const key = "a shared secret";
  const service = await listeningService(t, {
    LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}?shared_key=${key.replaceAll(" ", "+")}`,
  });
  const socket = await connectTo(portOf(service));
  const next = answersOf(socket);
  const [, { nonce }] = (await next()) as [string, { nonce: Uint8Array }];
  const sha = (...parts: (string | Uint8Array)[]) =>
    parts.reduce((hash, part) => hash.update(part), createHash("sha512")).digest("hex");
  // Fluent Bit packs its salt as a text of 16 random bytes.
  const salt = Buffer.from("ff00e28207c3b1a0fe8090d0f5c0af41", "hex");
  const host = Buffer.from([0x62, 0xf6, 0x78]);
  const asText = (bytes: Buffer) => Buffer.concat([Buffer.from([0xa0 + bytes.length]), bytes]);
  const digest = Buffer.concat([Buffer.from([0xd9, 128]), Buffer.from(sha(salt, host, nonce, key))]);
  socket.write(Buffer.concat([Buffer.from([0x96]), encode("PING"), asText(host)]));
  socket.write(Buffer.concat([Buffer.from([0xb0]), salt, digest, encode(""), encode("")]));
  const [, isRight, , server, proof] = (await next()) as [string, boolean, string, string, string];
  t.true(isRight);
  t.is(proof, sha(salt, server, nonce, key));
  socket.destroy();
});

test("malformed, nested and endless messages close their connection; complete ones before them are stored", async (t) => {
  const { context, bus, counts } = await contextOf(t);
  const listening = await listenForForward(socketFor("tcp"), context);
  const good = encode(["app", TIME_S, { log: "good" }]);
  const attacks: readonly (readonly [string, Buffer])[] = [
    ["no MessagePack", Buffer.from([0xc1])],
    ["no list", Buffer.from(encode({ a: 1 }))],
    ["text", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["an empty list", Buffer.from([0x90])],
    ["nested lists", Buffer.alloc(1_000_000, 0x91)],
    ["nested maps", Buffer.alloc(1_000_000, 0x81)],
    ["a map of entries", Buffer.from(encode(["app", { a: 1 }]))],
    [
      "too many values",
      Buffer.concat([Buffer.from([0x92, 0xa1, 0x61, 0xdd, 0xff, 0xff, 0xff, 0xff]), Buffer.alloc(3_000_000, 0xc0)]),
    ],
    [
      "an announced gigabyte",
      Buffer.concat([Buffer.from([0x92, 0xa1, 0x61, 0xc6, 0x7f, 0xff, 0xff, 0xff]), Buffer.alloc(1_000)]),
    ],
  ];
  for (const [name, bytes] of attacks) {
    const socket = await connectTo(listening.port);
    socket.resume();
    socket.write(Buffer.concat([good, bytes]));
    await closed(socket);
    t.pass(name);
  }
  t.is(bus.texts.filter((text) => text === "good").length, attacks.length);
  const times = { frame_ms: 1_500, first_ms: 1_500, idle_ms: 60_000, ending_ms: 200 };
  const impatient = await listenForForward(socketFor("tcp"), context, times);
  const slow = await connectTo(impatient.port);
  slow.resume();
  slow.write(Buffer.from([0x92, 0xa1]));
  await closed(slow);
  t.true((counts.get("malformed") ?? 0) + (counts.get("refused") ?? 0) >= attacks.length);
  await impatient.close();
  await listening.close();
});

test("an unreadable entry is kept as text, and those beside it are complete", async (t) => {
  const { context, bus, counts } = await contextOf(t);
  const listening = await listenForForward(socketFor("tcp"), context);
  const bomb = gzipSync(Buffer.alloc(50_000_000, 0xc0));
  await sendStream(
    listening.port,
    encode(["app", packed([TIME_S, { log: "one" }], "no entry", [TIME_S, "no record"], [TIME_S, { log: "two" }])]),
    encode(["app", Buffer.concat([packed([TIME_S, { log: "three" }]), Buffer.from([0x92, 0xc1])])]),
    encode(["app", bomb, { compressed: "gzip" }]),
    Buffer.concat([encode(["app", [[TIME_S, { log: "four", ["__proto__x"]: 1 }]]])]),
    encode(["app", TIME_S, JSON.parse(`{"log":"five","deep":${'{"a":'.repeat(40)}1${"}".repeat(40)}}`)]),
  );
  await until(() => Promise.resolve(bus.texts.includes("five") || null), { what: "the last entry" });
  for (const text of ["one", "two", "three", "four", "five"]) t.true(bus.texts.includes(text), text);
  t.is(bus.texts.length, 9);
  t.is(counts.get("malformed"), 4);
  await listening.close();
});

test("values end where the reference encoder ends them, in any pieces", (t) => {
  fc.assert(
    fc.property(
      fc.anything({ withDate: true, withTypedArray: false, maxDepth: 4 }),
      fc.integer({ min: 1, max: 9 }),
      (value, size) => {
        let bytes: Buffer;
        try {
          bytes = Buffer.from(encode(value, { ignoreUndefined: true }));
          decode(bytes);
        } catch {
          return;
        }
        const more = Buffer.concat([bytes, Buffer.from([0xc0, 0x93])]);
        const scan = new MsgpackScan(1_000_000);
        for (let length = size; length < bytes.length; length += size) t.is(scan.end(more.subarray(0, length)), -1);
        t.is(scan.end(more), bytes.length);
      },
    ),
    { numRuns: 500 },
  );
  t.throws(() => new MsgpackScan(10).end(Buffer.alloc(100, 0x91)), { instanceOf: LoggiaError });
});
