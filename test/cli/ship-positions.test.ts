import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import test, { type ExecutionContext } from "ava";
import { gzipSync, zstdCompressSync } from "node:zlib";

import { AUTHORIZATION, get, KEY, LOG, type Service, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

type Shipper = {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; out: string; err: string }>;
};

/** Starts a shipper that keeps its positions in `state`. */
function startShipping(url: string, state: string, ...words: string[]): Shipper {
  const env = { ...process.env, LOGGIA_KEY: KEY, XDG_STATE_HOME: state };
  const child = spawn(process.execPath, [LOGGIA, "ship", "--post", url, "--log", LOG, ...words], { env });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    child.on("close", (code) => resolve({ code, out, err }));
  });
  return { child, ended };
}

async function ship(url: string, state: string, ...words: string[]): Promise<string> {
  return (await startShipping(url, state, ...words).ended).out;
}

/** Returns the texts of all events, in order. */
async function texts(service: Service): Promise<string[]> {
  const response = await fetch(`${service.apiUrl}/1/logs/${LOG}/export`, { headers: { Authorization: AUTHORIZATION } });
  const body = await response.text();
  return body
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { text: string }).text);
}

async function textsOf(service: Service, count: number): Promise<string[]> {
  return until(
    async () => {
      const found = await texts(service);
      return found.length >= count ? found : null;
    },
    { what: `${count} events` },
  );
}

function place(t: ExecutionContext): { file: string; folder: string; state: string } {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "logs"));
  return { file: join(folder, "logs", "a.log"), folder: join(folder, "logs"), state: join(folder, "state") };
}

test("a run continues where the previous one stopped, for the same log and files only", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { file, state } = place(t);
  writeFileSync(file, "one\ntwo\n");
  t.is(await ship(service.postUrl, state, file), "posted 2, failed 0, retried 0\n");
  appendFileSync(file, "three\n");
  const again = await startShipping(service.postUrl, state, file).ended;
  t.is(again.out, "posted 1, failed 0, retried 0\n");
  t.regex(again.err, /^loggia: 1 file resumes where an earlier run stopped; --state none reads from the start\n$/);
  t.deepEqual(await textsOf(service, 3), ["one", "two", "three"]);
  t.is(await ship(service.postUrl, state, "--state", "none", file), "posted 3, failed 0, retried 0\n");
  const own = join(state, "own");
  t.is(await ship(service.postUrl, state, "--state", own, file), "posted 3, failed 0, retried 0\n");
  t.is(statSync(own).mode & 0o777, 0o700);
  const other = await startShipping("http://127.0.0.1:1", state, "--state", own, file).ended;
  t.is(other.code, 1);
  t.regex(other.err, /^loggia: --state \S+ belongs to http:\S+; name another folder for http:\S+\n$/);
});

test("two runs with the same positions exclude each other", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { file, state } = place(t);
  writeFileSync(file, "one\n");
  const first = startShipping(service.postUrl, state, "--follow", file);
  await textsOf(service, 1);
  const second = await startShipping(service.postUrl, state, "--follow", file).ended;
  t.is(second.code, 1);
  t.regex(second.err, /^loggia: Another loggia ship uses [^\n]*; name another folder with --state\n$/);
  first.child.kill("SIGTERM");
  t.is((await first.ended).code, 0);
});

test("files rotated and compressed between runs are read to their end, in order", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { file, folder, state } = place(t);
  writeFileSync(join(folder, "a.log.1"), "before the first run\n");
  writeFileSync(file, "1\n2\n");
  await ship(service.postUrl, state, file);
  appendFileSync(file, "3\n");
  // Rotated twice; the first generation is compressed, and its inode may be reused.
  writeFileSync(join(folder, "a.log.3.gz"), gzipSync("1\n2\n3\n"));
  rmSync(file);
  writeFileSync(join(folder, "a.log.2"), "4\n");
  renameSync(join(folder, "a.log.1"), join(folder, "a.log.4"));
  writeFileSync(join(folder, "a.log.1"), "5\n");
  writeFileSync(file, "6\n");
  t.is(await ship(service.postUrl, state, file), "posted 4, failed 0, retried 0\n");
  t.deepEqual(await textsOf(service, 6), ["1", "2", "3", "4", "5", "6"]);
  // All are compressed by now, in another format.
  writeFileSync(join(folder, "a.log.2.zst"), zstdCompressSync("4\n"));
  rmSync(join(folder, "a.log.2"));
  writeFileSync(join(folder, "a.log.1.gz"), gzipSync("5\n"));
  rmSync(join(folder, "a.log.1"));
  t.is(await ship(service.postUrl, state, file), "posted 0, failed 0, retried 0\n");
});

test("a file rotated twice within a second is followed without a gap", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { file, folder, state } = place(t);
  writeFileSync(file, "1\n");
  const { child, ended } = startShipping(service.postUrl, state, "--follow", file);
  await textsOf(service, 1);
  appendFileSync(file, "2\n");
  renameSync(file, join(folder, "a.log.1"));
  writeFileSync(file, "3\n");
  renameSync(join(folder, "a.log.1"), join(folder, "a.log.2"));
  renameSync(file, join(folder, "a.log.1"));
  writeFileSync(file, "4\n");
  await textsOf(service, 4);
  child.kill("SIGTERM");
  t.is((await ended).out, "posted 4, failed 0, retried 0\n");
  t.deepEqual(await texts(service), ["1", "2", "3", "4"]);
});

test("a file that was copied and truncated is read from the copy", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { file, folder, state } = place(t);
  writeFileSync(file, "1\n2\n");
  await ship(service.postUrl, state, file);
  appendFileSync(file, "3\n");
  await copyFile(file, join(folder, "a.log.1"));
  truncateSync(file);
  // At least as long as the part already read.
  appendFileSync(file, "4\n5\n6\n7\n");
  t.is(await ship(service.postUrl, state, file), "posted 5, failed 0, retried 0\n");
  t.deepEqual(await textsOf(service, 7), ["1", "2", "3", "4", "5", "6", "7"]);
});

test("folders and globs are followed, including new files", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { file, folder, state } = place(t);
  mkdirSync(join(folder, "below"));
  writeFileSync(file, "a\n");
  writeFileSync(join(folder, "a.log.1"), "older\n");
  writeFileSync(join(folder, ".hidden"), "hidden\n");
  writeFileSync(join(folder, "packed.gz"), gzipSync("packed\n"));
  const { child, ended } = startShipping(service.postUrl, state, "--follow", folder);
  await textsOf(service, 3);
  writeFileSync(join(folder, "below", "new.log"), "new\n");
  await textsOf(service, 4);
  child.kill("SIGTERM");
  t.is((await ended).out, "posted 4, failed 0, retried 0\n");
  t.deepEqual((await texts(service)).toSorted(), ["a", "new", "older", "packed"]);
  const glob = join(folder, "**", "*.log");
  t.is(await ship(service.postUrl, state, glob), "posted 2, failed 0, retried 0\n");
  t.is(await ship(service.postUrl, state, glob), "posted 0, failed 0, retried 0\n");
});

/** When a shipper is killed: at this request, before or after the service has received it. */
type Kill = { readonly request: number; readonly moment: "before" | "stored" | "answered" };

/** Forwards requests to the service, and kills the sender at the planned ones. */
async function killer(t: ExecutionContext, service: Service, kills: readonly Kill[]) {
  let count = 0;
  let victim: ChildProcess | null = null;
  const server = createServer((request, response) => {
    count += 1;
    const kill = kills.find((one) => one.request === count);
    const die = (): void => {
      victim?.kill("SIGKILL");
      response.destroy();
    };
    if (kill?.moment === "before") return die();
    const onward = httpRequest(service.postUrl + request.url, { method: "POST", headers: request.headers });
    request.pipe(onward);
    // The planned kill resets the connection.
    request.on("error", () => onward.destroy());
    onward.on("error", () => {});
    onward.on("response", (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        if (kill?.moment === "stored") return die();
        response.writeHead(answer.statusCode ?? 500).end(Buffer.concat(chunks));
        if (kill?.moment === "answered") victim?.kill("SIGKILL");
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, requests: () => count, next: (child: ChildProcess) => (victim = child) };
}

test("a shipper that is killed repeatedly loses and duplicates no line", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { file, folder, state } = place(t);
  const lines = Array.from({ length: 20_000 }, (_, n) => `line ${n} of a log`);
  writeFileSync(
    file,
    lines
      .slice(0, 12_000)
      .map((line) => `${line}\n`)
      .join(""),
  );
  const kills: Kill[] = [
    { request: 2, moment: "stored" },
    { request: 3, moment: "before" },
    { request: 5, moment: "answered" },
    { request: 7, moment: "stored" },
    { request: 8, moment: "stored" },
    { request: 9, moment: "before" },
  ];
  const target = await killer(t, service, kills);
  let killed = 0;
  for (let run = 0; run < 20; run += 1) {
    const { child, ended } = startShipping(target.url, state, file);
    target.next(child);
    const { code, out } = await ended;
    if (code === 0) {
      t.regex(out, /^posted \d+, failed 0, /);
      if (run > kills.length) break;
    } else killed += 1;
    if (run === 1) {
      // Rotated while nothing reads, with unread lines.
      renameSync(file, join(folder, "a.log.1"));
      writeFileSync(
        file,
        lines
          .slice(12_000)
          .map((line) => `${line}\n`)
          .join(""),
      );
    }
  }
  t.is(killed, kills.length);
  t.deepEqual(await textsOf(service, lines.length), lines);
});

test("a batch that a run gave up is sent first by the next one", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { file, state } = place(t);
  writeFileSync(file, "one\ntwo\n");
  const server = createServer((request, response) => {
    if (isAway) request.resume().on("end", () => response.writeHead(503).end());
    else
      request.pipe(
        httpRequest(service.postUrl + request.url, { method: "POST", headers: request.headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 500);
          answer.pipe(response);
        }),
      );
  });
  let isAway = true;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, out, err } = await startShipping(url, state, "--patience", "5", file).ended;
  t.is(code, 1);
  t.regex(out, /^posted 0, failed 0, retried \d+, kept for the next run 2\n$/);
  t.regex(err, new RegExp(`\nloggia: gave up after \\d+ s; the last attempt at ${url}: .*503.*\n`));
  t.regex(err, new RegExp(`\nloggia: 2 lines are kept in ${state}/.*/positions\\.db; the next run `));
  t.false(err.includes("not posted"));
  isAway = false;
  appendFileSync(file, "three\n");
  t.is(await ship(url, state, file), "posted 3, failed 0, retried 0\n");
  t.deepEqual(await textsOf(service, 3), ["one", "two", "three"]);
});

test("several lines are one event if an expression matches the first", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { file, state } = place(t);
  writeFileSync(file, "2026-01-01 one\n  at a\n  at b\n2026-01-02 two\n");
  const { child, ended } = startShipping(
    service.postUrl,
    state,
    "--follow",
    "--multiline-start",
    String.raw`^\d{4}-`,
    file,
  );
  // No line follows the last event, so it is posted after a delay.
  await textsOf(service, 2);
  appendFileSync(file, "2026-01-03 three\n  at c\n");
  await textsOf(service, 3);
  child.kill("SIGTERM");
  await ended;
  t.deepEqual(await texts(service), ["2026-01-01 one\n  at a\n  at b", "2026-01-02 two", "2026-01-03 three\n  at c"]);
});

test("lines of Docker's json-file driver get their container's name and are joined", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { folder, state } = place(t);
  const id = "0123456789abcdef".repeat(4);
  mkdirSync(join(folder, id));
  const config = { Name: "/web", Config: { Image: "nginx:1" } };
  writeFileSync(join(folder, id, "config.v2.json"), JSON.stringify(config));
  const line = (log: string): string =>
    `${JSON.stringify({ log, stream: "stdout", attrs: { team: "x" }, time: "2026-01-02T03:04:05.678901234Z" })}\n`;
  const long = "x".repeat(16_384);
  writeFileSync(join(folder, id, `${id}-json.log`), line("hello\n") + line(long) + line("the end\n"));
  t.is(await ship(service.postUrl, state, "--docker", folder), "posted 2, failed 0, retried 0\n");
  t.is(await ship(service.postUrl, state, "--docker", folder), "posted 0, failed 0, retried 0\n");
  t.deepEqual((await textsOf(service, 2)).toSorted(), ["hello", "x".repeat(8_000)]);
  const { body } = await get(service, `/1/logs/${LOG}/events?attributes=true&text=hello`);
  const [event] = body as Record<string, unknown>[];
  t.like(event, { text: "hello", source: "web", created: `/Date(${Date.UTC(2026, 0, 2, 3, 4, 5, 678)})/` });
  t.deepEqual(event?.["attributes"], {
    "container.id": id,
    "container.image.name": "nginx:1",
    "container.name": "web",
    stream: "stdout",
    team: "x",
  });
});

test("lines of pino, bunyan, zap and logback get their time, severity and source", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { file, state } = place(t);
  const lines = [
    { level: 50, time: 1_767_323_045_678, pid: 1, hostname: "h", name: "pino-app", msg: "pino" },
    { name: "bunyan-app", hostname: "h", pid: 1, level: 40, msg: "bunyan", time: "2026-01-02T03:04:05.678Z", v: 0 },
    { level: "info", ts: 1_767_323_045.678, logger: "zap-app", caller: "a.go:1", msg: "zap" },
    {
      "@timestamp": "2026-01-02T03:04:05.678Z",
      "@version": "1",
      message: "logback",
      logger_name: "org.example.App",
      level: "ERROR",
      level_value: 40_000,
    },
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  t.is(await ship(service.postUrl, state, "--json", file), "posted 4, failed 0, retried 0\n");
  await textsOf(service, 4);
  const { body } = await get(service, `/1/logs/${LOG}/events`);
  const found = (body as { text: string; tags: string[]; source: string; created: string }[]).map(
    ({ text, tags, source, created }) => [text, tags, source, created],
  );
  const created = `/Date(${Date.UTC(2026, 0, 2, 3, 4, 5, 678)})/`;
  t.deepEqual(
    found.toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1)),
    [
      ["bunyan", ["warn"], "bunyan-app", created],
      ["logback", ["error"], "org.example.App", created],
      ["pino", ["error"], "pino-app", created],
      ["zap", ["info"], "zap-app", created],
    ],
  );
});
