import test from "ava";
import type { Socket } from "node:net";

import { AUTHORIZATION, environmentOf, KEY, LOG, startService, STOPPED } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { shareService } from "../support/shared-service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { readResponse, open, statuses } from "./raw.ts";
import type { RawResponse } from "./raw.ts";

let service: Service;
shareService((started) => (service = started));

const EVENTS = `/1/logs/${LOG}/events`;
const MB = 1024 * 1024;

function batch(text: string, headers: Readonly<Record<string, string | number>> = {}): string {
  const body = JSON.stringify([{ text }]);
  const given = { "Content-Length": body.length, ...headers };
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\nContent-Type: application/json\r\n${lines.join("")}\r\n${body}`;
}

/** Returns this many valid batches, one after the other. */
const batches = (count: number): string => Array.from({ length: count }, (_, i) => batch(`event ${i}`)).join("");

/** Sends the bytes, keeps sending more while the other side accepts it, and reads all responses. */
async function converse(port: number, bytes: string, more: Buffer | null = null): Promise<RawResponse> {
  const socket = await open(port);
  const heard = readResponse(socket);
  socket.write(bytes);
  if (more !== null) await flood(socket, more, heard);
  return await heard;
}

async function flood(socket: Socket, more: Buffer, heard: Promise<RawResponse>): Promise<void> {
  while (socket.writable) {
    if (!socket.write(more)) await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), heard]);
  }
}

/** Returns the statuses in order, with runs of the same one merged: `201x20 429`. */
function runs(heard: RawResponse): string {
  const all = statuses(heard);
  const starts = all.flatMap((status, i) => (status === all[i - 1] ? [] : [i]));
  return starts
    .map((start, n) => {
      const count = (starts[n + 1] ?? all.length) - start;
      return count === 1 ? `${all[start]}` : `${all[start]}x${count}`;
    })
    .join(" ");
}

test.serial("the refusal of a batch that is still being sent follows the responses to earlier batches", async (t) => {
  const environment = environmentOf("embedded", temporaryFolder(t));
  const strict = await startService({ ...environment, LOGGIA_RATE_ADDRESS: "20" }, STOPPED);
  t.teardown(() => strict.close());
  // Some of these exceed the rate.
  const last = batch("refused", { "Content-Length": 4_000 * MB });
  const heard = await converse(strict.post!.port, batches(60) + last, Buffer.alloc(MB, " "));
  t.regex(runs(heard), /^201x\d\d (?:429|413)$/);
  t.true(heard.closed);
});

const LAST: Readonly<Record<string, { readonly bytes: string; readonly status: number; readonly more?: Buffer }>> = {
  "what is no HTTP": { bytes: "nonsense\r\n\r\n", status: 400 },
  "what is no HTTP, and goes on": { bytes: "nonsense\r\n\r\n", status: 400, more: Buffer.alloc(MB, "x") },
  "a body that is too large": {
    bytes: batch("", { "Content-Length": 4_000 * MB }),
    status: 413,
    more: Buffer.alloc(MB, " "),
  },
  "a chunk that is none": {
    bytes: `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
    status: 400,
  },
  "a request that could be two": {
    bytes: `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n${batches(5)}`,
    status: 400,
  },
  "headers without end": { bytes: `GET / HTTP/1.1\r\nX: ${"x".repeat(100_000)}`, status: 431 },
  CONNECT: { bytes: "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", status: 405 },
  "a question for health with a body": {
    bytes: `GET /health/live HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab${batches(5)}`,
    status: 200,
  },
};

for (const [what, { bytes, status, more }] of Object.entries(LAST)) {
  test.serial(`all responses to batches are written before the last one, to ${what}`, async (t) => {
    for (const count of [1, 2, 20]) {
      const heard = await converse(service.post!.port, batches(count) + bytes, more);
      t.is(runs(heard), count === 1 ? `201 ${status}` : `201x${count} ${status}`);
      t.true(heard.closed);
    }
  });
}

test.serial("a request after a client's last one is not answered, and affects no earlier response", async (t) => {
  const heard = await converse(service.post!.port, batches(10) + batch("last", { Connection: "close" }) + batches(5));
  t.is(runs(heard), "201x11");
});

test.serial("a batch refused before its body is read leaves the connection to the batches after it", async (t) => {
  const socket = await open(service.post!.port);
  const heard = readResponse(socket, { until: /HTTP\/1\.1 401 [^]*(?:HTTP\/1\.1 \d+[^]*){2}/ });
  const large = JSON.stringify([{ text: "x", data: "y".repeat(3_000) }]).replace("]", `${" ".repeat(MB)}]`);
  const refused = batch("").replace(/Content-Length: \d+[^]*$/, `Content-Length: ${large.length}\r\n\r\n${large}`);
  socket.write(refused.replaceAll(KEY, "wrong-key-of-a-log"));
  socket.write(batches(1));
  socket.write(
    `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${KEY.length + 14}\r\n\r\napikey=${KEY}&text=f`,
  );
  t.deepEqual(statuses(await heard), [401, 201, 201]);
});

test.serial("on the API, completed requests are answered before the refusal after them", async (t) => {
  const get = `GET ${EVENTS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`;
  t.is(runs(await converse(service.api!.port, `${get.repeat(20)}nonsense\r\n\r\n`)), "200x20 400");
  const large = `POST /1/logs HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${AUTHORIZATION}\r\nContent-Length: ${4_000 * MB}\r\n\r\n`;
  t.is(runs(await converse(service.api!.port, get.repeat(20) + large, Buffer.alloc(MB, "x"))), "200x20 413");
});
