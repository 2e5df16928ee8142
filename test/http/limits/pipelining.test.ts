import test from "ava";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ExecutionContext } from "ava";

import { limitPipelining } from "../../../src/http/limits/pipelining.ts";
import { exchange, open } from "../../security/raw.ts";
import { until } from "../../support/until.ts";

const GET = (path: string, last = false) =>
  `GET /${path} HTTP/1.1\r\nHost: x\r\n${last ? "Connection: close\r\n" : ""}\r\n`;

/**
 * Starts a listener that answers with the requested path, padded to the given size, and records the
 * requests that it handles.
 */
async function start(t: ExecutionContext, size_bytes = 1) {
  const handled: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    handled.push(url);
    setImmediate(() => response.end(`[${url}]`.padEnd(size_bytes)));
  });
  limitPipelining(server, 8);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, handled };
}

test("all pipelined requests are answered in order", async (t) => {
  const { port } = await start(t);
  const paths = Array.from({ length: 100 }, (_, i) => String(i));
  const { text, closed } = await exchange(port, paths.map((path) => GET(path, path === "99")).join(""));
  t.true(closed);
  t.deepEqual(
    [...text.matchAll(/\[\/(\d+)\]/g)].map(([, path]) => path),
    paths,
  );
});

test("only a few requests with unread responses are handled per connection", async (t) => {
  const { port, handled } = await start(t, 8 * 1024 * 1024);
  const socket = await open(port);
  t.teardown(() => socket.destroy());
  socket.pause();
  socket.write(Array.from({ length: 200 }, (_, i) => GET(String(i))).join(""));
  await until(() => Promise.resolve(handled.length > 0), { what: "the first" });
  // Another client is answered meanwhile, so there was time to handle more.
  for (let i = 0; i < 5; i++) t.regex((await exchange(port, GET("other", true))).text, /^HTTP\/1\.1 200 /);
  t.true(handled.filter((url) => url !== "/other").length <= 9, handled.join(" "));
});

test("other clients are answered between a thousand requests that arrive in one piece", async (t) => {
  const { port, handled } = await start(t);
  const requests = Array.from({ length: 1_000 }, (_, i) => GET(String(i), i === 999)).join("");
  const ahead = exchange(port, requests);
  await until(() => Promise.resolve(handled.length > 0), { what: "the first", interval_ms: 1 });
  await exchange(port, GET("other", true));
  const place = handled.indexOf("/other");
  t.true(place < 900, `behind ${place} requests`);
  const { text, closed } = await ahead;
  t.true(closed);
  t.deepEqual(
    [...text.matchAll(/\[\/(\d+)\]/g)].map(([, path]) => Number(path)),
    Array.from({ length: 1_000 }, (_, i) => i),
  );
});
