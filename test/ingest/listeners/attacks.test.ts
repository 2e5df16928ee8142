import { encode } from "@msgpack/msgpack";
import test from "ava";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { BodyBudget } from "../../../src/http/body-budget.ts";
import { createIngestMemory } from "../../../src/ingest/kit/ingest-memory.ts";
import { listenForForward } from "../../../src/ingest/protocols/forward/listen.ts";
import { listenForGelf } from "../../../src/ingest/protocols/gelf/listen.ts";
import { listenForSyslog } from "../../../src/ingest/protocols/syslog/listen.ts";
import { until } from "../../support/until.ts";
import { contextOf, socketFor } from "./context.ts";
import { connectTo, sendDatagrams, sendStream } from "./sockets.ts";

/** Moves the monotonic clock of the process forward for good, as such a clock is never set back. */
function advanceClock(by_ms: number): void {
  const now = performance.now.bind(performance);
  performance.now = () => now() + by_ms;
}

async function connectFrom(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

test("a TCP client waits while the bus is full, and no line is lost or reordered", async (t) => {
  const { context, bus } = await contextOf(t);
  const listening = await listenForSyslog(socketFor("tcp"), context);
  bus.isFull = true;
  const socket = await connectTo(listening.port);
  const COUNT = 100_000;
  const pad = "x".repeat(300);
  const piece = (from: number) => Array.from({ length: 1_000 }, (_, i) => `<11>line ${from + i} ${pad}\n`).join("");
  let sent = 0;
  const sending = (async () => {
    for (; sent < COUNT; sent += 1_000) if (!socket.write(piece(sent))) await once(socket, "drain");
    socket.end();
  })();
  await until(() => Promise.resolve(bus.refusals > 5 || null), { what: "a full bus to be met" });
  await sleep(500);
  t.true(sent < COUNT, `${sent} lines were sent while nothing was stored`);
  t.is(bus.texts.length, 0);
  bus.isFull = false;
  await sending;
  await until(() => Promise.resolve(bus.texts.length >= COUNT || null), { what: "all lines" });
  t.true(bus.texts.length === COUNT && bus.texts.every((text, i) => text === `line ${i} ${pad}`));
  await listening.close();
});

test("UDP drops and counts datagrams without room, and accepts later ones", async (t) => {
  const { context, bus, counts } = await contextOf(t);
  const listening = await listenForSyslog(socketFor("udp"), context);
  bus.isFull = true;
  const piece = Array.from({ length: 2_000 }, (_, i) => `<11>line ${i}`);
  await until(
    async () => {
      await sendDatagrams(listening.port, piece);
      return (counts.get("dropped") ?? 0) > 0 || null;
    },
    { what: "datagrams to be dropped" },
  );
  bus.isFull = false;
  await until(
    async () => {
      await sendDatagrams(listening.port, ["<11>after"]);
      return bus.texts.includes("after") || null;
    },
    { what: "room" },
  );
  await listening.close();
  t.true(bus.texts.length < 30_000, "what waits is bounded");
  t.is(counts.get("stored"), bus.texts.length);
});

test("datagrams are limited per address and second", async (t) => {
  const { context, bus, counts } = await contextOf(t, { datagrams_s: 1 });
  const listening = await listenForSyslog(socketFor("udp"), context);
  await sendDatagrams(
    listening.port,
    Array.from({ length: 500 }, (_, i) => `<11>line ${i}`),
  );
  await until(() => Promise.resolve((counts.get("dropped") ?? 0) > 400 || null), { what: "the limit to be met" });
  await listening.close();
  t.true(bus.texts.length < 100);
});

test.serial("a slow sender is disconnected, and its messages are kept", async (t) => {
  const { context, bus, counts } = await contextOf(t);
  const times = { frame_ms: 600_000, first_ms: 600_000, idle_ms: 7_200_000, ending_ms: 200 };
  const listening = await listenForSyslog(socketFor("tcp"), context, times);
  const [silent, slow, idle] = [
    await connectTo(listening.port),
    await connectTo(listening.port),
    await connectTo(listening.port),
  ];
  for (const socket of [silent, slow, idle]) socket.resume();
  idle.write("<11>idle\n");
  slow.write("<11>whole\n<11>s");
  await until(() => Promise.resolve(bus.texts.length === 2 || null), { what: "the whole messages" });
  await new Promise((resolve) => slow.write("l", resolve));
  // What has been sent is read in the next turn.
  for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate);
  const timer = setInterval(() => slow.write("l"), 100);
  // Bytes that trickle in do not prolong the time of their frame.
  advanceClock(400_000);
  await sleep(2_500);
  t.false(silent.closed || slow.closed);
  advanceClock(400_000);
  await until(() => Promise.resolve((silent.closed && slow.closed) || null), { what: "slow senders to be closed" });
  clearInterval(timer);
  await until(() => Promise.resolve(bus.texts.length === 3 || null), { what: "what was sent" });
  t.deepEqual(bus.texts.slice(0, 2).toSorted(), ["idle", "whole"]);
  t.regex(bus.texts[2]!, /^sl+$/);
  t.false(idle.destroyed, "who has sent a whole message may be silent");
  idle.write("<11>still there\n");
  await until(() => Promise.resolve(bus.texts.includes("still there") || null), { what: "the next message" });
  t.is(counts.get("refused"), 2);
  await listening.close();
});

test.serial("a client silent for a day loses no message, before its first one or later", async (t) => {
  const { context, bus, counts } = await contextOf(t);
  const listening = await listenForSyslog(socketFor("tcp"), context);
  const [first, later] = [await connectTo(listening.port), await connectTo(listening.port)];
  for (const socket of [first, later]) socket.resume();
  later.write("<11>before\n");
  await until(() => Promise.resolve(bus.texts.includes("before") || null), { what: "the first message" });
  advanceClock(86_400_000);
  await sleep(2_500);
  first.write("<11>first\n");
  later.write("<11>later\n");
  await until(() => Promise.resolve(bus.texts.length === 3 || null), { what: "both messages" });
  t.deepEqual(bus.texts.toSorted(), ["before", "first", "later"]);
  t.is(counts.get("refused"), undefined);
  await listening.close();
});

test("what has arrived is stored if the process stalls while it shuts down", async (t) => {
  const { context, bus } = await contextOf(t);
  const times = { frame_ms: 600_000, first_ms: 600_000, idle_ms: 600_000, ending_ms: 400 };
  const listening = await listenForSyslog(socketFor("tcp"), context, times);
  const socket = await connectTo(listening.port);
  socket.write("<11>before\n");
  await until(() => Promise.resolve(bus.texts.includes("before") || null), { what: "the first message" });
  // After a stall in this phase of the event loop, timers run before anything is read.
  await new Promise(setImmediate);
  socket.write("<11>last\n");
  const closing = listening.close();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  await closing;
  t.deepEqual(bus.texts, ["before", "last"]);
  socket.destroy();
});

test("a flood of connections keeps out neither active nor new clients", async (t) => {
  const connections = { connections: 10, descriptors: Number.POSITIVE_INFINITY };
  const { context, bus } = await contextOf(t, { connections });
  const listening = await listenForSyslog(socketFor("tcp"), context);
  const sender = await connectFrom(listening.port, "127.0.0.2");
  sender.write("<11>before\n");
  await until(() => Promise.resolve(bus.texts.includes("before") || null), { what: "the first message" });
  const flood = await Promise.all(
    Array.from({ length: 40 }, (_, i) => connectFrom(listening.port, `127.0.0.${3 + (i % 4)}`)),
  );
  for (const socket of flood) socket.resume();
  await until(() => Promise.resolve(flood.filter(({ closed }) => !closed).length <= 10 || null), { what: "the limit" });
  sender.write("<11>amid\n");
  await until(() => Promise.resolve(bus.texts.includes("amid") || null), { what: "the message amid the flood" });
  const late = await connectFrom(listening.port, "127.0.0.9");
  late.write("<11>late\n");
  await until(() => Promise.resolve(bus.texts.includes("late") || null), { what: "a message of who came late" });
  t.false(sender.closed);
  for (const socket of [sender, late, ...flood]) socket.destroy();
  const own = await Promise.all(Array.from({ length: 20 }, () => connectFrom(listening.port, "127.0.0.77")));
  for (const socket of own) socket.resume();
  await until(() => Promise.resolve(own.filter(({ closed }) => !closed).length <= 5 || null), { what: "its half" });
  await listening.close();
});

for (const [protocol, listen, unfinished, whole] of [
  ["GELF", listenForGelf, Buffer.alloc(900_000, "{"), Buffer.from('{"short_message":"amid"}\0')],
  // The head of a message whose entries have 60 MB, and a whole message.
  [
    "Fluent forward without a key",
    listenForForward,
    Buffer.concat([Buffer.from([0x92, 0xa1, 0x74, 0xc6, 0x03, 0x93, 0x87, 0x00]), Buffer.alloc(900_000)]),
    Buffer.from(encode(["t", 1_700_000_000, { message: "amid" }])),
  ],
] as const) {
  test(`${protocol}: unfinished frames take bounded memory, and those of one network keep out no other`, async (t) => {
    const budget = new BodyBudget({ most_bytes: 8_000_000, small_bytes: 0, wait_ms: 50, evicts: true });
    const { context, bus, counts } = await contextOf(t, { memory: { ...createIngestMemory(), unfinished: budget } });
    const listening = await listen(socketFor("tcp"), context);
    const first = await connectFrom(listening.port, "127.0.9.1");
    first.resume().write(unfinished.subarray(0, 600_000));
    await until(() => Promise.resolve(budget.held_bytes >= 600_000 || null), { what: "the first frame" });
    const flood = await Promise.all(
      Array.from({ length: 30 }, (_, n) => connectFrom(listening.port, `127.0.0.${2 + (n % 4)}`)),
    );
    for (const socket of flood) socket.resume().write(unfinished);
    await until(
      () => {
        t.true(budget.held_bytes <= 8_000_000);
        return flood.filter(({ closed }) => closed).length >= 20 || null;
      },
      { what: "most of the flood to be closed" },
    );
    const late = await connectFrom(listening.port, "127.0.8.1");
    late.write(whole);
    await until(() => Promise.resolve(bus.texts.includes("amid") || null), { what: "a message amid the flood" });
    t.false(first.closed, "another network holds less");
    t.true((counts.get("refused") ?? 0) >= 20);
    t.deepEqual(bus.texts, ["amid"], "dropped frames are not decoded, which would take memory again");
    for (const socket of [first, late, ...flood]) socket.destroy();
    await until(() => Promise.resolve(budget.held_bytes === 0 || null), { what: "the memory to be released" });
    await listening.close();
  });
}

test("random bytes and endless frames become text and break nothing", async (t) => {
  const { context, bus } = await contextOf(t);
  const listening = await listenForSyslog(socketFor("tcp"), context);
  const noise = Buffer.from(Array.from({ length: 50_000 }, (_, i) => (i * 7919) % 256));
  await sendStream(listening.port, noise);
  await sendStream(listening.port, "9999999999 <", "x".repeat(300_000));
  await sendStream(listening.port, "<11>", "y".repeat(10_000_000));
  await sendStream(listening.port, "<11>after\n");
  await until(() => Promise.resolve(bus.texts.includes("after") || null), { what: "the last message" });
  t.is(bus.texts.filter((text) => /^<?x+$/.test(text) || /^y+$/.test(text)).length, 2);
  await listening.close();
});
