import { encode, ExtData } from "@msgpack/msgpack";
import { gzipSync } from "node:zlib";

import { LoggiaError } from "../../src/errors.ts";
import type { LogKey } from "../../src/events/event.ts";
import { firstIdAt } from "../../src/events/id.ts";
import { DEFAULT_LIMITS } from "../../src/events/limits.ts";
import { completeLine, decodeRecord, encodeRecord } from "../../src/events/record.ts";
import { Frames } from "../../src/ingest/listeners/frames.ts";
import { forwardEvents, readMessage } from "../../src/ingest/protocols/forward/decode.ts";
import { NOT_YET, MsgpackScan } from "../../src/ingest/kit/msgpack-scan.ts";
import { Chunks } from "../../src/ingest/protocols/gelf/chunks.ts";
import { inflatedMessage, readMessage as readGelfMessage } from "../../src/ingest/protocols/gelf/listen.ts";
import { fittedLine } from "../../src/ingest/append/fitted-line.ts";
import type { ProducerEvent } from "../../src/ingest/kit/endpoint.ts";
import { SyslogDecoder } from "../../src/ingest/protocols/syslog/decode.ts";
import { UTC } from "../../src/query/zone.ts";
import { resultOf } from "../support/steps.ts";
import { mutate } from "./random.ts";
import type { Random } from "./random.ts";
import { Fault } from "./target.ts";
import { Scheduler } from "../../src/scheduling/scheduler.ts";

const NOW_MS = 1_800_000_000_000;
const TURN = 200;
const MOST_BYTES = 2_000;

/** A valid stream, and the function that reads it in pieces. */
type Stream = {
  readonly name: string;
  readonly bytes: Buffer;
  readonly read: (pieces: readonly Buffer[]) => Iterable<ProducerEvent> | Promise<Iterable<ProducerEvent>>;
};

const SYSLOG_STREAM =
  '<165>1 2003-10-11T22:14:15.003Z h.example.com app 42 ID47 [a@1 b="c\\"" d="é"][e@2] \ufeffone\n' +
  "<34>Oct 11 22:14:15 host su[9]: two\r\n<13>three\u000020 <13>1 - - - - - - four<1>*Nov  3 2024 1:2:3.5: five\n" +
  "<189>30: r1: 46: .2026 Nov 20 10:11:12.345 CET: %SYS-5-CONFIG_I: six\n" +
  "<189>920: r1 RP/0/RSP0/CPU0:Jan 02 15:04:05 +06: config[12]: %SYS-5-X : seven\n" +
  "<134>1 1515988859.626061236 MX84 ids-alerts : eight\n";

const GELF = '{"version":"1.1","host":"h","short_message":"é","timestamp":"1700000000.1","level":3,"_a":{"b":[1]}}';

const STREAMS: readonly Stream[] = [
  { name: "syslog", bytes: Buffer.from(SYSLOG_STREAM), read: readSyslog },
  { name: "Fluent forward", bytes: forwardStream(), read: readForward },
  { name: "GELF in chunks", bytes: inChunks(gzipSync(GELF), 20), read: readGelf },
];

/** Splits a message into datagrams, each preceded by its length. */
function inChunks(message: Buffer, size: number): Buffer {
  const count = Math.ceil(message.length / size);
  const chunks = Array.from({ length: count }, (_, i) => {
    const chunk = Buffer.concat([chunkHead(i, count), message.subarray(i * size, (i + 1) * size)]);
    return Buffer.concat([Buffer.from([chunk.length]), chunk]);
  });
  return Buffer.concat(chunks);
}

function chunkHead(number: number, count: number): Buffer {
  return Buffer.from([0x1e, 0x0f, 1, 2, 3, 4, 5, 6, 7, 8, number, count]);
}

function forwardStream(): Buffer {
  const entries = Buffer.concat([encode([1_700_000_000, { log: "é", a: { b: [1, null] } }]), encode([1, { m: 1.5 }])]);
  const time = new ExtData(0, Buffer.from([0x65, 0, 0, 0, 0, 0, 0, 1]));
  return Buffer.concat([
    encode(["t", time, { log: "one", level: "warn" }]),
    encode(["t", [[[time, {}], { log: "two" }]], { chunk: "c" }]),
    encode(["t", entries, { size: 2 }]),
  ]);
}

/** A malformed message ends a connection with an error. */
function* readForward(pieces: readonly Buffer[]): Generator<ProducerEvent> {
  let bytes: Buffer = Buffer.alloc(0);
  let start = 0;
  try {
    let scan = new MsgpackScan(MOST_BYTES);
    for (const piece of pieces) {
      bytes = Buffer.concat([bytes, piece]);
      for (let end = scan.end(bytes); end !== -1; end = scan.end(bytes)) {
        if (end === NOT_YET) continue;
        const message = resultOf(readMessage(bytes.subarray(start, end)));
        for (const event of forwardEvents(message, message.entries, DEFAULT_LIMITS, () => {})) {
          if (!("fault" in event)) yield event;
        }
        start = end;
        scan = new MsgpackScan(MOST_BYTES, start);
        if (start === bytes.length) break;
      }
    }
  } catch (error) {
    if (!(error instanceof LoggiaError)) throw error;
  }
}

async function readGelf(pieces: readonly Buffer[]): Promise<ProducerEvent[]> {
  const chunks = new Chunks(() => {});
  const bytes = Buffer.concat(pieces);
  const events: ProducerEvent[] = [];
  for (let at = 0; at < bytes.length; at += 1 + bytes[at]!) {
    const message = chunks.take(bytes.subarray(at + 1, at + 1 + bytes[at]!), "fuzz");
    if (message === null) continue;
    const read = resultOf(
      readGelfMessage({ bytes: await inflatedMessage(message, new Scheduler()), isCut: false }, UNCOUNTED),
    );
    if (read !== null) events.push(read.event);
  }
  return events;
}

const UNCOUNTED = { add() {}, connections: 0, watchSystemDrops() {} };

function* readSyslog(pieces: readonly Buffer[]): Generator<ProducerEvent> {
  const frames = new Frames({ most_bytes: MOST_BYTES, nulOnly: false, counted: true });
  const decoder = new SyslogDecoder({ zone: UTC, year: null, json: true });
  for (const piece of pieces) {
    for (const { bytes, isCut } of frames.push(piece)) yield decoder.read(bytes, isCut, NOW_MS).event;
  }
  for (const { bytes, isCut } of frames.end()) yield decoder.read(bytes, isCut, NOW_MS).event;
}

/**
 * Reads mutated streams of every listener, in this process and in pieces of any size. A decoder
 * must return events that the bus carries and a pipeline reads, or refuse the connection with an
 * error.
 */
export async function fuzzListeners(random: Random, deadline_ms: number): Promise<number> {
  let tries = 0;
  while (performance.now() < deadline_ms) {
    for (let i = 0; i < TURN; i++) await readOne(random);
    tries += TURN;
    await new Promise(setImmediate);
  }
  return tries;
}

async function readOne(random: Random): Promise<void> {
  const { name, bytes, read } = random.oneOf(STREAMS);
  const stream = random.percent(5) ? random.bytes(random.below(300)) : mutate(random, bytes);
  const pieces = piecesOf(random, stream);
  const began_ms = performance.now();
  try {
    for (const event of await read(pieces)) {
      const { line } = fittedLine(event, { limits: DEFAULT_LIMITS, read_ms: NOW_MS, tags: [] });
      const record = encodeRecord("fuzz" as LogKey, [completeLine(firstIdAt(0), line.created ?? "0", line.fields)]);
      for (const one of decodeRecord(record)) if (one.kind !== "event") throw new Error(`it became ${line.fields}`);
    }
  } catch (error) {
    const shown = `${name} in pieces of ${pieces.map(({ length }) => length).join(" ")}, base64: `;
    throw new Fault(`${String((error as Error).stack)}\n  ${shown}${stream.toString("base64").slice(0, 4_000)}`, {
      cause: error,
    });
  }
  const took_ms = performance.now() - began_ms;
  if (took_ms > 2_000) throw new Fault(`${name} took ${took_ms} ms: ${stream.toString("base64").slice(0, 4_000)}`);
}

function piecesOf(random: Random, stream: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < stream.length;) {
    const size = random.percent(50) ? stream.length : 1 + random.below(20);
    pieces.push(stream.subarray(at, at + size));
    at += size;
  }
  return pieces;
}
