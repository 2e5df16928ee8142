import type { ExecutionContext } from "ava";
import test from "ava";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import pino from "pino";

import { StartError } from "../../src/errors.ts";
import { readBody } from "../../src/http/body.ts";
import { jsonPayload } from "../../src/http/formats.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../../src/http/limits/connection-limits.ts";
import type { Handler, Route } from "../../src/http/route.ts";
import { createHttpServer } from "../../src/http/server.ts";

const log = pino({ level: "silent" });
const listener = { name: "the test", setting: "TEST_ADDRESS" };

function text(value: string): Awaited<ReturnType<Handler>> {
  return { status: 200, body: { json: jsonPayload(value), xml: () => ({ root: "data", content: value }) } };
}

function route(method: Route["method"], path: string, handle: Handler): Route {
  return { method, path, formats: "all", handle };
}

async function start(t: ExecutionContext, routes: readonly Route[]) {
  const server = createHttpServer({
    routes,
    log,
    listener,
    limits: { ...DEFAULT_CONNECTION_LIMITS, drain_ms: 60_000 },
  });
  const { host, port } = await server.listen({ host: "127.0.0.1", port: 0 });
  t.teardown(() => server.close());
  return { server, host, port, url: `http://${host}:${port}` };
}

/**
 * Sends exactly these bytes and returns what arrives until the other side closes, or two responses
 * for `answers: 2`.
 */
async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(bytes);
  let answer = "";
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

/** Answers with the size of a body that arrives within `deadline_ms`. */
function echoWithin(deadline_ms: number): Route {
  return route("POST", "/1/body", async ({ request }) => {
    const gzip = request.url?.endsWith("gzip") ?? false;
    return text(String((await readBody(request, { limit_bytes: 1000, deadline_ms, gzip })).length));
  });
}
const echo = echoWithin(60_000);
const byName = route("GET", "/1/logs/:log", ({ params }) => Promise.resolve(text(`log ${params["log"]}`)));
const bookmarks = route("GET", "/1/logs/bookmarks", () => Promise.resolve(text("all bookmarks")));

test("every response has the headers against caching and content sniffing", async (t) => {
  const { url } = await start(t, [byName]);
  for (const path of ["/1/logs/shop", "/nothing", "/1/logs/shop?fmt=nothing"]) {
    const { headers } = await fetch(url + path);
    t.is(headers.get("Cache-Control"), "no-cache, no-store");
    t.is(headers.get("Pragma"), "no-cache");
    t.is(headers.get("Expires"), "-1");
    t.is(headers.get("X-Content-Type-Options"), "nosniff");
  }
});

test("a static path segment wins over a parameter; a trailing slash changes nothing", async (t) => {
  const { url } = await start(t, [byName, bookmarks]);
  t.is(await (await fetch(`${url}/1/logs/bookmarks`)).json(), "all bookmarks");
  t.is(await (await fetch(`${url}/1/logs/bookmarks/`)).json(), "all bookmarks");
  t.is(await (await fetch(`${url}/1/logs/caf%C3%A9`)).json(), "log café");
  t.is(await (await fetch(`${url}/1/logs/${"a".repeat(200)}`)).json(), `log ${"a".repeat(200)}`);
});

test("an unknown path is 404 in the requested format", async (t) => {
  const { url } = await start(t, [byName]);
  const response = await fetch(`${url}/2/logs?fmt=xml`);
  t.is(response.status, 404);
  t.is(response.headers.get("Content-Type"), "text/xml; charset=utf-8");
  t.regex(await response.text(), /<error><status>404<\/status><code>path_not_found<\/code>/);
});

test("an unsupported method is 405 with the supported ones, also if a path with a parameter has it", async (t) => {
  const { url } = await start(t, [
    byName,
    bookmarks,
    route("POST", "/1/logs/:log", () => Promise.resolve(text("posted"))),
  ]);
  const response = await fetch(`${url}/1/logs/bookmarks`, { method: "POST", body: "a=1" });
  t.is(response.status, 405);
  t.is(response.headers.get("Allow"), "GET, HEAD, OPTIONS");
  t.is(((await response.json()) as { error: { code: string } }).error.code, "method_not_allowed");
  const unknown = await fetch(`${url}/1/logs/bookmarks`, { method: "PROPFIND" });
  t.is(unknown.status, 405);
  t.truthy(unknown.headers.get("Allow"));
});

test("HEAD has the headers of GET and no body; OPTIONS lists the methods", async (t) => {
  const { url } = await start(t, [byName]);
  const head = await fetch(`${url}/1/logs/shop`, { method: "HEAD" });
  t.is(head.status, 200);
  t.is(head.headers.get("Content-Length"), String('"log shop"'.length));
  t.is(await head.text(), "");
  const options = await fetch(`${url}/1/logs/shop`, { method: "OPTIONS" });
  t.is(options.status, 204);
  t.is(options.headers.get("Allow"), "GET, HEAD, OPTIONS");
});

test("a handler that throws, at once or later, costs one 500 and nothing else", async (t) => {
  const { url } = await start(t, [
    byName,
    route("GET", "/now", () => {
      throw new Error("secret");
    }),
    route("GET", "/later", () => Promise.reject(new Error("secret"))),
    route("GET", "/unwritable", () =>
      Promise.resolve({ status: 200, body: { json: jsonPayload(1n), xml: () => ({ root: "a", content: "" }) } }),
    ),
  ]);
  for (const path of ["/now", "/later"]) {
    const response = await fetch(url + path);
    t.is(response.status, 500);
    t.notRegex(await response.text(), /secret/);
  }
  await t.throwsAsync(fetch(`${url}/unwritable`));
  t.is(await (await fetch(`${url}/1/logs/shop`)).json(), "log shop");
});

for (const bytes of [
  "GET //evil/x HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n",
  "GET * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
  "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
  "GET http://[::bad HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
  "GET /1/logs/%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
  "GET /1/logs/%00 HTTP/1.1\r\nHost: ]\r\nConnection: close\r\n\r\n",
  `GET /${"a/".repeat(5000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
]) {
  test(`${JSON.stringify(bytes.slice(0, 60))} is answered like any other request`, async (t) => {
    const { port, url } = await start(t, [byName]);
    t.regex(await exchange(port, bytes), /^HTTP\/1\.1 404 .*path_not_found/s);
    t.is((await fetch(`${url}/1/logs/shop`)).status, 200);
  });
}

test("a request for an upgrade is answered without one", async (t) => {
  const { port } = await start(t, [byName]);
  const headers = "Host: a\r\nConnection: Upgrade, close\r\nUpgrade: websocket";
  t.regex(await exchange(port, `GET /1/logs/shop HTTP/1.1\r\n${headers}\r\n\r\n`), /^HTTP\/1\.1 200 .*"log shop"$/s);
});

test("long responses are compressed as the client prefers, short ones never", async (t) => {
  const long = "x".repeat(5000);
  const { host, port } = await start(t, [byName, route("GET", "/long", () => Promise.resolve(text(long)))]);
  const get = async (path: string, accepted: string) => {
    const request = httpRequest({ host, port, path, headers: { "Accept-Encoding": accepted }, agent: false }).end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const body = Buffer.concat(await response.toArray());
    t.is(response.headers["content-length"], String(body.length));
    t.is(response.headers.vary, "Accept, Accept-Encoding");
    return { encoding: response.headers["content-encoding"], body };
  };
  const brotli = await get("/long", "gzip, br");
  t.is(brotli.encoding, "br");
  t.is(brotliDecompressSync(brotli.body).toString(), JSON.stringify(long));
  const zipped = await get("/long", "gzip, br;q=0.5");
  t.is(zipped.encoding, "gzip");
  t.is(gunzipSync(zipped.body).toString(), JSON.stringify(long));
  t.is((await get("/long", "gzip;q=0")).encoding, undefined);
  t.is((await get("/long", "identity")).encoding, undefined);
  t.is((await get("/1/logs/shop", "gzip, br")).encoding, undefined);
});

test("a body is read up to its limit; above it the response is 413 and the rest is discarded", async (t) => {
  const { url } = await start(t, [echo]);
  const send = (size: number) => fetch(`${url}/1/body`, { method: "POST", body: "x".repeat(size) });
  t.is(await (await send(1000)).json(), "1000");
  t.is((await send(1001)).status, 413);
  t.is((await send(10_000)).status, 413);
});

test("a body that never arrives is 400 after its deadline, and its connection is closed", async (t) => {
  const { port } = await start(t, [echoWithin(500)]);
  const answer = await exchange(port, "POST /1/body HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  t.regex(answer, /^HTTP\/1\.1 400 .*Connection: close.*bad_body/s);
});

test("the connection of an endless body is closed", async (t) => {
  const { port } = await start(t, [echo]);
  const chunk = `1000\r\n${"x".repeat(0x1000)}\r\n`;
  const answer = await exchange(
    port,
    `POST /1/body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(5)}`,
  );
  t.regex(answer, /^HTTP\/1\.1 413 .*Connection: close/s);
});

test("compressed bodies are accepted only where allowed, and the limit applies to their decompressed size", async (t) => {
  const { url } = await start(t, [echo]);
  const send = (path: string, body: Buffer, encoding = "gzip") =>
    fetch(url + path, { method: "POST", body: new Uint8Array(body), headers: { "Content-Encoding": encoding } });
  t.is((await send("/1/body", gzipSync("abc"))).status, 415);
  t.is(await (await send("/1/body?gzip", gzipSync("abc"))).json(), "3");
  t.is((await send("/1/body?gzip", gzipSync("x".repeat(100_000)))).status, 413);
  t.is((await send("/1/body?gzip", Buffer.from("no gzip"))).status, 400);
  t.is((await send("/1/body?gzip", Buffer.from("abc"), "br")).status, 415);
});

test("Expect: 100-continue is continued", async (t) => {
  const { port } = await start(t, [echo]);
  const headers = "Host: a\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3";
  const answer = await exchange(port, `POST /1/body HTTP/1.1\r\n${headers}\r\n\r\nabc`);
  t.regex(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 .*"3"$/s);
});

test("closing waits for the request in flight, closes its connection, and accepts no more", async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const slow = route("GET", "/slow", async () => {
    enter();
    await released;
    return text("done");
  });
  const { server, url } = await start(t, [slow]);
  const response = fetch(`${url}/slow`);
  await entered;
  const closed = server.close();
  await t.throwsAsync(fetch(`${url}/slow`));
  release();
  t.is((await response).headers.get("Connection"), "close");
  t.is(await (await response).json(), "done");
  await closed;
  await server.close();
});

test("a client that disconnects, before the response or within the body, affects nobody", async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const { promise: cut, resolve: resolveCut } = Promise.withResolvers<unknown>();
  const slow = route("GET", "/slow", async () => {
    enter();
    await released;
    return text("x".repeat(1_000_000));
  });
  const reading = route("POST", "/read", async ({ request }) => {
    enter();
    await readBody(request, { limit_bytes: 1000, deadline_ms: 60_000 }).catch(resolveCut);
    return text("nobody hears this");
  });
  const { port, url } = await start(t, [slow, reading]);
  const leaver = connect(port, "127.0.0.1");
  leaver.write("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  await entered;
  leaver.resetAndDestroy();
  const poster = connect(port, "127.0.0.1");
  poster.write("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
  const posted = await once(poster, "connect");
  t.deepEqual(posted, []);
  poster.end();
  t.is(((await cut) as { code?: string }).code, "bad_body");
  release();
  t.is((await fetch(`${url}/slow`)).status, 200);
});

test("an address that cannot be bound is reported in one line", async (t) => {
  const { port } = await start(t, []);
  for (const [address, reason] of [
    [{ host: "127.0.0.1", port }, "another process listens there"],
    [{ host: "203.0.113.9", port: 0 }, "not an address of this machine"],
    [{ host: "127.0.0.1", port: 70_000 }, "0 to 65535"],
  ] as const) {
    const server = createHttpServer({ routes: [], log, listener, limits: DEFAULT_CONNECTION_LIMITS });
    const error = await t.throwsAsync(server.listen(address), { instanceOf: StartError });
    t.true(error.message.startsWith(`the test can't listen on ${address.host}:${address.port}: `));
    t.true(error.message.includes(reason) && error.message.includes("TEST_ADDRESS"));
  }
});
