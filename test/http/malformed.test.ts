import type { ExecutionContext } from "ava";
import test from "ava";
import { once } from "node:events";
import { createServer, ServerResponse } from "node:http";
import { connect } from "node:net";
import pino from "pino";

import { jsonPayload } from "../../src/http/formats.ts";
import { limitConnections, listenOn } from "../../src/http/listen.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../../src/http/limits/connection-limits.ts";
import { createHttpServer } from "../../src/http/server.ts";

const log = pino({ level: "silent" });
const listener = { name: "the test", setting: "TEST_ADDRESS" };
const anyPort = { host: "127.0.0.1", port: 0 };

/** `release` answers a request to `/slow`; all other requests are answered at once. */
type Started = { readonly port: number; readonly release: () => void; readonly entered: Promise<void> };

/** The two kinds of listener: the API's, and a plain one as for posting. */
const LISTENERS: Record<string, (t: ExecutionContext, headersTimeout_ms?: number) => Promise<Started>> = {
  api: async (t, headersTimeout_ms = 20_000) => {
    const limiter = createRateLimiter();
    const server = createHttpServer({
      routes: ["/slow", "/fast"].map((path) => ({
        method: "POST",
        path,
        formats: "all",
        handle: async () => {
          if (path === "/slow") await limiter.pass();
          return {
            status: 200,
            body: { json: jsonPayload("answered"), xml: () => ({ root: "data", content: "answered" }) },
          };
        },
      })),
      log,
      listener,
      limits: { ...DEFAULT_CONNECTION_LIMITS, headersTimeout_ms, drain_ms: 500 },
    });
    const { port } = await server.listen(anyPort);
    t.teardown(() => server.close());
    return { port, ...limiter };
  },
  posting: async (t, headersTimeout_ms = 20_000) => {
    const limiter = createRateLimiter();
    const server = createServer({ connectionsCheckingInterval: 50 }, (request, response) => {
      const wait = request.url === "/slow" ? limiter.pass() : Promise.resolve();
      void wait.then(() => response.writeHead(200).end('"answered"'));
    });
    limitConnections(server, { ...DEFAULT_CONNECTION_LIMITS, headersTimeout_ms });
    const { port } = await listenOn(server, anyPort, listener);
    t.teardown(() => server.closeAllConnections());
    t.teardown(() => server.close());
    return { port, ...limiter };
  },
};

function createRateLimiter() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const pass = async () => {
    enter();
    await released;
  };
  return { release, entered, pass };
}

/** Sends exactly these bytes and returns what arrives until the other side closes. */
async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(bytes);
  let answer = "";
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

function bodyOf(answer: string): { error: { status: number; code: string; message: string } } {
  const [head = "", body = ""] = answer.split("\r\n\r\n", 2);
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  if (Number(length) !== Buffer.byteLength(body)) throw new Error(`the length is ${length}: ${answer}`);
  return JSON.parse(body) as ReturnType<typeof bodyOf>;
}

const UNREADABLE: readonly [string, string, number, string][] = [
  ["bytes that are no HTTP", "hello\r\n\r\n", 400, "bad_request"],
  ["the first bytes of TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "bad_request"],
  ["a blank in a header's name", "GET / HTTP/1.1\r\nHost: a\r\nbad header: 1\r\n\r\n", 400, "bad_request"],
  [
    "two lengths of one body",
    "POST /fast HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    400,
    "bad_request",
  ],
  [
    "a length and chunks",
    "POST /fast HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    400,
    "bad_request",
  ],
  ["headers without end", `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(200_000)}`, 431, "headers_too_large"],
  ["an address without end", `GET /${"x".repeat(200_000)}`, 431, "headers_too_large"],
  ["CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 405, "method_not_allowed"],
];

for (const [kind, start] of Object.entries(LISTENERS)) {
  for (const [what, bytes, status, code] of UNREADABLE) {
    test(`${kind}: ${what} is answered ${status} like any error`, async (t) => {
      const { port } = await start(t);
      const answer = await exchange(port, Buffer.from(bytes, "latin1"));
      t.regex(answer, new RegExp(`^HTTP/1.1 ${status} [A-Z]`));
      t.like(bodyOf(answer).error, { status, code });
      t.regex(bodyOf(answer).error.message, /^[A-Z]/);
      for (const header of [
        "Content-Type: application/json; charset=utf-8",
        "Cache-Control: no-cache, no-store",
        "Pragma: no-cache",
        "Expires: -1",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
      ]) {
        t.true(answer.includes(`\r\n${header}\r\n`), `${header} is missing: ${answer}`);
      }
    });
  }

  test(`${kind}: malformed bytes after a request wait for its response`, async (t) => {
    const { port, entered, release } = await start(t);
    const answer = exchange(port, "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nnonsense\r\n\r\n");
    await entered;
    release();
    t.regex(await answer, /^HTTP\/1\.1 200 OK.*"answered".*HTTP\/1\.1 400 Bad Request\r\n.*bad_request/s);
  });

  for (const what of ["CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n", "nonsense\r\n\r\n"]) {
    test(`${kind}: a client that disconnects while ${what.split(/\s/)[0]} is unanswered affects nobody`, async (t) => {
      const { port, entered, release } = await start(t);
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.write(`POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n${what}`);
      await entered;
      socket.resetAndDestroy();
      await exchange(port, "POST /fast HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      release();
      t.regex(
        await exchange(port, "POST /fast HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
        /200 OK/,
      );
    });
  }

  test(`${kind}: a body with malformed chunks is 400 for its own request`, async (t) => {
    const { port } = await start(t);
    const answer = await exchange(port, "POST /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab");
    t.regex(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
    t.is(bodyOf(answer).error.code, "bad_request");
  });

  test(`${kind}: a request with any Expect header is answered`, async (t) => {
    const { port } = await start(t);
    const headers = "Host: a\r\nExpect: wonders\r\nConnection: close\r\nContent-Length: 0";
    t.regex(await exchange(port, `POST /fast HTTP/1.1\r\n${headers}\r\n\r\n`), /^HTTP\/1\.1 200 .*"answered"/s);
  });
}

test("a request of HTTP/1.1 without Host is 400 like any error, one of HTTP/1.0 is answered", async (t) => {
  const { port } = await LISTENERS["api"]!(t);
  const answer = await exchange(port, "POST /fast HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  t.like(bodyOf(answer).error, { status: 400, code: "bad_request" });
  t.regex(await exchange(port, "POST /fast HTTP/1.0\r\nContent-Length: 0\r\n\r\n"), /^HTTP\/1\.1 200 .*"answered"/s);
});

test("a request whose headers do not arrive in time is 408", async (t) => {
  const { port } = await LISTENERS["posting"]!(t, 100);
  const answer = await exchange(port, "GET / HTTP/1.1\r\nHost: a\r\n");
  t.regex(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/);
  t.is(bodyOf(answer).error.code, "request_timeout");
});

test("a client that only disconnects gets no response", async (t) => {
  const { port } = await LISTENERS["posting"]!(t);
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.resetAndDestroy();
  t.regex(
    await exchange(port, "POST /fast HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
    /200 OK/,
  );
});

test("loading Restify does not change Node's responses", async (t) => {
  const { port } = await LISTENERS["posting"]!(t);
  t.is(ServerResponse.prototype.writeHead.name, "writeHead");
  t.regex(await exchange(port, "GET /fast HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), /200 OK.*"answered"/s);
});
