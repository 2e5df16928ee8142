import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import test from "ava";
import { freePorts } from "../../infra/engines/ports.ts";
import { readSettings } from "../../infra/engines/settings.ts";
import { StartError } from "../../src/errors.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { PROJECT, plantJdk, runProgram } from "./support.ts";
import type { Outcome } from "./support.ts";

function engines(command: string, env: Record<string, string>): Promise<Outcome> {
  return runProgram(process.execPath, [join(PROJECT, "infra/engines.ts"), command], {
    env: { PATH: "", ENGINES_WAY: "processes", ...env },
  });
}

test("a taken port is one line that names the variable to set, and nothing is started", async (t) => {
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
    t.is(stderr, `Port ${port} for ${engine} is taken by another program: set ${variable} to a free one.\n`);
  }
});

test("where nothing was started, status says so and down has nothing to do", async (t) => {
  const env = { ENGINES_DIR: join(temporaryFolder(t), "none") };
  t.is((await engines("status", env)).stdout, "Kafka          stopped\nElasticsearch  stopped\n");
  t.is((await engines("down", env)).code, 0);
});

test("a command that is none is answered with the usage", async (t) => {
  const { code, stderr } = await engines("pu", {});
  t.is(code, 2);
  t.true(stderr.startsWith("Usage: node infra/engines.ts"));
});

test("settings that cannot be are refused by name", (t) => {
  for (const port of ["0", "65536", "9092x", "-1", "1e3"]) {
    t.throws(() => readSettings({ ENGINES_KAFKA_PORT: port }), {
      instanceOf: StartError,
      message: `ENGINES_KAFKA_PORT must be a port from 1 to 65535, not "${port}".`,
    });
  }
  t.throws(() => readSettings({ ENGINES_WAY: "docker" }), { instanceOf: StartError, message: /^ENGINES_WAY must be / });
  const { folder, kafkaPort, elasticsearchPort, way } = readSettings({ ENGINES_DIR: "/somewhere", ENGINES_WAY: "" });
  t.deepEqual([folder, kafkaPort, elasticsearchPort, way], ["/somewhere", 9092, 9200, null]);
});
