import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import test from "ava";
import { freePorts } from "../../infra/engines/ports.ts";
import { markOf } from "../../infra/engines/processes-of.ts";
import { readSettings } from "../../infra/engines/settings.ts";
import { updateState } from "../../infra/engines/state.ts";
import { StartError } from "../../src/errors.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { PROJECT, plantJdk, plantProgram, runProgram } from "./support.ts";
import type { Outcome } from "./support.ts";

function engines(command: string, env: Record<string, string>): Promise<Outcome> {
  return runProgram(process.execPath, [join(PROJECT, "infra/engines.ts"), command], {
    // Keeps a service that happens to run on this machine out of the test.
    env: { PATH: "", ENGINES_WAY: "processes", LOGGIA_API: "127.0.0.1:1", ...env },
  });
}

test("a port in use is reported in one line with the variable to set, and nothing is started", async (t) => {
  const folder = temporaryFolder(t);
  const server = createServer().listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const env = { ENGINES_DIR: folder, JAVA_HOME: plantJdk(join(folder, "jdk"), "25") };
  for (const [variable, engine] of [
    ["ENGINES_KAFKA_PORT", "Kafka"],
    ["ENGINES_ELASTICSEARCH_PORT", "Elasticsearch"],
  ] as const) {
    const [kafka, elasticsearch] = await freePorts(2);
    const ports = { ENGINES_KAFKA_PORT: String(kafka), ENGINES_ELASTICSEARCH_PORT: String(elasticsearch) };
    const { code, stdout, stderr } = await engines("up", { ...env, ...ports, [variable]: String(port) });
    t.is(code, 1);
    t.is(stdout, "");
    t.is(stderr, `Port ${port} for ${engine} is in use by another program: set ${variable} to a free one.\n`);
  }
});

test("if nothing was started, status says so and down has nothing to do", async (t) => {
  const env = { ENGINES_DIR: join(temporaryFolder(t), "none") };
  t.is((await engines("status", env)).stdout, "Kafka          stopped\nElasticsearch  stopped\n");
  t.is((await engines("down", env)).code, 0);
});

test("with a container engine, the compose file is started and stopped, on the given ports", async (t) => {
  const folder = temporaryFolder(t);
  const log = join(folder, "docker.log");
  plantProgram(
    join(folder, "bin"),
    "docker",
    `case $1 in info) echo 28.2.2;; *) echo "$* $ENGINES_KAFKA_PORT $ENGINES_ELASTICSEARCH_PORT $ENGINES_ELASTICSEARCH_VERSION $ENGINES_ELASTICSEARCH_DATA" >> '${log}';; esac`,
  );
  const ports = { ENGINES_KAFKA_PORT: "19", ENGINES_ELASTICSEARCH_PORT: "20" };
  const env = { PATH: join(folder, "bin"), ENGINES_WAY: "", ENGINES_DIR: join(folder, "engines"), ...ports };

  const { stdout } = await engines("up", env);
  t.is(stdout, "Kafka          127.0.0.1:19\nElasticsearch  http://127.0.0.1:20\n");
  t.regex((await engines("status", env)).stdout, /^Kafka {10}127\.0\.0\.1:19 does not answer: /);
  t.is((await engines("down", env)).code, 0);
  t.is((await engines("status", env)).stdout, "Kafka          stopped\nElasticsearch  stopped\n");

  const compose = `compose --file ${join(PROJECT, "infra/compose.yaml")}`;
  const release = "19 20 9.5.3 elasticsearch";
  t.is(readFileSync(log, "utf8"), `${compose} up --detach --wait ${release}\n${compose} down ${release}\n`);

  writeFileSync(log, "");
  t.is((await engines("up", { ...env, ENGINES_ELASTICSEARCH: "8.19" })).code, 0);
  // A later start without the setting keeps the release that runs.
  t.is((await engines("up", env)).code, 0);
  const other = `${compose} up --detach --wait 19 20 8.19.5 elasticsearch-8.19\n`;
  t.is(readFileSync(log, "utf8"), other.repeat(2));
});

test("another release than the running one is refused in one line, and nothing is started", async (t) => {
  const folder = temporaryFolder(t);
  const mark = markOf(folder, "elasticsearch");
  const running = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "--", mark]);
  t.teardown(() => running.kill("SIGKILL"));
  await once(running, "spawn");
  const [kafka] = await freePorts(1);
  const state = { url: "http://127.0.0.1:9200", release: "9.5" as const, pid: running.pid!, ready: true };
  updateState(folder, { way: "processes", elasticsearch: state });
  const env = { ENGINES_DIR: folder, ENGINES_KAFKA_PORT: String(kafka), ENGINES_ELASTICSEARCH: "8.19" };
  const { code, stdout, stderr } = await engines("up", env);
  t.is(code, 1);
  t.is(stdout, "");
  t.is(stderr, "Elasticsearch 9.5 is running: stop it with `make down` before you start 8.19.\n");
});

test("an error of the container engine is shown, with the way to run without it", async (t) => {
  const folder = temporaryFolder(t);
  const fail = "case $1 in info) echo 28.2.2;; *) echo no such image >&2; exit 18;; esac";
  plantProgram(join(folder, "bin"), "docker", fail);
  const env = { PATH: join(folder, "bin"), ENGINES_WAY: "", ENGINES_DIR: join(folder, "engines") };
  const { code, stderr } = await engines("up", env);
  t.is(code, 1);
  t.is(
    stderr,
    "docker compose up failed (ENGINES_WAY=processes runs the engines without containers):\nno such image\n",
  );
});

test("a program runs beside the engines with their addresses, and its exit code is passed on", async (t) => {
  const folder = temporaryFolder(t);
  plantProgram(join(folder, "bin"), "docker", "case $1 in info) echo 28.2.2;; esac");
  const env = { PATH: join(folder, "bin"), ENGINES_DIR: join(folder, "engines"), ENGINES_KAFKA_PORT: "19" };
  const script = "console.log(process.env.KAFKA_BROKERS, process.env.ELASTICSEARCH_URL); process.exit(7);";
  const command = [join(PROJECT, "infra/engines.ts"), "run", "--", process.execPath, "-e", script];
  const { code, stdout } = await runProgram(process.execPath, command, { env });
  t.deepEqual([code, stdout], [7, "127.0.0.1:19 http://127.0.0.1:9200\n"]);
});

test("an unknown command prints the usage", async (t) => {
  const { code, stderr } = await engines("pu", {});
  t.is(code, 2);
  t.true(stderr.startsWith("Usage: node infra/engines.ts"));
});

test("invalid settings are refused by name", (t) => {
  for (const port of ["0", "65536", "9092x", "-1", "1e3"]) {
    t.throws(() => readSettings({ ENGINES_KAFKA_PORT: port }), {
      instanceOf: StartError,
      message: `ENGINES_KAFKA_PORT must be a port from 1 to 65535, not "${port}".`,
    });
  }
  t.throws(() => readSettings({ ENGINES_ELASTICSEARCH: "7.17" }), {
    instanceOf: StartError,
    message: 'ENGINES_ELASTICSEARCH must be 9.5 or 8.19, not "7.17".',
  });
  t.throws(() => readSettings({ ENGINES_WAY: "docker" }), { instanceOf: StartError, message: /^ENGINES_WAY must be / });
  const { folder, kafkaPort, elasticsearchPort, way } = readSettings({ ENGINES_DIR: "/somewhere", ENGINES_WAY: "" });
  t.deepEqual([folder, kafkaPort, elasticsearchPort, way], ["/somewhere", 9092, 9200, null]);
});
