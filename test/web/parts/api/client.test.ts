import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import test from "ava";
import type { ExecutionContext } from "ava";

import { apiAddress, ApiFault, createClient } from "../../../../src/web/parts/api/client.ts";
import { until } from "../../../support/until.ts";

/** Returns a client of a server that answers as the test says. */
async function clientOf(t: ExecutionContext, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let signedOut = 0;
  const client = createClient({
    fetch: (path, options) => fetch(`${base}${path as string}`, options),
    onSignedOut: () => (signedOut += 1),
  });
  return { client, signedOut: () => signedOut };
}

test("a request has the page's header, and its response is read", async (t) => {
  const { client } = await clientOf(t, ({ headers, url, method }, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ header: headers["x-loggia"], url, method, type: headers["content-type"] }));
  });
  const { body } = await client.request("/1/x", {
    method: "POST",
    json: { a: 1 },
    query: { q: "a b&c", none: undefined },
  });
  t.deepEqual(body, { header: "1", url: "/1/x?q=a+b%26c", method: "POST", type: "application/json" });
});

test("an error of the service has its message, code and time to retry", async (t) => {
  const { client } = await clientOf(t, (_, response) => {
    response.writeHead(429, { "Retry-After": "7" });
    response.end(JSON.stringify({ error: { status: 429, code: "too_many", message: "Too many queries" } }));
  });
  const fault = await t.throwsAsync(client.request("/1/x"), { instanceOf: ApiFault, message: "Too many queries" });
  t.like(fault, { status: 429, code: "too_many", retryAfter_s: 7 });
});

test("an error of a proxy is distinguished from one of the service, and from no response", async (t) => {
  const { client } = await clientOf(t, ({ url, socket }, response) => {
    if (url === "/cut") socket.destroy();
    else response.writeHead(502).end("<html>");
  });
  t.like(await t.throwsAsync(client.request("/1/x")), { status: 502, code: "unknown" });
  t.like(await t.throwsAsync(client.request("/cut")), { status: 0, code: "unreachable" });
});

test("an expired session is reported, except by the request for the session", async (t) => {
  const { client, signedOut } = await clientOf(t, (_, response) => response.writeHead(401).end("{}"));
  await t.throwsAsync(client.request("/1/session"));
  t.is(signedOut(), 0);
  await t.throwsAsync(client.request("/1/logs"));
  t.is(signedOut(), 1);
});

test("at most four requests run at once, the newest waiting one is next, and an aborted one never starts", async (t) => {
  const begun: string[] = [];
  const held: ServerResponse[] = [];
  const { client } = await clientOf(t, ({ url }, response) => {
    begun.push(url!);
    held.push(response);
  });
  const abort = new AbortController();
  const asked = ["/0", "/1", "/2", "/3", "/4", "/5"].map((path) => client.request(path));
  const aborted = client.request("/6", { signal: abort.signal });
  await until(() => begun.length === 4, { what: "four requests" });
  abort.abort();
  held.shift()!.end("null");
  await t.throwsAsync(aborted, { name: "AbortError" });
  await until(() => begun.length === 5, { what: "the next request" });
  t.is(begun[4], "/5");
  while (held.length > 0 || begun.length < 6) {
    held.shift()?.end("null");
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(asked);
  t.deepEqual(begun.toSorted(), ["/0", "/1", "/2", "/3", "/4", "/5"]);
});

test("undefined parameters are left out of an address", (t) => {
  t.is(apiAddress("/x", { a: undefined }), "/x");
  t.is(apiAddress("/x", { a: false, b: 0 }), "/x?a=false&b=0");
});

test("a truncated or foreign response is an error", async (t) => {
  const { client } = await clientOf(t, ({ url, socket }, response) => {
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" });
    if (url === "/cut") response.write('{"a":', () => socket.destroy());
    else response.end("<html>Sign in to the Wi-Fi first</html>".padEnd(100));
  });
  for (const path of ["/cut", "/portal"])
    t.like(
      await t.throwsAsync(client.request(path), { instanceOf: ApiFault }),
      { status: 0, code: "unreachable" },
      path,
    );
});
