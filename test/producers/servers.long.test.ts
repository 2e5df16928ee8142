import test from "ava";
import type { ExecutionContext } from "ava";
import { execFile, spawn } from "node:child_process";
import { appendFileSync, chownSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { unpackDebian } from "../../infra/debian.ts";
import { killAfterExit } from "../../infra/engines/guard.ts";
import { freePorts } from "../../infra/engines/ports.ts";
import { listeningService, portOf } from "../ingest/listeners/sockets.ts";
import { eventsOf } from "../ingest/posting.ts";
import type { Listed } from "../ingest/posting.ts";
import { isHere } from "../support/programs.ts";
import { LOG, serviceOf } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { shipAsIn } from "./documented-ship.ts";
import { snippetOf } from "./snippets.ts";

const execute = promisify(execFile);
const NGINX = ["nginx"];
const APACHE = ["apache2-bin", "libapr1", "libaprutil1"];
const HAPROXY = ["haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"];
const MONOLOG = ["php8.2-cli", "php-monolog", "php-psr-log", "libargon2-1", "libsodium23", "libxml2"];
const NOBODY = 65_534;
const DIVISION_BY_ZERO = "ERROR:  division by zero\n";

type Options = { readonly env?: Readonly<Record<string, string>>; readonly uid?: number };

/** Runs a server until the test ends. */
function serve(t: ExecutionContext, program: string, words: readonly string[], { env = {}, uid }: Options = {}) {
  const child = killAfterExit(
    spawn(program, words, {
      env: { ...env, PATH: process.env["PATH"] },
      stdio: ["ignore", "pipe", "pipe"],
      ...(uid !== undefined && { uid, gid: uid }),
    }),
  );
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text: Buffer) => said.push(String(text)));
  t.teardown(async () => {
    if (!t.passed) t.log(said.join("").slice(0, 4_000));
    const ended = new Promise((resolve) => child.once("close", resolve));
    if (child.exitCode !== null || !child.kill("SIGTERM")) return;
    await ended;
  });
}

/** Gets a page once the server listens. */
async function visit(port: number, path: string): Promise<number> {
  return await until(
    async () => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { "User-Agent": 'a"b' } });
      await response.arrayBuffer();
      return response.status;
    },
    { what: `a server on port ${port}` },
  );
}

/** Starts a service with the listeners of a page, at free ports. */
async function listenAsIn(t: ExecutionContext, page: string, n = 0): Promise<Service> {
  const code = snippetOf(`docs/producers/${page}.md`, "sh", { n, replace: { "/shop": `/${LOG}` } });
  const { name, value } = /^(?<name>\w+)="(?<value>.*)"$/m.exec(code)!.groups!;
  return await listeningService(t, { [name!]: value!.replace(/(?<=127\.0\.0\.1:)\d+/, "0") });
}

/** Waits for the events of the first log and returns those with these texts, in their order. */
async function eventsWith(service: Service, texts: readonly (string | RegExp)[]): Promise<readonly Listed[]> {
  return await until(
    async () => {
      const events = await eventsOf(service, texts.length);
      const found = texts.map((text) =>
        events.find((event) => (typeof text === "string" ? event.text === text : text.test(event.text))),
      );
      return found.every((event) => event !== undefined) ? found : null;
    },
    { what: `events ${texts.join(", ")}` },
  );
}

function isRecent({ created }: Listed): boolean {
  const created_ms = Number(/\d+/.exec(created)?.[0]);
  return Math.abs(Date.now() - created_ms) < 10 * 60_000;
}

async function startNginx(t: ExecutionContext, directives: string, folder: string): Promise<number> {
  const unpacked = await unpackDebian(NGINX);
  const [port = 0] = await freePorts(1);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path t-${name};`);
  const server = `server { listen 127.0.0.1:${port}; server_name till; root html; }`;
  const http = `http {\n${temporary.join("\n")}\n${directives}\n${server}\n}`;
  const user = process.getuid?.() === 0 ? "user root;\n" : "";
  writeFileSync(join(folder, "nginx.conf"), `${user}daemon off;\npid pid;\nevents {}\n${http}\n`);
  const words = ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"];
  serve(t, unpacked.file("usr/sbin/nginx"), words, { env: unpacked.environment });
  return port;
}

test("nginx: both logs as they are", async (t) => {
  t.timeout(300_000);
  const folder = temporaryFolder(t);
  const access = join(folder, "access.log");
  const error = join(folder, "error.log");
  const port = await startNginx(t, `access_log ${access};\nerror_log ${error};`, folder);
  t.is(await visit(port, "/none?x=1"), 404);
  await until(() => [access, error].every((path) => readFileSync(path, "utf8").endsWith("\n")), { what: "two logs" });
  const service = await serviceOf(t, "embedded");
  await shipAsIn(service, "nginx", { from: "/var/log/nginx", to: folder });
  const [visited, failed] = await eventsWith(service, ["GET /none?x=1 HTTP/1.1", /open\(\) .*none" failed/]);
  t.like(visited, { source: "nginx" });
  t.like(visited!.attributes, { status: 404, remote_addr: "127.0.0.1" });
  t.like(failed, { source: "nginx", tags: ["error"] });
  for (const event of [visited, failed]) t.true(isRecent(event!), event!.created);
});

test("nginx: its access log in JSON, as a file", async (t) => {
  t.timeout(300_000);
  const folder = temporaryFolder(t);
  const access = join(folder, "access.json");
  const replace = { "/var/log/nginx/access.json": access };
  const port = await startNginx(t, snippetOf("docs/producers/nginx.md", "nginx", { replace }), folder);
  t.is(await visit(port, "/none?x=1"), 404);
  await until(() => readFileSync(access, "utf8").endsWith("\n"), { what: "an access log" });
  const service = await serviceOf(t, "embedded");
  await shipAsIn(service, "nginx", { n: 1, from: "/var/log/nginx/access.json", to: access });
  const [event] = await eventsWith(service, ["GET /none?x=1 HTTP/1.1"]);
  t.is(event!.source, "till");
  t.like(event!.attributes, { status: 404, remote_addr: "127.0.0.1", http_user_agent: 'a"b' });
  t.true(isRecent(event!), event!.created);
});

test("nginx: both logs by syslog", async (t) => {
  t.timeout(300_000);
  const service = await listenAsIn(t, "nginx", 2);
  const format = snippetOf("docs/producers/nginx.md", "nginx").replace(/^access_log.*$/m, "");
  const replace = { "127.0.0.1:5514": `127.0.0.1:${portOf(service, "udp")}` };
  const logs = snippetOf("docs/producers/nginx.md", "nginx", { n: 1, replace: { ...replace, warn: "error" } });
  const port = await startNginx(t, format + logs, temporaryFolder(t));
  t.is(await visit(port, "/none"), 404);
  const [access, error] = await eventsWith(service, ["GET /none HTTP/1.1", /open\(\) .*none" failed/]);
  t.like(access, { source: "nginx" });
  t.like(access!.attributes, { status: 404, http_user_agent: 'a"b', server_name: "till" });
  t.like(error, { source: "nginx", tags: ["error"] });
});

async function startApache(t: ExecutionContext, logs: string, folder: string): Promise<number> {
  const unpacked = await unpackDebian(APACHE);
  const modules = join(unpacked.file("usr/lib/apache2/modules/mod_mpm_event.so"), "..");
  const [port = 0] = await freePorts(1);
  const combined = String.raw`LogFormat "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" combined`;
  const file = join(folder, "httpd.conf");
  writeFileSync(
    file,
    `ServerRoot "${folder}"\nPidFile "${folder}/pid"\nServerName till\nListen 127.0.0.1:${port}\n` +
      `LoadModule mpm_event_module ${modules}/mod_mpm_event.so\n` +
      `LoadModule authz_core_module ${modules}/mod_authz_core.so\n` +
      `DocumentRoot "${folder}"\n${combined}\n${logs}\n`,
  );
  serve(t, unpacked.file("usr/sbin/apache2"), ["-DFOREGROUND", "-f", file], { env: unpacked.environment });
  return port;
}

test("Apache: both logs as they are", async (t) => {
  t.timeout(300_000);
  const folder = temporaryFolder(t);
  const access = join(folder, "access.log");
  const logs = `CustomLog "${access}" combined\nErrorLog "${join(folder, "error.log")}"`;
  const port = await startApache(t, logs, folder);
  const status = await visit(port, "/none");
  await until(() => readFileSync(access, "utf8").endsWith("\n"), { what: "an access log" });
  const service = await serviceOf(t, "embedded");
  await shipAsIn(service, "apache", { from: "/var/log/apache2", to: folder });
  const [visited, started] = await eventsWith(service, ["GET /none HTTP/1.1", /resuming normal operations/]);
  t.like(visited, { source: "apache" });
  t.like(visited!.attributes, { status, remote_addr: "127.0.0.1" });
  t.like(started, { source: "apache", tags: ["info"] });
  t.like(started!.attributes, { module: "mpm_event" });
  for (const event of [visited, started]) t.true(isRecent(event!), event!.created);
});

(isHere("logger") ? test : test.skip)("Apache: both logs by pipes", async (t) => {
  t.timeout(300_000);
  const service = await listenAsIn(t, "apache", 1);
  const replace = { "--port 5514": `--port ${portOf(service)}` };
  const port = await startApache(t, snippetOf("docs/producers/apache.md", "apache", { replace }), temporaryFolder(t));
  await visit(port, "/none");
  const [access, error] = await eventsWith(service, [/GET \/none HTTP\/1\.1" 4/, /resuming normal operations/]);
  t.like(access, { source: "apache", tags: ["info"] });
  t.like(error, { source: "apache", tags: ["error"] });
});

/** Starts HAProxy before no server, with the logs of a block. */
async function startHaproxy(t: ExecutionContext, logs: string): Promise<number> {
  const unpacked = await unpackDebian(HAPROXY);
  const [port = 0] = await freePorts(1);
  const times = ["client", "server", "connect"].map((name) => `    timeout ${name} 5s`).join("\n");
  const file = join(temporaryFolder(t), "haproxy.cfg");
  writeFileSync(
    file,
    `${logs}\n${times}\nfrontend web\n    bind 127.0.0.1:${port}\n    default_backend app\nbackend app\n`,
  );
  serve(t, unpacked.file("usr/sbin/haproxy"), ["-db", "-f", file], { env: unpacked.environment });
  return port;
}

test("HAProxy by UDP", async (t) => {
  t.timeout(300_000);
  const service = await listenAsIn(t, "haproxy");
  const replace = { "127.0.0.1:5514": `127.0.0.1:${portOf(service, "udp")}` };
  const port = await startHaproxy(t, snippetOf("docs/producers/haproxy.md", "haproxy", { replace }));
  t.is(await visit(port, '/a%22"?x=1'), 503);
  const [event] = await eventsWith(service, [/^GET \/a%22.*\?x=1 503$/]);
  t.like(event, { source: "haproxy", tags: ["info"] });
  t.like(event!.attributes, { status: 503, "client.address": "127.0.0.1", frontend: "web", backend: "app" });
  t.true(isRecent(event!), event!.created);
});

test("HAProxy by a ring", async (t) => {
  t.timeout(300_000);
  const service = await listeningService(t, { LOGGIA_SYSLOG: `tcp://127.0.0.1:0/${LOG}?json=on` });
  const replace = { "127.0.0.1:5514": `127.0.0.1:${portOf(service)}` };
  const ring = snippetOf("docs/producers/haproxy.md", "haproxy", { n: 1, replace });
  const format = snippetOf("docs/producers/haproxy.md", "haproxy").replace(/^[^]*(?=^defaults)/m, "");
  const port = await startHaproxy(t, ring + format);
  t.is(await visit(port, "/none"), 503);
  const [event] = await eventsWith(service, ["GET /none 503"]);
  t.like(event, { source: "haproxy", tags: ["info"] });
});

/** Starts PostgreSQL, lets a statement fail, and returns its folder. */
async function startPostgres(t: ExecutionContext, logging: string): Promise<string> {
  const folder = temporaryFolder(t);
  const program = realpathSync((await execute("sh", ["-c", "command -v postgres"])).stdout.trim());
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const data = join(folder, "main");
  const words = ["-D", data, "-U", "ann", "-A", "trust", "--no-sync"];
  await execute(join(program, "../initdb"), words, { ...user, cwd: folder });
  const [port = 0] = await freePorts(1);
  const place = `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n`;
  appendFileSync(join(data, "postgresql.conf"), place + logging);
  serve(t, program, ["-D", data], isRoot ? { uid: NOBODY } : {});
  const client = [`postgres://ann@127.0.0.1:${port}/postgres`, "-c", "SELECT 1/0"];
  await until(() => execute("psql", client).catch((error: { stderr: string }) => error.stderr === DIVISION_BY_ZERO), {
    what: "a server",
  });
  return data;
}

(isHere("postgres") ? test : test.skip)("PostgreSQL: its log in JSON", async (t) => {
  t.timeout(300_000);
  const data = await startPostgres(t, snippetOf("docs/producers/postgresql.md", "ini"));
  const service = await serviceOf(t, "embedded");
  const from = "'/var/lib/postgresql/*/main/log/*.json'";
  await shipAsIn(service, "postgresql", { from, to: `'${data}/log/*.json'` });
  const [event] = await eventsWith(service, ["division by zero"]);
  t.like(event, { source: "postgresql", tags: ["error"], user: "ann" });
  t.like(event!.attributes, { statement: "SELECT 1/0", state_code: "22012", dbname: "postgres" });
  t.true(isRecent(event!), event!.created);
});

(isHere("postgres") ? test : test.skip)("PostgreSQL: its log as Debian has it", async (t) => {
  t.timeout(300_000);
  const debian = "log_line_prefix = '%m [%p] %q%u@%d '\nlog_timezone = 'UTC'\n";
  const data = await startPostgres(t, `${debian}logging_collector = on\nlog_directory = 'log'\n`);
  const service = await serviceOf(t, "embedded");
  await shipAsIn(service, "postgresql", { n: 1, from: "'/var/log/postgresql/*.log'", to: `'${data}/log/*.log'` });
  const [event] = await eventsWith(service, [/^division by zero\n/]);
  t.like(event, { source: "postgres", tags: ["error"], user: "ann" });
  t.regex(event!.text, /STATEMENT: {2}SELECT 1\/0$/);
  t.true(isRecent(event!), event!.created);
});

test("Kubernetes: files of containerd", async (t) => {
  const pods = temporaryFolder(t);
  const container = join(pods, "default_web-0_6f8d6c9e-0000-4000-8000-000000000000", "app");
  mkdirSync(container, { recursive: true });
  const time = new Date().toISOString().replace("Z", "000000Z");
  const lines = ["stdout P Order 17 ", "stderr F beside it", "stdout F failed"].map((line) => `${time} ${line}\n`);
  writeFileSync(join(container, "0.log"), lines.join(""));
  const service = await serviceOf(t, "embedded");
  await shipAsIn(service, "kubernetes", { from: "/var/log/pods", to: pods });
  const [event] = await eventsWith(service, ["Order 17 failed", "beside it"]);
  t.like(event, { source: "app" });
  t.like(event!.attributes, { "k8s.namespace.name": "default", "k8s.pod.name": "web-0" });
  t.true(isRecent(event!), event!.created);
});

test("Monolog", async (t) => {
  t.timeout(300_000);
  const service = await listenAsIn(t, "php");
  const unpacked = await unpackDebian(MONOLOG);
  const share = join(unpacked.file("usr/share/php/Monolog/autoload.php"), "../..");
  const replace = { "127.0.0.1:5000": `127.0.0.1:${portOf(service)}` };
  const code = snippetOf("docs/producers/php.md", "php", { n: 1, replace });
  const file = join(temporaryFolder(t), "monolog.php");
  writeFileSync(file, `<?php\nrequire 'Psr/Log/autoload.php';\nrequire 'Monolog/autoload.php';\n${code}`);
  const program = unpacked.file("usr/bin/php8.2");
  const { stdout } = await execute(program, ["-n", "-d", `include_path=${share}`, file], { env: unpacked.environment });
  t.is(stdout, "");
  const [event] = await eventsWith(service, ["Order 17 failed"]);
  t.like(event, { source: "shop", tags: ["error"] });
  t.like(event!.attributes, { "context.order": 17 });
});
