import test from "ava";
import { createSocket } from "node:dgram";
import { setTimeout as sleep } from "node:timers/promises";
import { deflateSync, gzipSync } from "node:zlib";

import { Chunks } from "../../../src/ingest/protocols/gelf/chunks.ts";
import { LOG } from "../../support/service.ts";
import type { Service } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { eventsOf } from "../posting.ts";
import { listeningService, metricOf, portOf, sendDatagrams, sendStream } from "./sockets.ts";

const message = (text: string) => ({
  version: "1.1",
  host: "box",
  short_message: text,
  full_message: `${text}\n  at shop.js:1`,
  timestamp: 1_763_632_800.123,
  level: 3,
  _n: 7,
  _service: "shop",
});

/** Splits a message into chunks of this many bytes. */
function chunksOf(bytes: Buffer, size: number, id = "12345678"): Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, i) =>
    Buffer.concat([
      Buffer.from([0x1e, 0x0f]),
      Buffer.from(id),
      Buffer.from([i, count]),
      bytes.subarray(i * size, (i + 1) * size),
    ]),
  );
}

/** Time within which all chunks of a message must arrive. */
const LIFE_MS = 5_000;
/** The beginning of a chunk, counted as malformed: whatever was sent before has been read by then. */
const MARK = Buffer.from([0x1e, 0x0f]);

/**
 * Sends the datagrams of a message, at most three times: again only if the machine stalled so long
 * that its chunks may have expired.
 */
async function sendUntilStored(service: Service, datagrams: readonly Buffer[]): Promise<void> {
  const stored = () => metricOf(service, "events_total", "gelf_udp");
  const lost = () => metricOf(service, "malformed_total", "gelf_udp");
  const before = await stored();
  for (let attempt = 1; ; attempt++) {
    const lostBefore = await lost();
    const began_ms = performance.now();
    await sendDatagrams(portOf(service, "udp"), [...datagrams, MARK]);
    await until(async () => (await lost()) > lostBefore, { what: "the message to be read" });
    const isLate = performance.now() - began_ms > LIFE_MS;
    const outcome = await until(
      async () => {
        if ((await stored()) > before) return "stored";
        return (await lost()) > lostBefore + 1 ? "lost" : null;
      },
      { what: "the message" },
    );
    if (outcome === "stored") return;
    if (!isLate || attempt === 3)
      throw new Error(`The message was lost ${attempt} times, now ${isLate ? "late" : "in time"}`);
  }
}

test("messages are received by UDP and TCP, compressed or not, whole or in chunks in any order", async (t) => {
  const service = await listeningService(t, { LOGGIA_GELF: `udp://127.0.0.1:0/${LOG} tcp://127.0.0.1:0/${LOG}` });
  const json = (text: string) => Buffer.from(JSON.stringify(message(text)));
  const long = Buffer.from(JSON.stringify({ ...message("many"), _pad: "x".repeat(2_000) }));
  for (const datagrams of [
    [json("plain")],
    [gzipSync(json("gzip"))],
    [deflateSync(json("zlib"))],
    chunksOf(json("one of one"), 10_000, "aaaaaaaa"),
    chunksOf(gzipSync(json("reversed")), 20, "bbbbbbbb").toReversed(),
    chunksOf(long, Math.ceil(long.length / 128), "cccccccc"),
  ]) {
    await sendUntilStored(service, datagrams);
  }
  const stream = Buffer.from(
    `${JSON.stringify(message("tcp"), null, 2)}\0{"short_message":"bare"}\0{"short_message":"no end"}`,
  );
  await sendStream(portOf(service), stream.subarray(0, 30), stream.subarray(30));
  const events = new Map((await eventsOf(service, 9)).map((event) => [event.text, event]));
  t.deepEqual([...events.keys()].toSorted(), [
    "bare",
    "gzip",
    "many",
    "no end",
    "one of one",
    "plain",
    "reversed",
    "tcp",
    "zlib",
  ]);
  for (const text of ["plain", "gzip", "zlib", "one of one", "reversed", "many", "tcp"]) {
    const event = events.get(text)!;
    t.like(event, { source: "shop", tags: ["error"], data: true }, text);
    t.like(event.attributes, { host: "box", n: 7, service: "shop" }, text);
    t.true(event.created.includes("1763632800123"), text);
  }
});

test("malformed messages are kept as text, and compression bombs are not unpacked", async (t) => {
  const service = await listeningService(t, { LOGGIA_GELF: `udp://127.0.0.1:0/${LOG} tcp://127.0.0.1:0/${LOG}` });
  const bomb = gzipSync(Buffer.alloc(30_000_000, "x"));
  await sendDatagrams(portOf(service, "udp"), [
    "no JSON",
    '{"a":1}\n{"a":2}',
    bomb.subarray(0, 60_000),
    Buffer.from([0x1f, 0x8b, 1]),
  ]);
  await sendStream(portOf(service), `{"short_message":"${"y".repeat(2_000_000)}"}\0{"short_message":"after"}\0`);
  const events = await eventsOf(service, 6);
  const texts = new Set(events.map(({ text }) => text));
  for (const text of ["no JSON", '{"a":1}\n{"a":2}', "after"]) t.true(texts.has(text), text);
  const cut = events.find(({ text }) => text.startsWith('{"short_message":"yyy'))!;
  t.true(cut.tags.includes("cut"));
  t.is(await metricOf(service, "malformed_total", "gelf_udp"), 4);
  t.is(await metricOf(service, "malformed_total", "gelf_tcp"), 1);
});

test("incomplete chunks expire and take bounded memory", (t) => {
  let now_ms = 0;
  let lost = 0;
  const chunks = new Chunks(
    (count) => (lost += count),
    () => now_ms,
  );
  const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = chunksOf(Buffer.from("abcd"), 2);
  t.is(chunks.take(first, "a"), null);
  t.is(chunks.take(second, "b"), null, "of another sender");
  t.deepEqual(chunks.take(second, "a"), Buffer.from("abcd"));
  t.is(chunks.take(first, "a"), null);
  t.is(chunks.take(first, "a"), null, "twice");
  now_ms = 5_001;
  t.is(chunks.take(second, "a"), null, "too late");
  t.is(lost, 2);
  const part = Buffer.alloc(60_000);
  for (let i = 0; i < 20_000; i++) {
    part.write("\u001e\u000f", 0, "latin1");
    part.writeUInt32BE(i, 2);
    part.writeUInt16BE(0x0080, 10);
    chunks.take(part, "a");
    if (chunks.held_bytes > 33 * 1024 * 1024) return t.fail(`${chunks.held_bytes} bytes are held`);
  }
  for (let i = 0; i < 100_000; i++) {
    chunks.take(Buffer.concat([Buffer.from([0x1e, 0x0f, 9, 9, 9, 9]), uint32(i), Buffer.from([0, 2])]), "a");
  }
  t.true(chunks.held_bytes < 11_000 * 2_600);
  now_ms = 20_000;
  chunks.expire();
  t.is(chunks.held_bytes, 0);
  for (const [number, count] of [
    [0, 0],
    [2, 2],
    [0, 129],
    [255, 255],
  ] as const) {
    t.is(chunks.take(Buffer.from([0x1e, 0x0f, 1, 2, 3, 4, 5, 6, 7, 8, number, count, 0x7b]), "a"), null);
  }
  t.is(chunks.take(Buffer.from([0x1e, 0x0f, 1]), "a"), null);
  t.is(chunks.held_bytes, 0);
});

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

test("a flood of chunks leaves room for complete messages", async (t) => {
  const service = await listeningService(t, { LOGGIA_GELF: `udp://127.0.0.1:0/${LOG}` });
  const port = portOf(service, "udp");
  const flooding = createSocket("udp4");
  t.teardown(() => flooding.close());
  const part = Buffer.alloc(8_000);
  part.write("\u001e\u000f", 0, "latin1");
  part[11] = 128;
  const metric = (name: string) => metricOf(service, name, "gelf_udp");
  let sent = 0;
  /** Fills the memory for chunks: it holds fewer than 4,000 of these. */
  const flood = async (): Promise<void> => {
    const [first, droppedBefore] = [sent, await metric("dropped_total")];
    do {
      for (const end = sent + 500; sent < end; sent++) {
        part.writeUInt32BE(sent, 2);
        flooding.send(Buffer.from(part), port, "127.0.0.1");
        if (sent % 50 === 0) await sleep(1);
      }
    } while (sent - first - ((await metric("dropped_total")) - droppedBefore) < 5_000);
  };
  const COUNT = 10;
  const texts = Array.from({ length: COUNT }, (_, i) => JSON.stringify(message(`amid ${i}`)));
  let rounds = 0;
  // On a machine that stalls, the flood may have expired before the messages arrive.
  const isHeld = async (): Promise<boolean> => {
    const began_ms = performance.now();
    await flood();
    await sendDatagrams(port, texts);
    rounds += 1;
    await until(async () => (await metric("events_total")) >= rounds * COUNT, { what: "all messages amid the flood" });
    return performance.now() - began_ms < LIFE_MS;
  };
  await until(isHeld, { what: "messages to arrive before the flood expires" });
  const events = await eventsOf(service, rounds * COUNT);
  for (let i = 0; i < COUNT; i++) t.is(events.filter(({ text }) => text === `amid ${i}`).length, rounds);
});
