import type { ExecutionContext } from "ava";
import test from "ava";
import { once } from "node:events";
import { createServer } from "node:http";
import type { Socket } from "node:net";

import type { EvictionReason } from "../../../src/http/limits/connections.ts";
import { addFastPath } from "../../../src/http/fast-path/fast-path.ts";
import { limitConnections, listenOn } from "../../../src/http/listen.ts";
import { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "../../../src/http/limits/connection-limits.ts";
import { exchange, readResponse, open } from "../../security/raw.ts";
import { bestOf_ms } from "../../support/turns.ts";
import { until } from "../../support/until.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const MB = 1024 * 1024;
const GET = "GET / HTTP/1.1\r\nHost: x\r\n";

/** Close no connection that a slow machine delays, in tests that are about others. */
const LONG_TIMEOUTS = { headersTimeout_ms: 300_000, requestTimeout_ms: 300_000 } as const;

/** Starts a listener that answers each request with this many bytes. */
async function start(t: ExecutionContext, limits: Partial<ConnectionLimits>, size_bytes = 10) {
  const evictions: EvictionReason[] = [];
  const server = createServer((request, response) => {
    const answer = (): void => void response.end(Buffer.alloc(size_bytes, "x"));
    if (request.method === "GET") answer();
    else request.on("end", answer).resume();
  });
  limitConnections(
    server,
    { ...DEFAULT_CONNECTION_LIMITS, ...LONG_TIMEOUTS, ...limits },
    (reason) => void evictions.push(reason),
  );
  const { port } = await listenOn(server, { host: "127.0.0.1", port: 0 }, { name: "the test", setting: "TEST" });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  let [ended, asked] = [0, 0];
  server.on("connection", (socket: Socket) => socket.on("close", () => (ended += 1)));
  server.on("request", () => (asked += 1));
  return { port, evictions, ended: () => Promise.resolve(ended), asked: () => Promise.resolve(asked) };
}

/** Opens a connection that sends this many requests and reads no response. */
async function askAndLeaveUnread(t: ExecutionContext, port: number, times = 1): Promise<void> {
  const socket = await open(port);
  t.teardown(() => socket.destroy());
  socket.pause();
  socket.write(`${GET}\r\n`.repeat(times));
}

test("a full listener closes connections without a response first, not new or active ones", async (t) => {
  const { port, evictions } = await start(t, { connections: 20 });
  const worker = await open(port);
  const answers = readResponse(worker, { until: /(?:HTTP\/1\.1 200[^]*){2}/ });
  worker.write(`${GET}\r\n`);
  const idle = await Promise.all(Array.from({ length: 19 }, () => open(port)));
  for (const socket of idle) socket.resume().write("GET / HT");
  for (let i = 0; i < 10; i++)
    t.regex((await exchange(port, `${GET}Connection: close\r\n\r\n`)).text, /^HTTP\/1\.1 200 /);
  worker.write(`${GET}\r\n`);
  t.is((await answers).text.match(/HTTP\/1\.1 200 /g)?.length, 2, "the one that had answers stayed");
  await until(() => Promise.resolve(idle.filter(({ closed }) => closed).length > 0), { what: "an idle one that left" });
  t.true(
    idle.slice(10).every(({ closed }) => !closed),
    "and the oldest left first",
  );
  t.deepEqual([...new Set(evictions)], ["crowd"]);
});

test("a full listener of answered connections closes the oldest", async (t) => {
  const { port } = await start(t, { connections: 5 });
  const sockets: Socket[] = [];
  for (let i = 0; i < 5; i++) {
    const socket = await open(port);
    socket.write(`${GET}\r\n`);
    await once(socket, "data");
    sockets.push(socket);
  }
  t.regex((await exchange(port, `${GET}Connection: close\r\n\r\n`)).text, /^HTTP\/1\.1 200 /);
  await until(() => Promise.resolve(sockets[0]!.closed), { what: "the end of the oldest" });
  t.true(sockets.slice(1).every(({ closed }) => !closed));
});

test("a flood of answered connections leaves a new one time for its request", async (t) => {
  const { port } = await start(t, { connections: 40 });
  const arrive = async (): Promise<Socket> => {
    const socket = await open(port);
    t.teardown(() => socket.destroy());
    socket.write(`${GET}\r\n`);
    await once(socket, "data");
    return socket.resume();
  };
  for (let i = 0; i < 40; i++) await arrive();
  for (let round = 1; round <= 10; round++) {
    const late = await open(port);
    for (let i = 0; i < 5; i++) await arrive();
    late.write(`${GET}Connection: close\r\n\r\n`);
    t.regex((await readResponse(late)).text, /^HTTP\/1\.1 200 /);
  }
});

test("connections that have read nothing for 5 s are closed to make room", async (t) => {
  const { port, evictions, asked } = await start(t, { connections: 5 }, 20 * MB);
  for (let i = 0; i < 5; i++) await askAndLeaveUnread(t, port);
  await until(async () => (await asked()) === 5, { what: "five requests" });
  const ask = async () => (await exchange(port, "GET / HTTP/1.0\r\n\r\n")).text.startsWith("HTTP/1.1 200 ");
  t.false(await ask());
  await until(() => ask().catch(() => false), { what: "an answer to another" });
  t.true(evictions.includes("crowd"));
});

test("unread responses are limited in total: the oldest connections are closed", async (t) => {
  const { port, evictions, ended } = await start(t, { unread_bytes: 50 * MB }, 20 * MB);
  for (let i = 0; i < 5; i++) await askAndLeaveUnread(t, port);
  await until(async () => (await ended()) === 3, { what: "three that left" });
  t.deepEqual(evictions, ["unread", "unread", "unread"]);
  t.regex((await exchange(port, `${GET}Connection: close\r\n\r\n`)).text, /^HTTP\/1\.1 200 /, "others are answered");
});

test("a connection with many unread responses is closed, and no other", async (t) => {
  const { port, evictions, ended } = await start(t, { unread_bytes: 50 * MB }, 20 * MB);
  await askAndLeaveUnread(t, port, 3);
  await askAndLeaveUnread(t, port);
  await until(async () => (await ended()) > 0, { what: "the one that left" });
  t.is(await ended(), 1);
  t.deepEqual(evictions, ["unread"]);
});

test("a response of which nothing is read is dropped after a timeout", async (t) => {
  const { port, evictions, ended } = await start(t, { stalled_ms: 300 }, 20 * MB);
  await askAndLeaveUnread(t, port);
  await until(async () => (await ended()) === 1, { what: "the end of the connection" });
  t.deepEqual(evictions, [], "which is not for others");
});

test("a response that is read byte by byte is dropped, and one that is read steadily is not", async (t) => {
  const { port, evictions, ended } = await start(t, { slow_ms: 1_500 }, 20 * MB);
  const read = async (chunk_bytes: number): Promise<Socket> => {
    const socket = await open(port);
    socket.pause();
    socket.write(`${GET}\r\n`);
    const timer = setInterval(() => socket.read(Math.min(chunk_bytes, socket.readableLength)), 20);
    t.teardown(() => {
      clearInterval(timer);
      socket.destroy();
    });
    return socket;
  };
  const [slow, steady] = await Promise.all([read(100), read(64 * 1024)]);
  await until(() => Promise.resolve(evictions.length > 0 || null), { what: "the slow one to be dropped" });
  t.deepEqual(evictions, ["slow"]);
  await until(async () => (await ended()) === 1, { what: "the end of the connection" });
  slow.resume();
  await once(slow, "close");
  await until(() => Promise.resolve(steady.bytesRead > 15 * MB || null), { what: "the rest of the steady one" });
  t.deepEqual(evictions, ["slow"]);
});

test("a body in chunks of single bytes ends its connection, and one in lines does not", async (t) => {
  const { port, evictions } = await start(t, {});
  const head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  const lines = await exchange(port, `${head}${"14\r\na line of 20 bytes..\r\n".repeat(20_000)}0\r\n\r\n`);
  t.regex(lines.text, /^HTTP\/1\.1 200 /);
  t.deepEqual(evictions, []);
  const typed = await exchange(port, `${head}${"1\r\na\r\n".repeat(900)}0\r\n\r\n`);
  t.regex(typed.text, /^HTTP\/1\.1 200 /);
  const socket = await open(port);
  const heard = readResponse(socket);
  socket.write(head);
  socket.write("1\r\na\r\n".repeat(200_000));
  t.true((await heard).closed);
  t.deepEqual(evictions, ["chunks"]);
});

test("headers that arrive byte by byte must arrive within the timeout", async (t) => {
  const { port } = await start(t, { headersTimeout_ms: 300 });
  const best_ms = await bestOf_ms(10_000, async () => {
    const { text, took_ms } = await exchange(port, "GET / HTTP/1.1\r\nHo");
    t.regex(text, /^HTTP\/1\.1 408 /);
    return took_ms;
  });
  t.true(best_ms < 10_000, `${Math.round(best_ms)} ms`);
});

const FORM = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n";

/**
 * Starts a listener with a limit of ten connections that answers on `release`, with or without the
 * fast path.
 */
async function startHeld(t: ExecutionContext, isFast: boolean, { silence_ms = 60_000 } = {}) {
  const held: (() => void)[] = [];
  const evictions: EvictionReason[] = [];
  const server = createServer((request, response) => {
    request.resume();
    // Only now, as a slow machine may take longer until the request arrives.
    request.socket.setTimeout(silence_ms);
    held.push(() => response.end("x"));
  });
  const isBusy = isFast
    ? addFastPath<true>(
        server,
        {
          route: () => true,
          take(_route, _body, _socket, answer) {
            held.push(() => answer({ status: 200, headers: { "Content-Length": "1" }, payload: "x" }));
            return true;
          },
        },
        { keepAlive_ms: 60_000, first_ms: 60_000, scheduler: new Scheduler() },
      ).isAnswering
    : () => false;
  const limits = { ...DEFAULT_CONNECTION_LIMITS, ...LONG_TIMEOUTS, connections: 10 };
  limitConnections(server, limits, (reason) => void evictions.push(reason), isBusy);
  let timeouts = 0;
  server.on("timeout", () => (timeouts += 1));
  const { port } = await listenOn(server, { host: "127.0.0.1", port: 0 }, { name: "the test", setting: "TEST" });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port, held, evictions, timeouts: () => timeouts, release: () => held.forEach((answer) => answer()) };
}

test("a request that is being handled is answered, however long that takes", async (t) => {
  const { port, timeouts, release } = await startHeld(t, false, { silence_ms: 50 });
  const socket = await open(port);
  socket.write(`${FORM}x`);
  const answer = readResponse(socket, { until: /200/ });
  await until(() => timeouts() > 0, { what: "silence beyond the limit" });
  release();
  t.regex((await answer).text, /^HTTP\/1\.1 200 /);
});

for (const isFast of [true, false]) {
  const way = isFast ? "the fast path" : "node:http";
  test(`a connection whose request ${way} is handling is not closed for new ones`, async (t) => {
    const { port, held, evictions, release } = await startHeld(t, isFast);
    const answers: Promise<{ text: string }>[] = [];
    for (let i = 0; i < 9; i++) {
      const socket = await open(port);
      answers.push(readResponse(socket, { until: /\r\n\r\nx$/ }));
      socket.write(`${FORM}a`);
    }
    // A connection whose request is incomplete is closed.
    const half = await open(port);
    half.resume().write(FORM);
    // The fast path leaves the incomplete one to node:http after a while.
    await until(() => held.length >= 9 + (isFast ? 0 : 1), { what: "all requests" });
    for (let i = 0; i < 30; i++) (await open(port)).resume();
    await until(() => Promise.resolve(evictions.length === 30), { what: "thirty that left" });
    await until(() => half.closed, { what: "the end of the incomplete one" });
    release();
    for (const { text } of await Promise.all(answers)) t.regex(text, /^HTTP\/1\.1 200 /);
  });

  test(`a new connection is closed while ${way} is handling requests of all others`, async (t) => {
    const { port, held, evictions, release } = await startHeld(t, isFast);
    const answers: Promise<{ text: string }>[] = [];
    for (let i = 0; i < 10; i++) {
      const socket = await open(port);
      answers.push(readResponse(socket, { until: /\r\n\r\nx$/ }));
      socket.write(`${FORM}a`);
    }
    await until(() => Promise.resolve(held.length === 10), { what: "all requests" });
    t.true((await exchange(port, `${GET}\r\n`)).closed);
    t.deepEqual(evictions, ["crowd"]);
    release();
    for (const { text } of await Promise.all(answers)) t.regex(text, /^HTTP\/1\.1 200 /);
  });
}

test("if descriptors run out, the oldest idle connection is closed, however few there are", async (t) => {
  const { port, evictions } = await start(t, { descriptors: 1 });
  for (let i = 0; i < 3; i++) t.regex((await exchange(port, `${GET}Connection: close\r\n\r\n`)).text, /^$/);
  t.deepEqual(evictions, ["descriptors", "descriptors", "descriptors"]);
});

test("a connection that cannot be accepted is counted and affects no other", async (t) => {
  const evictions: EvictionReason[] = [];
  const server = createServer((_, response) => response.end("x"));
  limitConnections(server, DEFAULT_CONNECTION_LIMITS, (reason) => void evictions.push(reason));
  const { port } = await listenOn(server, { host: "127.0.0.1", port: 0 }, { name: "the test", setting: "TEST" });
  t.teardown(() => void server.close());
  server.emit("error", Object.assign(new Error("accept EMFILE"), { code: "EMFILE" }));
  t.deepEqual(evictions, ["descriptors"]);
  t.regex((await exchange(port, `${GET}Connection: close\r\n\r\n`)).text, /^HTTP\/1\.1 200 /);
});
