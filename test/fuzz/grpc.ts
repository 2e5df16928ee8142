import { once } from "node:events";
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { deflateSync, gzipSync } from "node:zlib";

import { begin, framed, openSession, PATH } from "../ingest/listeners/grpc-client.ts";
import { encodeRequest } from "../ingest/protocols/otlp-proto.ts";
import { KEY } from "../support/service.ts";
import { mutate } from "./random.ts";
import type { Random } from "./random.ts";
import { Fault } from "./target.ts";
import type { Target } from "./target.ts";

const AT_ONCE = 16;
const FLOOD = 500;
const ANSWER_MS = 30_000;
/** The gRPC status codes that a call may end with here; 2 and 13 are faults of the service. */
const CODES: ReadonlySet<string> = new Set(["0", "3", "4", "5", "7", "8", "11", "12", "14", "16"]);

const MESSAGE = encodeRequest({
  resourceLogs: [
    {
      scopeLogs: [
        { logRecords: [{ body: { stringValue: "hello" }, attributes: [{ key: "a", value: { intValue: 1 } }] }] },
      ],
    },
  ],
});

/** The preface of HTTP/2, and an empty settings frame. */
const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1"),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);

/**
 * Makes gRPC calls that no client makes: truncated frames, wrong lengths and flags, odd headers,
 * floods of streams and resets, and invented HTTP/2 frames. Each call must get a code that blames
 * it, or a reset, and the service must accept valid calls afterwards.
 */
export async function fuzzGrpc(target: Target, random: Random, deadline_ms: number): Promise<number> {
  let tries = 0;
  for (let turn = 0; performance.now() < deadline_ms; turn++) {
    const session = openSession(target.grpcPort);
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, () => callOnce(session, random)));
      tries += AT_ONCE;
      if (turn % 4 === 0) tries += await floodStreams(session, random);
    } finally {
      session.destroy();
    }
    if (turn % 2 === 0) tries += await sendFrames(target.grpcPort, random);
    if (turn % 10 === 0) await checkGrpc(target);
  }
  await checkGrpc(target);
  return tries;
}

async function checkGrpc(target: Target): Promise<void> {
  await target.check("calls of gRPC");
  const session = openSession(target.grpcPort);
  const status = await statusOf(begin(session, {}), framed(MESSAGE));
  session.destroy();
  if (status !== "0") throw new Fault(`a good call of gRPC is answered ${status}`);
}

async function callOnce(session: ClientHttp2Session, random: Random): Promise<void> {
  const headers = headersOf(random);
  const body = bodyOf(random);
  const stream = begin(session, headers);
  if (random.percent(10)) {
    stream.write(body.subarray(0, random.below(body.length + 1)));
    await sleep(random.below(5));
    stream.close(random.below(14));
    return;
  }
  const status = await statusOf(stream, body);
  if (status === "" || CODES.has(status) || status === "415") return;
  throw new Fault(
    `a call of gRPC is answered ${status}\n  headers: ${JSON.stringify(headers)}\n  base64: ${body.toString("base64").slice(0, 3_000)}`,
  );
}

/** Returns the gRPC status, or the HTTP status without one; "" if the call was reset. */
async function statusOf(stream: ClientHttp2Stream, body: Buffer): Promise<string> {
  let status = "";
  const take = (headers: { readonly [name: string]: unknown }): void => {
    status = String(
      headers["grpc-status"] ?? (status === "" && headers[":status"] !== 200 ? headers[":status"] : status),
    );
  };
  stream.on("response", take).on("trailers", take).resume();
  stream.end(body);
  const closed = new Promise<"closed">((resolve) => {
    if (stream.closed) resolve("closed");
    else stream.once("close", () => resolve("closed"));
  });
  const late = sleep(ANSWER_MS, "late" as const, { ref: false });
  if ((await Promise.race([closed, late])) === "late") throw new Fault("a call of gRPC is not answered");
  return status;
}

function headersOf(random: Random): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  if (random.percent(30))
    headers["grpc-encoding"] = random.oneOf(["gzip", "deflate", "zstd", "snappy", "", "x".repeat(200)]);
  if (random.percent(5)) headers["authorization"] = random.oneOf(["", "Bearer", "Bearer wrong", `Basic ${KEY}`]);
  if (random.percent(5))
    headers[":path"] = random.oneOf(["/", PATH.toLowerCase(), `${PATH}/`, "/grpc.health.v1.Health/Check"]);
  if (random.percent(5))
    headers["content-type"] = random.oneOf(["application/json", "application/grpc+json", "application/grpc;x"]);
  if (random.percent(5)) headers["grpc-timeout"] = random.oneOf(["1n", "99999999H", "-1S", "x"]);
  if (random.percent(5)) headers[`x-${random.below(1_000)}`] = "y".repeat(random.below(8_000));
  if (random.percent(10)) headers["x-loggia-text-field"] = random.oneOf(["a", ",,,", "a".repeat(2_000)]);
  return headers;
}

/** Returns a framed message: valid, mutated, truncated, or with a wrong header. */
function bodyOf(random: Random): Buffer {
  const message = random.percent(30) ? mutate(random, MESSAGE) : MESSAGE;
  const packed = random.oneOf([
    message,
    message,
    gzipSync(message),
    deflateSync(message),
    gzipSync(Buffer.alloc(300_000)),
  ]);
  const frame = framed(packed, random.percent(50) ? 0 : random.oneOf([0, 1, 1, 2, 255]));
  if (random.percent(20)) {
    const length = random.oneOf([
      0,
      1,
      packed.length - 1,
      packed.length + 1,
      64 * 1024 * 1024,
      64 * 1024 * 1024 + 1,
      0xffff_ffff,
    ]);
    frame.writeUInt32BE(Math.max(0, length), 1);
  }
  const shape = random.below(10);
  if (shape === 0) return frame.subarray(0, random.below(frame.length + 1));
  if (shape === 1) return Buffer.concat([frame, frame]);
  if (shape === 2) return Buffer.concat([frame, random.bytes(random.below(50))]);
  return shape === 3 ? random.bytes(random.below(100)) : frame;
}

/** Opens streams that announce much and send little, and resets most of them at once. */
async function floodStreams(session: ClientHttp2Session, random: Random): Promise<number> {
  for (let i = 0; i < FLOOD && !session.destroyed && !session.closed; i++) {
    const stream = begin(session, {});
    stream.write(Buffer.from([0, 0x03, 0xff, 0xff, 0xff]));
    if (random.percent(90)) stream.close(8);
    if (i % 50 === 49) await new Promise(setImmediate);
  }
  return FLOOD;
}

/** Sends HTTP/2 frames of any type, flags, stream and length, over plain connections. */
async function sendFrames(port: number, random: Random): Promise<number> {
  const sockets = Array.from({ length: AT_ONCE }, async () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {}).resume();
    const frames = Array.from({ length: 1 + random.below(30) }, () => {
      const payload = random.bytes(random.below(40));
      const head = Buffer.alloc(9);
      head.writeUIntBE(random.percent(80) ? payload.length : random.below(0xff_ffff), 0, 3);
      head[3] = random.below(12);
      head[4] = random.oneOf([0, 1, 4, 5, 0x2d, 255]);
      head.writeUInt32BE(random.oneOf([0, 1, 1, 3, 2, 0x7fff_ffff]), 5);
      return Buffer.concat([head, payload]);
    });
    const bytes = Buffer.concat([PREFACE, ...frames]);
    socket.end(random.percent(50) ? bytes : mutate(random, bytes));
    const closed = once(socket, "close").catch(() => {});
    await Promise.race([closed, sleep(200, undefined, { ref: false })]);
    socket.destroy();
  });
  await Promise.all(sockets);
  return AT_ONCE;
}
