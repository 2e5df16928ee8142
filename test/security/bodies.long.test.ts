import { gzipSync } from "node:zlib";
import { setTimeout as delay } from "node:timers/promises";
import type { Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import test from "ava";

import type { LogKey } from "../../src/events/event.ts";

import { ADMIN, AUTHORIZATION, get, KEY, LOG } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { assertWell, shareService } from "../support/shared-service.ts";
import { bestOf_ms } from "../support/turns.ts";
import { until } from "../support/until.ts";
import { exchange, readResponse, open, statuses } from "./raw.ts";

/** One service for all tests, so that an attack's remains would affect the next one. */
let service: Service;
shareService((started) => (service = started));

const ports = () => ({ post: service.post!.port, api: service.api!.port });
const EVENTS = `/1/logs/${LOG}/events`;

function request(path: string, headers: Record<string, string>, body: string | Buffer, method = "POST"): Buffer {
  const lines = Object.entries({ Host: "localhost", ...headers }).map(([name, value]) => `${name}: ${value}`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`), Buffer.from(body)]);
}

const MB = 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Returns the memory still referenced, without uncollected garbage. */
function keptBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test.serial("bodies that are too large, announced or chunked, are 413 and are not kept", async (t) => {
  const before = keptBytes();
  let largest = before;
  for (const [port, path, headers] of [
    [ports().post, EVENTS, { "X-API-Key": KEY }],
    [ports().post, EVENTS, { "X-API-Key": KEY, "Content-Type": "application/json" }],
    [ports().api, "/1/logs", { Authorization: AUTHORIZATION }],
    [ports().api, "/manage/1/accounts", { Authorization: AUTHORIZATION, "Content-Type": "application/json" }],
  ] as const) {
    const announced = await exchange(port, request(path, { ...headers, "Content-Length": String(10 ** 12) }, "x=1"));
    t.deepEqual([statuses(announced), announced.closed], [[413], true], path);
    const socket = await open(port);
    socket.write(request(path, { ...headers, "Transfer-Encoding": "chunked" }, ""));
    const heard = readResponse(socket);
    const chunk = Buffer.concat([Buffer.from(`${MB.toString(16)}\r\n`), Buffer.alloc(MB, "["), Buffer.from("\r\n")]);
    // Endless, until the other side stops reading.
    for (let sent = 1; !socket.destroyed && socket.writable; sent += 1) {
      if (!socket.write(chunk)) await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), heard]);
      if (sent % 8 === 0) largest = Math.max(largest, keptBytes());
    }
    t.deepEqual([statuses(await heard).at(-1), (await heard).closed], [413, true], path);
  }
  t.true(largest - before < 80 * MB, `memory stays bounded: ${largest - before} bytes more`);
  // Closed connections release their memory some turns later.
  await until(() => keptBytes() - before < 50 * MB, { what: "memory to be as before" });
  await assertWell(t, service);
});

test.serial("a form of very many pairs is refused before it is parsed", async (t) => {
  const bodies = [
    "a&".repeat(600_000),
    "a&".repeat(65_000),
    "a=1&".repeat(32_000),
    "&".repeat(130_000),
    "=&".repeat(65_000),
  ];
  for (const body of bodies) {
    const best_ms = await bestOf_ms(1_000, async () => {
      for (const headers of [{}, { "Content-Type": "application/json", "X-API-Key": KEY }]) {
        const answer = await fetch(service.postUrl + EVENTS, { method: "POST", headers, body });
        t.is(answer.status, 413);
      }
    });
    t.true(best_ms < 1_000, `${Math.round(best_ms)} ms`);
  }
  const answer = await fetch(`${service.apiUrl}/1/logs`, {
    method: "POST",
    headers: { Authorization: AUTHORIZATION },
    body: "a&".repeat(32_000),
  });
  t.is(answer.status, 400);
  const query = await fetch(`${service.apiUrl}/1/logs?${"a&".repeat(15_000)}`, {
    headers: { Authorization: AUTHORIZATION },
  });
  t.is(query.status, 200);
  await assertWell(t, service);
});

test.serial("a body that decompresses beyond the limit is 413, a malformed one is 400", async (t) => {
  const bomb = gzipSync(Buffer.alloc(400 * MB, " "));
  t.true(bomb.length < MB);
  const twice = gzipSync(bomb);
  const whole = gzipSync(JSON.stringify([{ text: "hello" }]));
  const bodies: readonly [Buffer, number, string][] = [
    [bomb, 413, "a bomb"],
    [twice, 413, "a bomb in a bomb"],
    [whole.subarray(0, whole.length - 6), 400, "one that is cut off"],
    [Buffer.concat([whole.subarray(0, 12), Buffer.alloc(8, 255), whole.subarray(20)]), 400, "one with wrong bytes"],
    [Buffer.concat([whole.subarray(0, whole.length - 8), Buffer.alloc(8)]), 400, "one whose sum is wrong"],
    [Buffer.from("[]"), 400, "one that is none"],
    [Buffer.concat(Array.from({ length: 20_000 }, () => gzipSync(""))), 400, "many empty ones behind each other"],
  ];
  const before = process.memoryUsage().rss;
  for (const [body, status, what] of bodies) {
    const answer = await fetch(service.postUrl + EVENTS, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Content-Encoding": "gzip", "X-API-Key": KEY },
      body,
    });
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    t.is(answer.status, status, `${what}: ${error.message}`);
    // Addresses without batches accept no compressed body at all.
    for (const url of [service.postUrl + EVENTS, `${service.apiUrl}/1/logs`]) {
      const headers = { "Content-Encoding": "gzip", Authorization: AUTHORIZATION };
      t.is((await fetch(url, { method: "POST", headers, body })).status, 415, what);
    }
  }
  t.true(process.memoryUsage().rss - before < 250 * MB, "memory stays bounded");
  for (const encoding of ["br", "deflate", "gzip, gzip", "x".repeat(1000)]) {
    const headers = { "Content-Type": "application/json", "Content-Encoding": encoding, "X-API-Key": KEY };
    t.is((await fetch(service.postUrl + EVENTS, { method: "POST", headers, body: bomb })).status, 415, encoding);
  }
  await assertWell(t, service);
});

test.serial("JSON with a depth, width or numbers that break parsers is answered", async (t) => {
  const deep = 200_000;
  for (const body of [
    "[".repeat(deep),
    `${"[".repeat(deep)}${"]".repeat(deep)}`,
    `{"text":${'{"a":'.repeat(deep)}1${"}".repeat(deep)}}`,
    `[${"{},".repeat(100_000)}{}]`,
    `{"value":1e999999}`,
    `{"value":${"9".repeat(100_000)}}`,
    `{"text":"\\ud800"}`,
    `[{"__proto__":{"text":"x"}}]`,
    "\u0000",
  ]) {
    const headers = { "Content-Type": "application/json", "X-API-Key": KEY };
    const batch = await fetch(service.postUrl + EVENTS, { method: "POST", headers, body });
    t.true(batch.status < 500, `${batch.status} for ${body.slice(0, 40)}`);
    const account = await fetch(`${service.apiUrl}/manage/1/accounts`, {
      method: "POST",
      headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
      body: body.slice(0, 60_000),
    });
    t.is(account.status, 400, body.slice(0, 40));
  }
  await assertWell(t, service);
});

test.serial("a client that sends a byte now and then is disconnected, at both addresses", async (t) => {
  t.timeout(180_000);
  for (const [port, path] of [
    [ports().post, EVENTS],
    [ports().api, "/1/logs"],
  ] as const) {
    const socket = await open(port);
    socket.write(request(path, { Authorization: AUTHORIZATION, "Content-Length": "1000" }, ""));
    const heard = readResponse(socket);
    let drops = 0;
    const drip = setInterval(() => {
      socket.write("x");
      drops += 1;
    }, 200);
    const { closed } = await heard;
    clearInterval(drip);
    // As many as fall in 20 s.
    t.true(closed && drops < 100, `${path} ended after ${drops} bytes`);
    t.deepEqual(statuses(await heard), [400]);
  }
  await assertWell(t, service);
});

/** Opens announced batches that arrive byte by byte. */
async function slowBatches(count: number, key: string): Promise<Socket[]> {
  const sockets = await Promise.all(Array.from({ length: count }, () => open(ports().post)));
  for (const socket of sockets) {
    const headers = { "X-API-Key": key, "Content-Type": "application/json", "Content-Length": "4000000" };
    socket.write(request(EVENTS, headers, "["));
  }
  return sockets;
}

async function postBatch(
  log: string,
  key: string,
  event: object = { text: "beside them" },
  signal: AbortSignal | null = null,
): Promise<number> {
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  const body = JSON.stringify([event]);
  const { status } = await fetch(`${service.postUrl}/1/logs/${log}/events`, { method: "POST", headers, body, signal });
  return status;
}

test.serial("slow batches leave room for those of others, also without a valid key", async (t) => {
  const { catalog } = service.ports;
  const owner = (await catalog.authenticate(ADMIN.email, ADMIN.password))!.id;
  const second = await catalog.createLog({ key: "second" as LogKey, display: "Second", owner });
  const bob = await catalog.createAccount({ email: "bob@example.org", password: "battery staple", admin: false });
  const { apiKey } = await catalog.createLog({ key: "other" as LogKey, display: "Other", owner: bob.id });
  const { secret } = apiKey;
  const waiting = async (): Promise<number> => {
    const metrics = await (await fetch(`${service.apiUrl}/metrics`)).text();
    return Number(/^loggia_posts_waiting (\d+)/m.exec(metrics)?.[1]);
  };

  // A key of another log is as wrong as any, but not a guess, which would be refused earlier.
  const strangers = await slowBatches(140, secret);
  await until(async () => (await waiting()) >= 140, { what: "all of them" });
  t.deepEqual([await postBatch("other", secret), await postBatch(LOG, KEY)], [201, 201]);
  for (const socket of strangers) socket.destroy();
  await until(async () => (await waiting()) === 0, { what: "the end of theirs" });

  const own = await slowBatches(140, KEY);
  await until(async () => (await waiting()) >= 140, { what: "all of one's own" });
  const statuses = [await postBatch(LOG, KEY), await postBatch("second", second.apiKey.secret)];
  t.deepEqual(statuses, [201, 201], "small batches never wait for large ones, also those of the same person");
  const large = { text: "x".repeat(100_000) };
  t.is(await postBatch("other", secret, large), 201, "large ones do not wait for those of others");
  const timeout = AbortSignal.timeout(2_000);
  await t.throwsAsync(postBatch(LOG, KEY, large, timeout), undefined, "one's own wait for room");
  for (const socket of own) socket.destroy();
  t.is(await postBatch(LOG, KEY, large), 201);
});

test.serial("requests that end at any point leave nothing behind", async (t) => {
  const whole = request(EVENTS, { "Content-Length": "52" }, `apikey=${KEY}&text=half+a+request`.padEnd(52, "."));
  const api = request("/1/logs", { Authorization: AUTHORIZATION, "Content-Length": "20" }, "key=half&display=half");
  for (const [port, bytes] of [
    [ports().post, whole],
    [ports().api, api],
  ] as const) {
    for (let end = 1; end < bytes.length - 1; end += 5) {
      const socket = await open(port);
      socket.write(bytes.subarray(0, end));
      // Some reset the connection, some close it properly.
      await delay(1);
      if (end % 2 === 0) socket.resetAndDestroy();
      else socket.end();
      socket.resume();
    }
  }
  await assertWell(t, service);
  const connections = (server: "api" | "post") =>
    fetch(`${server === "api" ? service.apiUrl : service.postUrl}/metrics`).then(async (answer) => {
      const text = await answer.text();
      return Number(/^loggia_posts_waiting (\d+)$/m.exec(text)?.[1]);
    });
  await until(async () => (await connections("post")) === 0, { what: "no post to wait any more" });
  const found = await get(service, `/1/logs/${LOG}/events?text=half`);
  t.is(found.headers.get("X-Total-Count"), "0", "half an event is none");
});
