import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import type { Socket } from "node:net";
import test from "ava";

import type { LogKey } from "../../src/events/event.ts";
import { AUTHORIZATION, environmentOf, get, KEY, LOG, post, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { assertWell, shareService } from "../support/shared-service.ts";
import { until } from "../support/until.ts";
import { exchange, readResponse, open, statuses } from "./raw.ts";

let service: Service;
shareService((started) => (service = started));

const EVENTS = `/1/logs/${LOG}/events`;
const FORM = `apikey=${KEY}&text=hello`;

/** How many connections this process can hold at both ends, with a reserve for its other files. */
function affordable(): number {
  const limit = execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }).trim();
  const most = limit === "unlimited" ? 100_000 : Number(limit);
  return Math.min(10_000, Math.floor((most - 500) / 2));
}

test.serial("thousands of idle connections leave room for active clients", async (t) => {
  t.timeout(120_000);
  const count = affordable();
  t.log(`${count} idle connections, half of them at each address`);
  const sockets: Socket[] = [];
  const before = process.memoryUsage().rss;
  while (sockets.length < count) {
    const opened = await Promise.all(
      Array.from({ length: Math.min(200, count - sockets.length) }, (_, i) =>
        open(i % 2 === 0 ? service.post!.port : service.api!.port),
      ),
    );
    // Some send nothing, some start a request and stop there.
    for (const [i, socket] of opened.entries()) if (i % 4 > 1) socket.write("GET / HTTP/1.1\r\nHo");
    sockets.push(...opened);
  }
  await assertWell(t, service);
  const perConnection = (process.memoryUsage().rss - before) / count;
  t.true(perConnection < 64 * 1024, `${Math.round(perConnection / 1024)} KB for both ends of a connection`);
  for (const socket of sockets) socket.destroy();
  await assertWell(t, service);
});

test.serial("floods of headers are 431 or 400, in any form", async (t) => {
  const head = (rest: string) => `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\n${rest}\r\n\r\n`;
  for (const port of [service.post!.port, service.api!.port]) {
    for (const [bytes, expected] of [
      [head(`X: ${"x".repeat(200_000)}`), [431]],
      [head(Array.from({ length: 20_000 }, (_, i) => `X-${i}: ${i}`).join("\r\n")), [431]],
      [head(`Cookie: ${"a=1; ".repeat(40_000)}`), [431]],
      [`GET /${"x".repeat(200_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, [431, 414]],
      [head(`${"x".repeat(70_000)}: 1`), [431]],
      // Endless, and without a line break.
      [`POST ${EVENTS} HTTP/1.1\r\n${"X: y\r\n".repeat(100_000)}`, [431]],
      ["x".repeat(300_000), [400, 431]],
    ] as const) {
      const heard = await exchange(port, bytes);
      t.true(heard.closed, bytes.slice(0, 60));
      t.true(
        (expected as readonly number[]).includes(statuses(heard)[0] ?? 0),
        `${statuses(heard).join(" ")} for ${bytes.slice(0, 60)}`,
      );
      t.is(statuses(heard).length, 1);
    }
  }
  await assertWell(t, service);
});

const SMUGGLED = `GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n`;

/** Requests that two servers in a row may parse differently. */
const SHAPES: Readonly<Record<string, string>> = {
  "Content-Length and Transfer-Encoding": `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  "Transfer-Encoding and Content-Length": `Transfer-Encoding: chunked\r\nContent-Length: ${5 + SMUGGLED.length}\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  "two lengths that differ": `Content-Length: 3\r\nContent-Length: ${3 + SMUGGLED.length}\r\n\r\na=1${SMUGGLED}`,
  "two lengths in one header": `Content-Length: 3, ${3 + SMUGGLED.length}\r\n\r\na=1${SMUGGLED}`,
  "a length with a sign": `Content-Length: +3\r\n\r\na=1${SMUGGLED}`,
  "a negative length": `Content-Length: -3\r\n\r\na=1${SMUGGLED}`,
  "a length in hexadecimal": `Content-Length: 0x3\r\n\r\na=1${SMUGGLED}`,
  "a length beyond all numbers": `Content-Length: 99999999999999999999999\r\n\r\na=1${SMUGGLED}`,
  "a folded header": `X-One: 1\r\n Content-Length: 3\r\n\r\n${SMUGGLED}`,
  "a folded Transfer-Encoding": `Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  "a blank before the colon": `Content-Length : 3\r\n\r\na=1${SMUGGLED}`,
  "a Transfer-Encoding that is none": `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  "chunked, and then something else": `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  "chunked twice": `Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  "two Transfer-Encodings": `Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  "a vertical tab in Transfer-Encoding": `Transfer-Encoding: \u000bchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  "a line that ends with CR alone": `X: 1\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  "a size of a chunk that is none": `Transfer-Encoding: chunked\r\n\r\n0x3\r\na=1\r\n0\r\n\r\n${SMUGGLED}`,
  "a size of a chunk with a sign": `Transfer-Encoding: chunked\r\n\r\n+3\r\na=1\r\n0\r\n\r\n${SMUGGLED}`,
  "a size of a chunk beyond all numbers": `Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\na=1\r\n0\r\n\r\n${SMUGGLED}`,
  "a chunk that is longer than it says": `Transfer-Encoding: chunked\r\n\r\n1\r\na=1\r\n0\r\n\r\n${SMUGGLED}`,
  "a zero byte in a header": `X: a\u0000b\r\nContent-Length: 3\r\n\r\na=1${SMUGGLED}`,
};

for (const [what, rest] of Object.entries(SHAPES)) {
  test.serial(`an ambiguous request is refused as one: ${what}`, async (t) => {
    for (const port of [service.post!.port, service.api!.port]) {
      const heard = await exchange(port, `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\n${rest}`);
      t.true(heard.closed, "the connection ends");
      t.deepEqual(statuses(heard), [400], "and nothing behind it is answered");
      t.false(heard.text.includes("smuggled"));
    }
  });
}

test.serial("an ambiguous request is refused as one: chunks by HTTP/1.0", async (t) => {
  for (const port of [service.post!.port, service.api!.port]) {
    const rest = `Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`;
    const heard = await exchange(port, `POST ${EVENTS} HTTP/1.0\r\n${rest}`);
    t.deepEqual([statuses(heard), heard.closed], [[400], true]);
  }
});

test.serial("bytes after such a refused request are not handled either", async (t) => {
  // The pipeline keeps order, so everything posted before is counted once this event is listed.
  const listed = async (text: string): Promise<void> => {
    const { body } = await post(service, { text });
    await until(async () => (await get(service, `${EVENTS}/${body.id}`)).status === 200, { what: text });
  };
  await listed("before all of them");
  const before = (await get(service, EVENTS)).headers.get("X-Total-Count");
  const behind = `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${FORM.length}\r\n\r\n${FORM}`;
  const rest = `Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${behind}`;
  for (let i = 0; i < 10; i++) {
    await exchange(service.post!.port, `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\n${rest}`);
  }
  await listed("behind all of them");
  const after = (await get(service, EVENTS)).headers.get("X-Total-Count");
  t.is(Number(after), Number(before) + 1);
});

test.serial("the unsent rest of a refused request is not read as the next one", async (t) => {
  const body = `${SMUGGLED}${"x".repeat(1000)}`;
  for (const [port, path, headers] of [
    [service.post!.port, "/nowhere", ""],
    [service.post!.port, "/health/live", ""],
    [service.post!.port, "/metrics", ""],
    [service.api!.port, "/nowhere", ""],
    [service.api!.port, "/1/logs", ""],
    [service.api!.port, "/health/live", ""],
    [service.api!.port, "/openapi.json", ""],
    [service.api!.port, `/1/logs/${LOG}/events`, `Authorization: ${AUTHORIZATION}\r\n`],
  ] as const) {
    const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${body.length}\r\n\r\n`;
    const heard = await exchange(port, request + body, { quiet_ms: 3_000, until: /smuggled/ });
    t.is(statuses(heard).length, 1, `${path}: ${statuses(heard).join(" ")}`);
    t.false(heard.text.includes("smuggled"));
  }
  await assertWell(t, service);
});

test.serial("a client that requests and never reads uses bounded memory and affects nobody", async (t) => {
  t.timeout(60_000);
  for (let i = 0; i < 200; i++) await post(service, { text: "x".repeat(500), data: "y".repeat(5_000) });
  await until(async () => Number((await get(service, `/1/logs/${LOG}/events`)).headers.get("X-Total-Count")) >= 200, {
    what: "all events",
  });
  const before = process.memoryUsage().rss;
  const { secret } = await service.ports.catalog.createApiKey(LOG as LogKey, "read-only");
  const request = `GET /1/logs/${LOG}/events?pagesize=500&apikey=${secret} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const sockets = await Promise.all(Array.from({ length: 20 }, () => open(service.api!.port)));
  for (const socket of sockets) {
    socket.pause();
    socket.write(request.repeat(500));
  }
  await delay(3_000);
  const grown = process.memoryUsage().rss - before;
  t.true(grown < 300 * 1024 * 1024, `${Math.round(grown / 1024 / 1024)} MB`);
  await assertWell(t, service);
  for (const socket of sockets) socket.destroy();
  t.is((await fetch(service.postUrl + EVENTS, { method: "POST", body: FORM })).status, 201);
});

test("a client that closes its sending side still gets the response", async (t) => {
  const head = (line: string, ...headers: string[]) => [line, "Host: x", ...headers, "", ""].join("\r\n");
  const length = `Content-Length: ${FORM.length}`;
  const posts = [
    head(`POST ${EVENTS} HTTP/1.1`, length) + FORM,
    head(`POST ${EVENTS} HTTP/1.0`, length) + FORM,
    head(`POST ${EVENTS} HTTP/1.1`, length, "Connection: close") + FORM,
    head(`POST ${EVENTS} HTTP/1.1`, length, "Expect: 100-continue") + FORM,
    `${head(`POST ${EVENTS} HTTP/1.1`, "Transfer-Encoding: chunked")}${FORM.length.toString(16)}\r\n${FORM}\r\n0\r\n\r\n`,
    head(`GET ${EVENTS}?${FORM}&fmt=jsonp&callback=f HTTP/1.1`),
  ];
  const ended = async (port: number, bytes: string) => {
    const socket = await open(port, { allowHalfOpen: true });
    socket.end(bytes);
    return statuses(await readResponse(socket)).at(-1);
  };
  for (const bytes of posts) t.is(await ended(service.post!.port, bytes), 201, bytes);
  const list = head(`GET ${EVENTS} HTTP/1.1`, `Authorization: ${AUTHORIZATION}`);
  t.is(await ended(service.api!.port, list), 200);
  t.is(await ended(service.post!.port, posts[0]!.slice(0, -1)), 400, "half a request");
  t.is(await ended(service.post!.port, posts[1]!.slice(0, -1)), 400, "half a request of old");
  await assertWell(t, service);
});

test("a refused form counts once against the rates", async (t) => {
  const place = mkdtempSync(join(tmpdir(), "loggia-test-"));
  const strict = await startService({ ...environmentOf("embedded", place), LOGGIA_RATE_CALLER: "10" });
  t.teardown(async () => {
    await strict.close();
    rmSync(place, { recursive: true, force: true });
  });
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(strict, { text: "" })));
  // Twice the rate of a second may arrive at once.
  t.deepEqual(
    answers.map(({ status }) => status).filter((status) => status !== 400),
    [],
  );
});

test("a request with two Host headers is refused", async (t) => {
  const ports = [service.post!.port, service.api!.port];
  for (const port of ports) {
    const heard = await exchange(port, `GET ${EVENTS} HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n`);
    t.regex(heard.text, /^HTTP\/1\.1 400 [^]*The header Host occurs twice/);
  }
});
