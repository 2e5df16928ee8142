import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setImmediate as aMoment } from "node:timers/promises";
import test from "ava";
import fc from "fast-check";

import { addFastPath } from "../../../src/http/fast-path/fast-path.ts";
import type { FastPath } from "../../../src/http/fast-path/fast-path.ts";
import { closeGracefully, limitConnections } from "../../../src/http/listen.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../../../src/http/limits/connection-limits.ts";
import { readResponse, open } from "../../security/raw.ts";
import { until } from "../../support/until.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

type Served = AsyncDisposable & {
  readonly server: Server;
  readonly port: number;
  /** Number of requests taken by the fast path. */
  taken(): number;
  /** Whether the connection of `swept` was destroyed by the sweep right after its response. */
  isSweptCut(): boolean | null;
};

const HEADERS = { "Content-Type": "text/plain" } as const;

/** Resolves when a server stops accepting connections. */
function onceClosing(server: Server): Promise<unknown> {
  return until(() => !server.listening, { what: "the server is closing", interval_ms: 1 });
}

/**
 * Starts a server that answers with the size of the body, with or without the fast path. The body
 * `slow` is answered after a delay. On the fast path, `held` is answered a moment after the server
 * has begun to close, and `swept` just before it looks for idle connections.
 */
async function serve(
  fast: boolean,
  { first_ms = 20_000, keepAlive_ms = 65_000, asStreams = false } = {},
): Promise<Served> {
  let taken = 0;
  let isSweptCut: boolean | null = null;
  const answerOf = (body: Buffer) => ({ ...HEADERS, "Content-Length": String(String(body.length).length) });
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const answer = (): void => void response.writeHead(201, answerOf(body)).end(String(body.length));
      if (body.toString() === "slow") setTimeout(answer, 50);
      else answer();
    });
  });
  limitConnections(server, { ...DEFAULT_CONNECTION_LIMITS, keepAlive_ms });
  if (fast) {
    addFastPath(
      server,
      {
        route: ({ method, target }) => (method === "POST" && target === "/" ? target : null),
        take(_route, body, socket, answer) {
          if (body.toString() === "not mine") return false;
          taken += 1;
          const plain = { status: 201, headers: answerOf(body), payload: String(body.length) };
          // As in a process that was blocked, where due timers run one after the other.
          const answerJustBeforeSweep = async (): Promise<void> => {
            await onceClosing(server);
            answer(plain);
            server.closeIdleConnections();
            isSweptCut = socket.destroyed;
          };
          if (body.toString() === "slow") setTimeout(() => answer(plain), 50);
          else if (body.toString() === "held") void onceClosing(server).then(() => setTimeout(() => answer(plain), 50));
          else if (body.toString() === "swept") void answerJustBeforeSweep();
          // At once, or a moment later.
          else if (body.length % 2 === 0) answer(plain);
          else setImmediate(() => answer(plain));
          return true;
        },
      },
      { keepAlive_ms, first_ms, scheduler: new Scheduler() },
    );
  }
  if (asStreams) server.prependListener("connection", readAsStream);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    server,
    port: (server.address() as AddressInfo).port,
    taken: () => taken,
    isSweptCut: () => isSweptCut,
    [Symbol.asyncDispose]: () => closeGracefully(server, 60_000),
  };
}

/** Simulates a release of Node without the faster way to read. */
function readAsStream(socket: Socket): void {
  const { _handle: handle } = socket as unknown as { _handle: { useUserBuffer: unknown } };
  handle.useUserBuffer = undefined;
}

function request(body: string, ...headers: string[]): string {
  return ["POST / HTTP/1.1", "Host: here", ...headers, `Content-Length: ${Buffer.byteLength(body)}`, "", body].join(
    "\r\n",
  );
}

const CHUNKED = "POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";

/**
 * Sends the pieces one by one and reads until this many responses arrived or the connection ends.
 */
async function answers(port: number, pieces: readonly string[], count: number): Promise<string> {
  const socket = await open(port);
  socket.setNoDelay(true);
  const heard = readResponse(socket, {
    until: new RegExp(`(?:HTTP/1\\.1 [^]*?\\r\\n\\r\\n\\d[^]*){${count}}`),
  });
  for (const piece of pieces) {
    if (socket.destroyed) break;
    socket.write(piece, "latin1");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return (await heard).text.replaceAll(/Date: .*\r\n/g, "Date: now\r\n");
}

/** Sends the requests on one connection, each after the response to the one before. */
async function inTurn(port: number, requests: readonly string[]): Promise<string> {
  const socket = await open(port);
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  for (const [i, bytes] of requests.entries()) {
    socket.write(bytes);
    const isAnswered = () =>
      Promise.resolve(new RegExp(`(?:HTTP/1\\.1 [^]*?\\r\\n\\r\\n\\d[^]*){${i + 1}}`).test(text));
    await until(isAnswered, { what: `answer ${i + 1}` });
  }
  socket.destroy();
  return text.replaceAll(/Date: .*\r\n/g, "Date: now\r\n");
}

test("a plain request is handled, and its response equals the server's own to the byte", async (t) => {
  await using fast = await serve(true);
  await using slow = await serve(false);
  const requests = [request("hello"), request(""), request("größer"), request("slow")];
  const [ours, theirs] = [await inTurn(fast.port, requests), await inTurn(slow.port, requests)];
  t.is(ours, theirs);
  t.regex(
    ours,
    /^HTTP\/1\.1 201 Created\r\nContent-Type: text\/plain\r\nContent-Length: 1\r\nDate: now\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65\r\n\r\n5HTTP/,
  );
  t.is(fast.taken(), 4);
});

test("the Date header is a valid HTTP date", async (t) => {
  await using fast = await serve(true);
  const before_s = Math.floor(Date.now() / 1000);
  const response = await fetch(`http://127.0.0.1:${fast.port}/`, { method: "POST", body: "x" });
  const date_s = Date.parse(response.headers.get("date")!) / 1000;
  t.is(response.status, 201);
  t.true(before_s <= date_s && date_s <= Date.now() / 1000);
});

const anything = test.macro(async (t, asStreams: boolean) => {
  await using fast = await serve(true, { asStreams });
  await using slow = await serve(false);
  const requests = fc.constantFrom(
    request("hello"),
    request("hello", "X-Other: header"),
    request("slow"),
    request("not mine"),
    request("twice", "X-Twice: a", "X-Twice: b"),
    request("x".repeat(3_000)),
    request("x".repeat(70_000)),
    request("hello", `X-Long: ${"x".repeat(3_000)}`),
    request("unfolded", "Expect: 100-continue").replace("Expect: 100-continue", "X-Expect: nothing"),
    "GET / HTTP/1.1\r\nHost: here\r\n\r\n",
    CHUNKED,
  );
  const streams = fc.array(requests, { minLength: 1, maxLength: 6 }).chain((list) =>
    fc.record({
      count: fc.constant(list.length),
      text: fc.constant(list.join("")),
      cuts: fc.array(fc.nat(list.join("").length), { maxLength: 5 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(streams, async ({ count, text, cuts }) => {
      const bounds = [0, ...cuts.toSorted((a, b) => a - b), text.length];
      const pieces = bounds.slice(1).map((end, i) => text.slice(bounds[i], end));
      const filled = pieces.filter((piece) => piece !== "");
      const [ours, theirs] = await Promise.all([answers(fast.port, filled, count), answers(slow.port, filled, count)]);
      t.is(ours, theirs);
      t.is([...ours.matchAll(/HTTP\/1\.1 201/g)].length, count);
    }),
    { numRuns: 60 },
  );
});
test("any bytes in any pieces get the response of the server alone", anything, false);
test("responses are the same if connections are read as streams", anything, true);

test("requests of many clients that arrive at once, in pieces, are not mixed up", async (t) => {
  const server = createServer((incoming, response) => {
    void buffer(incoming).then((body) => response.writeHead(201, { "Content-Length": body.length }).end(body));
  });
  const route = (): true => true;
  const take: FastPath<true>["take"] = (_route, body, _socket, answer) => {
    const payload = body.toString("latin1");
    if (payload.startsWith("other")) return false;
    answer({ status: 201, headers: { "Content-Length": String(payload.length) }, payload });
    return true;
  };
  addFastPath(server, { route, take }, { keepAlive_ms: 65_000, first_ms: 65_000, scheduler: new Scheduler() });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const rounds = Array.from({ length: 30 }, async (_, i) => {
    // Some go to the server, after a while or amid the request, and others never.
    const kinds = ["a", "b", ["c", "other", "large"][i % 3]!, "d"];
    const bodies = kinds.map((kind) => `${kind} ${i} `.repeat(kind === "large" ? 9_000 : 300));
    const socket = await open(port);
    socket.setNoDelay(true);
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    for (const body of bodies) {
      const whole = request(body);
      const half = whole.length - 700 - i;
      socket.write(whole.slice(0, half));
      await aMoment();
      socket.write(whole.slice(half));
      await until(() => Promise.resolve(text.endsWith(body)), { what: "its own is answered" });
    }
    socket.destroy();
  });
  await t.notThrowsAsync(Promise.all(rounds));
  await closeGracefully(server, 1_000);
});

test("after another request the connection belongs to the server and stays open", async (t) => {
  await using fast = await serve(true);
  const heard = await inTurn(fast.port, [request("hello"), CHUNKED, request("hello")]);
  t.is([...heard.matchAll(/201 Created/g)].length, 3);
  t.is(fast.taken(), 1);
});

test("a server that upgrades a connection has full control of it", async (t) => {
  await using fast = await serve(true);
  fast.server.on(
    "upgrade",
    (_request, socket: Socket) => socket.write("HTTP/1.1 101 Go\r\n\r\n") && socket.pipe(socket),
  );
  const socket = await open(fast.port);
  const heard: string[] = [];
  socket.setEncoding("latin1").on("data", (piece: string) => heard.push(piece));
  socket.write("GET / HTTP/1.1\r\nHost: here\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n");
  await until(() => Promise.resolve(heard.length > 0), { what: "it is no HTTP any more" });
  socket.write("said");
  await until(() => Promise.resolve(heard.join("").endsWith("said")), { what: "it says the same" });
  socket.destroy();
  t.is(heard.join(""), "HTTP/1.1 101 Go\r\n\r\nsaid");
});

test("bytes that wait are not overwritten by those of other connections", async (t) => {
  await using fast = await serve(true);
  const impatient = await open(fast.port);
  const heard = readResponse(impatient, { until: /(?:HTTP\/1\.1 [^]*?\r\n\r\n\d[^]*){2}/ });
  impatient.write(request("slow"));
  await until(() => Promise.resolve(fast.taken() === 1), { what: "the first is in hand" });
  // Nine bytes wait; the other connection sends 3,000.
  impatient.write(request("my second"));
  while (fast.taken() === 1) t.regex(await inTurn(fast.port, [request("x".repeat(3_000))]), /3000$/);
  t.regex((await heard).text, /\r\n\r\n4HTTP[^]*\r\n\r\n9$/);
});

test("an incomplete request gets 400, and silent and idle connections are closed", async (t) => {
  await using fast = await serve(true, { keepAlive_ms: 150 });
  await using hasty = await serve(true, { first_ms: 100 });
  const half = await open(fast.port);
  half.end(request("hello").slice(0, -2));
  t.regex((await readResponse(half)).text, /^HTTP\/1\.1 400 [^]*The connection closed before the request was complete/);
  t.regex((await readResponse(await open(hasty.port))).text, /^HTTP\/1\.1 408 /);
  const idle = await open(fast.port);
  idle.write(request("hello"));
  const heard = await readResponse(idle);
  t.true(heard.closed);
  t.regex(heard.text, /^HTTP\/1\.1 201 [^]*5$/);
});

test("a client that disconnects before the refusal of its incomplete request affects nobody", async (t) => {
  await using fast = await serve(true);
  for (let i = 0; i < 20; i++) {
    const half = await open(fast.port);
    half.end(request("hello").slice(0, -2), () => half.resetAndDestroy());
    await until(() => half.destroyed, { what: "the connection is gone" });
  }
  t.regex(await inTurn(fast.port, [request("hello")]), /201 Created/);
});

test("closing waits for requests in flight and closes idle connections", async (t) => {
  const fast = await serve(true);
  const idle = await open(fast.port);
  const busy = await open(fast.port);
  busy.write(request("held"));
  await until(() => Promise.resolve(fast.taken() === 1), { what: "the request is in hand" });
  const [heard, gone] = await Promise.all([readResponse(busy), readResponse(idle), fast[Symbol.asyncDispose]()]);
  t.regex(heard.text, /^HTTP\/1\.1 201 [^]*\r\nConnection: close\r\n\r\n4$/);
  t.deepEqual([gone.text, gone.closed], ["", true]);
});

test("closing leaves a client that has just been answered time to read the response", async (t) => {
  const fast = await serve(true);
  const socket = await open(fast.port);
  const heard = readResponse(socket);
  socket.write(request("swept"));
  await until(() => Promise.resolve(fast.taken() === 1), { what: "the request is in hand" });
  const [{ text }] = await Promise.all([heard, fast[Symbol.asyncDispose]()]);
  t.false(fast.isSweptCut());
  t.regex(text, /^HTTP\/1\.1 201 [^]*\r\nConnection: close\r\n\r\n5$/);
});

test("closing answers requests in flight and none sent after them", async (t) => {
  const fast = await serve(true);
  const socket = await open(fast.port);
  let text = "";
  socket.on("data", (chunk) => {
    // Sent as soon as the response with Connection: close has arrived.
    if (text === "") socket.write(request("third"));
    text += chunk.toString("latin1");
  });
  socket.on("error", () => {});
  socket.write(request("held"));
  await until(() => Promise.resolve(fast.taken() === 1), { what: "the request is in hand" });
  socket.write(request("second"));
  let isCut = false;
  const cut = fast.server.closeAllConnections.bind(fast.server);
  fast.server.closeAllConnections = () => {
    isCut = true;
    cut();
  };
  await fast[Symbol.asyncDispose]();
  t.regex(text, /^HTTP\/1\.1 201 [^]*\r\nConnection: close\r\n\r\n4$/);
  t.is(fast.taken(), 1);
  t.false(isCut);
});
