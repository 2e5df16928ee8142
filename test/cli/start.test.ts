import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { availableParallelism, getPriority } from "node:os";
import { join } from "node:path";
import test from "ava";

import manifest from "../../package.json" with { type: "json" };

import { killAfterExit } from "../../infra/engines/guard.ts";
import { environmentOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

function start(environment: Record<string, string>) {
  const child = spawn(process.execPath, [LOGGIA, "start"], {
    env: { ...process.env, ...environment },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  killAfterExit(child);
  const seen = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (seen.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (seen.err += text));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, seen, ended };
}

test("Ctrl-C to the whole group drains and exits with 0, and files are readable by their owner only", async (t) => {
  const folder = join(temporaryFolder(t), "data");
  // As at the very first start, which stores its compiled code after it has printed its addresses.
  const compiled = { NODE_COMPILE_CACHE: temporaryFolder(t) };
  const { child, seen, ended } = start({ ...environmentOf("embedded", folder), ...compiled });
  await until(() => seen.out.includes("posting"), { what: "the addresses" });
  for (const file of ["bus.sqlite", "catalog.sqlite", "events.duckdb"]) {
    t.is(statSync(join(folder, file)).mode & 0o077, 0, file);
  }
  process.kill(-(child.pid ?? 0), "SIGINT");
  t.is(await ended, 0);
  t.is(seen.err, "");
});

test("a stop that takes too long says so", async (t) => {
  if (process.platform === "win32") return t.pass();
  const folder = temporaryFolder(t);
  const { child, seen, ended } = start({ ...environmentOf("embedded", folder), LOGGIA_LOG_LEVEL: "info" });
  await until(() => seen.out.includes("posting"), { what: "the addresses" });
  // Opened for writing, a pipe without a reader blocks as a disk does that no longer answers.
  execFileSync("mkfifo", [join(folder, "clock.json.new")]);
  child.kill("SIGTERM");
  await until(() => /The service did not stop in time/.test(seen.err), { what: "the reason" });
  child.kill("SIGKILL");
  await ended;
  t.regex(seen.err, /"msg":"Stopping"/);
});

test("helper threads have a lower priority than those that accept and commit posts", async (t) => {
  // Other systems have no priority per thread.
  if (process.platform !== "linux") return t.pass();
  const { child, seen, ended } = start(environmentOf("embedded", temporaryFolder(t)));
  await until(() => seen.out.includes("posting"), { what: "the addresses" });
  const folder = `/proc/${child.pid}/task`;
  const nameOf = (thread: number) => readFileSync(`${folder}/${thread}/comm`, "utf8").trim();
  // A thread may end while it is looked at.
  const priorities = await until(() => Map.groupBy(readdirSync(folder).map(Number), nameOf), { what: "the threads" });
  const of = (name: string) => (priorities.get(name) ?? []).map((thread) => getPriority(thread));
  const own = getPriority(child.pid);
  const ofPool = Number(process.env["UV_THREADPOOL_SIZE"] ?? 4);
  t.true(of("libuv-worker").length >= ofPool + Math.min(availableParallelism(), 4) - 1, "DuckDB's are among them");
  for (const name of ["libuv-worker", "node-V8Worker"]) {
    t.deepEqual(new Set(of(name)), new Set([Math.min(own + 10, 19)]), name);
  }
  t.deepEqual(of("bus"), [own]);
  child.kill("SIGINT");
  t.is(await ended, 0);
  t.is(seen.err, "");
});

test("secrets that the first start generates go to a file of the user's own, configured ones nowhere", async (t) => {
  const folder = temporaryFolder(t);
  const { LOGGIA_ADMIN: _admin, LOGGIA_LOG: _log, ...nothing } = environmentOf("embedded", folder);
  const outputOf = async (environment: Record<string, string>) => {
    const { child, seen, ended } = start(environment);
    await until(() => seen.out.includes("posting"), { what: "the start" });
    child.kill("SIGINT");
    await ended;
    return seen.out;
  };
  const drawn = await outputOf(nothing);
  const file = join(folder, "first-start.txt");
  t.true(drawn.startsWith(`First start. Its secrets are in ${file}, which only this user can read; remove it`), drawn);
  t.regex(drawn, /\n {2}password {2}in that file\n[^]*\n {2}API key {3}in that file\n/);
  t.regex(drawn, /-d apikey=KEY [^]*-u admin@localhost:PASSWORD /);
  t.is(statSync(file).mode & 0o777, 0o600);
  const [, password, apiKey] =
    /\n {2}password {2}([\w-]{16})\n[^]*\n {2}API key {3}([\w-]{20,})\n/.exec(readFileSync(file, "utf8")) ?? [];
  t.truthy(apiKey);
  t.false(drawn.includes(password!) || drawn.includes(apiKey!));
  t.regex(drawn, /within 10 minutes:\n {2}http:\/\/127\.0\.0\.1:\d+\/#\/\?ticket=[\w-]{43}\n/);
  t.notRegex(await outputOf(nothing), /ticket/, "once");
  const given = { LOGGIA_ADMIN: "ann@example.org:a secret of ours", LOGGIA_LOG: "shop:another-secret-of-ours" };
  const out = await outputOf({ ...nothing, LOGGIA_DATA: temporaryFolder(t), ...given });
  t.notRegex(out, /secret|ticket|in that file/);
  t.regex(out, /password {2}as given by LOGGIA_ADMIN\n[^]*API key {3}as given by LOGGIA_LOG\n/);
});

test("a start that fails for its settings shows and creates nothing", async (t) => {
  const folder = temporaryFolder(t);
  const { LOGGIA_ADMIN: _admin, LOGGIA_LOG: _log, ...nothing } = environmentOf("embedded", folder);
  const syslog = (log: string) => ({ LOGGIA_SYSLOG: `udp://127.0.0.1:0/${log}` });
  for (const [environment, reason] of [
    [syslog("net"), "LOGGIA_SYSLOG names the log net, which does not exist: create it before you set this"],
    [{ LOGGIA_GEOIP: "/nowhere/geo.mmdb" }, "LOGGIA_GEOIP"],
  ] as const) {
    const { seen, ended } = start({ ...nothing, ...environment });
    t.is(await ended, 1);
    t.true(seen.err.startsWith(`loggia: ${reason}`), seen.err);
    t.is(seen.out, "");
  }
  const { child, seen, ended } = start({ ...nothing, ...syslog("first-log") });
  await until(() => seen.out.includes("posting"), { what: "the start" });
  child.kill("SIGINT");
  t.is(await ended, 0);
  t.regex(seen.out, /^First start\. Its secrets are in \S+, which [^\n]+:\n {2}admin/);
});

/** Returns the lines of a log, all of which are JSON. */
const linesOf = (log: string) =>
  log
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test("start, stop with its reason, and wrong credentials are logged, a limited number of times", async (t) => {
  const environment = { ...environmentOf("embedded", temporaryFolder(t)), LOGGIA_LOG_LEVEL: "info" };
  const { child, seen, ended } = start({ ...environment, LOGGIA_RATE_FAILURES: "1000", LOGGIA_DRAIN: "1" });
  const api = await until(() => /^API +(\S+)$/m.exec(seen.out)?.[1], { what: "the API" });
  const post = await until(() => /^posting +(\S+)$/m.exec(seen.out)?.[1], { what: "the posting address" });
  const headers = { Authorization: `Basic ${Buffer.from("ann@example.org:a-wrong-password").toString("base64")}` };
  t.is((await fetch(`${api}/logs`, { headers })).status, 401);
  for (let n = 0; n < 15; n += 1) {
    const body = new URLSearchParams({ apikey: `a-wrong-key-${n}`, text: "a" });
    t.is((await fetch(`${post}/logs/first/events`, { method: "POST", body })).status, 401);
  }
  child.kill("SIGTERM");
  t.is(await ended, 0);
  t.notRegex(seen.err, /a-wrong/);
  const lines = linesOf(seen.err);
  const of = (msg: string) => lines.filter((line) => line["msg"] === msg);
  const about = { version: manifest.version, roles: ["post", "pipeline", "api"], engines: "embedded" };
  t.is(of("Starting").length, 1);
  t.like(of("Starting")[0], { level: 30, ...about });
  t.like(of("Started")[0], { level: 30, ...about });
  t.like(of("Stopping")[0], { level: 30, reason: "SIGTERM", drain_s: 1, ...about });
  t.like(of("Stopped")[0], { level: 30, reason: "SIGTERM", ...about });
  // A timer may fire a millisecond early.
  t.true(Number(of("Stopped")[0]!["time"]) - Number(of("Stopping")[0]!["time"]) >= 999);
  const failed = of("Authentication failed");
  t.is(failed.length, 10);
  t.like(failed[0], { level: 40, wrong: "password", address: "127.0.0.1" });
  t.like(failed[1], { level: 40, wrong: "key", address: "127.0.0.1" });
  t.is(of("Further authentication failures were not logged")[0]?.["count"], 6);
});

test("a failed start is logged as a line like any other", async (t) => {
  for (const [environment, reason] of [
    [{ LOGGIA_DATA: "/proc/loggia" }, /^The start failed: LOGGIA_DATA is "\/proc\/loggia", which can't be created: /],
    [{ LOGGIA_API: "nonsense" }, /^The start failed: LOGGIA_API is "nonsense"; allowed: /],
  ] as const) {
    const { seen, ended } = start({
      ...environmentOf("embedded", "/proc/loggia"),
      LOGGIA_LOG_LEVEL: "info",
      ...environment,
    });
    t.is(await ended, 1);
    const last = linesOf(seen.err).at(-1);
    t.like(last, { level: 60, version: manifest.version });
    t.regex(String(last?.["msg"]), reason);
  }
});

test("a folder without permission stops startup with one line", async (t) => {
  const { seen, ended } = start({ ...environmentOf("embedded", "/proc/loggia") });
  t.is(await ended, 1);
  t.regex(seen.err, /^loggia: LOGGIA_DATA is "\/proc\/loggia", which can't be created: [^\n]*\n$/);
});

test("a server other than Elasticsearch is reported in one line", async (t) => {
  const server = createServer((_, response) => {
    response.writeHead(404, { "Content-Type": "text/html" });
    response.end("<html>\n<body>\nnot here\n</body>\n</html>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { seen, ended } = start({
    ...environmentOf("embedded", temporaryFolder(t)),
    ELASTICSEARCH_URL: url,
    KAFKA_BROKERS: "127.0.0.1:1",
  });
  t.is(await ended, 1);
  t.is(
    seen.err,
    `loggia: Elasticsearch at ${url} returned a response that is not Elasticsearch's: check the address\n`,
  );
});
