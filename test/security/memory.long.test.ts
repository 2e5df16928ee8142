import test from "ava";
import type { ExecutionContext } from "ava";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync, zstdCompressSync } from "node:zlib";

import { killAfterExit } from "../../infra/engines/guard.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;
const MB = 1024 * 1024;
const MEMORY_MB = 512;
/** What `src/ingest/kit/ingest-memory.ts` adds up to. */
const BODIES_MB = 272 + 16 + (136 + 8) + (64 + 8) + (64 + 8);
/** Garbage that is not collected yet, with a margin for busy machines. */
const GARBAGE_MB = 448;
/** What a process keeps beside its own memory once the attack is over. */
const KEPT_MB = 250;
const ATTACK_MS = 30_000;

type Target = { readonly pid: number; readonly ports: Readonly<Record<string, number>> };

/** Starts the service as an operator does, with all limits as they are by default. */
async function startProcess(t: ExecutionContext): Promise<Target> {
  const child = spawn(process.execPath, [LOGGIA, "start"], {
    env: {
      ...process.env,
      ...environmentOf("embedded", temporaryFolder(t)),
      LOGGIA_MEMORY: `${MEMORY_MB}MB`,
      LOGGIA_LINES: `tcp://127.0.0.1:0/${LOG}`,
      LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}`,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  killAfterExit(child);
  t.teardown(async () => {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ports: Record<string, number> = {};
  for (const name of ["API", "posting", "lines", "forward"]) {
    const address = new RegExp(`^${name} +\\w+://[\\d.]+:(\\d+)`, "m");
    const port = await until(() => address.exec(said)?.[1], { what: `the address of ${name}` });
    ports[name] = Number(port);
  }
  return { pid: child.pid!, ports };
}

/** Clients that send or read as they like, until they are stopped. */
class Attack {
  readonly #sockets = new Set<Socket>();
  readonly #port: number;
  isOver = false;

  constructor(port: number) {
    this.#port = port;
  }

  stop(): void {
    this.isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Keeps connections open, each from one of several addresses, and opens another for each that ends. */
  keep(count: number, use: (socket: Socket) => void, addresses = 1): this {
    for (let n = 0; n < count; n++) this.#open(use, `127.0.0.${2 + (n % addresses)}`);
    return this;
  }

  #open(use: (socket: Socket) => void, localAddress: string): void {
    if (this.isOver) return;
    const socket = connect({ port: this.#port, host: "127.0.0.1", localAddress });
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.once("connect", () => use(socket));
    socket.once("close", () => {
      this.#sockets.delete(socket);
      setTimeout(() => this.#open(use, localAddress), 100);
    });
  }
}

/** Writes the same bytes over and over, as fast as they are taken. */
function writeEndlessly(socket: Socket, head: string | Buffer, piece: Buffer, most_bytes = Infinity): void {
  socket.resume();
  socket.write(head);
  let sent_bytes = 0;
  const write = (): void => {
    while (!socket.destroyed && sent_bytes < most_bytes) {
      sent_bytes += piece.length;
      if (socket.write(piece)) continue;
      socket.once("drain", write);
      return;
    }
  };
  write();
}

const headOf = (path: string, headers: Record<string, string>, method = "POST"): string =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;

const EVENTS = `/1/logs/${LOG}/events`;
const JSON_HEADERS = { "X-API-Key": KEY, "Content-Type": "application/json" };
const CHUNK = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(64 * 1024, " "), Buffer.from("\r\n")]);
/** A message of Fluent forward whose entries, a binary of 60 MB, never end. */
const FORWARD_HEAD = Buffer.from([0x92, 0xa1, 0x74, 0xc6, 0x03, 0x93, 0x87, 0x00]);

/** Returns whole requests of one client, each when the previous one is answered. */
function repeatedly(request: Buffer): (socket: Socket) => void {
  return (socket) => {
    socket.write(request);
    socket.on("data", () => socket.write(request));
  };
}

function attacksOn({ ports }: Target): Attack[] {
  const post = (): Attack => new Attack(ports["posting"]!);
  const packed = (path: string, encoding: string, bytes: Buffer): Buffer => {
    const headers = { ...JSON_HEADERS, "Content-Encoding": encoding, "Content-Length": String(bytes.length) };
    return Buffer.concat([Buffer.from(headOf(path, headers)), bytes]);
  };
  const hook = `/1/logs/${LOG}/hooks/json`;
  const large = Buffer.from(JSON.stringify({ message: "x".repeat(7.9 * MB) }));
  const batch = Buffer.from(JSON.stringify([{ text: "x".repeat(4.9 * MB) }]));
  const chunked = { "Transfer-Encoding": "chunked" };
  const unsigned = {
    ...chunked,
    "X-Hub-Signature-256": `sha256=${"0".repeat(64)}`,
    "Content-Type": "application/json",
  };
  const person = { Authorization: AUTHORIZATION };
  const unread = headOf(`${EVENTS}?pagesize=500`, person, "GET").repeat(4);
  return [
    post().keep(60, repeatedly(packed(hook, "gzip", gzipSync(large)))),
    post().keep(60, repeatedly(packed(hook, "zstd", zstdCompressSync(large)))),
    post().keep(60, repeatedly(packed(EVENTS, "gzip", gzipSync(batch)))),
    post().keep(40, (socket) => writeEndlessly(socket, headOf(hook, { ...JSON_HEADERS, ...chunked }), CHUNK)),
    post().keep(40, (socket) => writeEndlessly(socket, headOf(EVENTS, { ...JSON_HEADERS, ...chunked }), CHUNK)),
    post().keep(60, (socket) => writeEndlessly(socket, headOf(`/1/logs/${LOG}/hooks/github`, unsigned), CHUNK), 4),
    new Attack(ports["lines"]!).keep(400, (socket) => writeEndlessly(socket, "x", Buffer.alloc(MB - 2, "x"), 1), 4),
    new Attack(ports["forward"]!).keep(
      40,
      (socket) => writeEndlessly(socket, FORWARD_HEAD, Buffer.alloc(MB), 59 * MB),
      4,
    ),
    new Attack(ports["API"]!).keep(40, (socket) => socket.pause().write(unread)),
    new Attack(ports["API"]!).keep(12, (socket) => {
      socket.pause().write(headOf(`/1/logs/${LOG}/export`, person, "GET"));
      const timer = setInterval(() => socket.read(Math.min(socket.readableLength, 100)), 1_000);
      socket.once("close", () => clearInterval(timer));
    }),
  ];
}

test("whatever many clients send and leave unread at once, memory stays within its bounds", async (t) => {
  // Other systems do not report the memory of a process.
  if (process.platform !== "linux") return t.pass();
  t.timeout(300_000);
  const target = await startProcess(t);
  const { pid, ports } = target;
  const memory_mb = (name: "VmHWM" | "VmRSS"): number =>
    Math.round(
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024,
    );
  const [api, posting] = [`http://127.0.0.1:${ports["API"]}`, `http://127.0.0.1:${ports["posting"]}`];
  const call = async (path: string, body: object, Authorization = AUTHORIZATION): Promise<Record<string, string>> => {
    const headers = { Authorization, "Content-Type": "application/json" };
    const answer = await fetch(api + path, { method: "POST", headers, body: JSON.stringify(body) });
    t.true(answer.ok, `${path} ${answer.status}`);
    return (await answer.json()) as Record<string, string>;
  };
  await call(`/manage/1/logs/${LOG}/hooks`, { name: "github", signature: "github" });
  const email = "bob@example.org";
  await call("/manage/1/accounts", { email, password: "battery staple", admin: false });
  const bobs = `Basic ${Buffer.from(`${email}:battery staple`).toString("base64")}`;
  const form = new URLSearchParams({ key: "bobs", display: "Bob's" });
  const created = await fetch(`${api}/1/logs`, { method: "POST", headers: { Authorization: bobs }, body: form });
  t.is(created.status, 201);
  const { key: apikey } = await call("/manage/1/logs/bobs/apiKeys", { scope: "read-write" }, bobs);
  const postSmall = async (): Promise<number> => {
    const body = new URLSearchParams({ apikey: apikey!, text: "meanwhile" });
    const { status } = await fetch(`${posting}/1/logs/bobs/events`, { method: "POST", body });
    return status;
  };
  const filled = Array.from({ length: 5_000 }, (_, i) => ({ text: `${i} ${"é".repeat(400)}` }));
  for (let n = 0; n < 4; n++) {
    const answer = await fetch(posting + EVENTS, {
      method: "POST",
      headers: JSON_HEADERS,
      body: JSON.stringify(filled),
    });
    t.is(answer.status, 201);
  }
  await until(async () => (await postSmall()) === 201, { what: "a post before" });
  const before_mb = memory_mb("VmRSS");

  const attacks = attacksOn(target);
  const end_ms = performance.now() + ATTACK_MS;
  const times_ms: number[] = [];
  while (performance.now() < end_ms) {
    const start_ms = performance.now();
    t.is(await postSmall(), 201, "a small post of another tenant");
    times_ms.push(performance.now() - start_ms);
    await sleep(200);
  }
  for (const attack of attacks) attack.stop();
  const highest_mb = memory_mb("VmHWM");
  t.true(highest_mb <= MEMORY_MB + BODIES_MB + GARBAGE_MB, `${highest_mb} MB`);
  t.true(times_ms.length >= 3, `${times_ms.length} posts`);
  let after_mb = Infinity;
  await until(
    async () => {
      // An idle process does not collect its garbage.
      await fetch(posting + EVENTS, { method: "POST", headers: JSON_HEADERS, body: JSON.stringify(filled) });
      after_mb = memory_mb("VmRSS");
      return after_mb <= MEMORY_MB + KEPT_MB;
    },
    { what: "memory to be given back", timeout_ms: 120_000, interval_ms: 500 },
  ).catch((error: unknown) => t.fail(`${String(error)}: ${after_mb} MB`));
  t.log(
    `${before_mb} MB before, ${highest_mb} MB at most, ${after_mb} MB after; posts took ${Math.round(Math.max(...times_ms))} ms at most`,
  );
});
