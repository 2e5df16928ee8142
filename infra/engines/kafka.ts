import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { StartError } from "../../src/errors.ts";
import { startProcess } from "./engine.ts";
import type { Engine } from "./engine.ts";
import { findJdk } from "./jdk.ts";
import { resolveJars } from "./jars.ts";
import { freePorts } from "./ports.ts";
import { markOf } from "./processes-of.ts";
import { askKafka } from "./ready.ts";
import type { ElasticsearchRelease } from "./releases.ts";
import type { Say } from "./settings.ts";
import { JVM_FOLDER } from "./settings.ts";
import { updateState } from "./state.ts";

export type ProcessOptions = {
  /** Folder of `state.json`, logs and data, which are kept from one start to the next. */
  readonly folder: string;
  readonly jars: string;
  readonly release: ElasticsearchRelease;
  readonly port: number;
  readonly jvmOptions: readonly string[];
  readonly say: Say;
  /** Aborts the start. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the engine was stopped by its `stop`. */
  readonly onStopped?: () => Promise<void>;
};

/** Additional guarded listeners of a Kafka, for tests of credentials and certificates. */
export type KafkaExtras = {
  /** Loopback listeners. A name is in capitals, and neither PLAINTEXT nor CONTROLLER. */
  readonly listeners: readonly { readonly name: string; readonly protocol: string; readonly port: number }[];
  /** Further server properties: keys and certificates, mechanisms, JAAS. */
  readonly properties: Readonly<Record<string, string>>;
  /** SCRAM users in the form of `--add-scram`: `SCRAM-SHA-256=[name=…,password=…]`. */
  readonly scram: readonly string[];
};

const NO_EXTRAS: KafkaExtras = { listeners: [], properties: {}, scram: [] };

/**
 * Runs Kafka as one local process that is both broker and controller.
 * @throws StartError
 */
export async function startKafkaProcess(
  options: ProcessOptions & { readonly extras?: KafkaExtras | undefined },
): Promise<Engine> {
  const { folder, jars, release, port, jvmOptions, say, signal, onStopped, extras = NO_EXTRAS } = options;
  const jdk = await findJdk();
  const { kafka } = await resolveJars({ cache: jars, release, jdk, say, signal });
  const home = resolve(folder, "kafka");
  const [controllerPort] = await freePorts(1);
  const properties = join(home, "server.properties");
  await mkdir(home, { recursive: true });
  const content = serverProperties(join(home, "data"), port, controllerPort!, extras);
  // Extra properties may hold passwords.
  await writeFile(properties, content, { mode: 0o600 });

  const command = join(jdk.home, "bin/java");
  const logging = `-Dlog4j2.configurationFile=${join(JVM_FOLDER, "kafka/log4j2.properties")}`;
  const classPath = ["-cp", join(kafka, "*"), logging];
  await format(command, classPath, properties, home, extras.scram);

  const address = `127.0.0.1:${port}`;
  const mark = markOf(resolve(folder), "kafka");
  return startProcess({
    name: "kafka",
    address,
    command,
    args: ["-Xms256m", "-Xmx384m", ...jvmOptions, mark, ...classPath, "kafka.Kafka", properties],
    mark,
    log: resolve(folder, "logs/kafka.log"),
    ask: () => askKafka(address),
    onProcess: (pid, ready) => updateState(folder, { way: "processes", kafka: { brokers: [address], pid, ready } }),
    signal,
    onStopped,
  });
}

/**
 * Returns the configuration. With one broker, Kafka's own topics have one replica. Topics are not
 * created on first use: their owners create them with their partitions and retention. The session
 * timeout is shorter than Kafka's 9 s, because a killed broker can rejoin only after it.
 */
function serverProperties(data: string, port: number, controllerPort: number, extras: KafkaExtras): string {
  const added = extras.listeners.map(({ name, port }) => `,${name}://127.0.0.1:${port}`).join("");
  const protocols = extras.listeners.map(({ name, protocol }) => `,${name}:${protocol}`).join("");
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controllerPort}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}${added}
advertised.listeners=PLAINTEXT://127.0.0.1:${port}${added}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT${protocols}
log.dirs=${data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=1000
${Object.entries(extras.properties)
  .map(([name, value]) => `${name}=${value.replaceAll("\\", "\\\\")}\n`)
  .join("")}`;
}

/** Formats the storage, which Kafka requires. The cluster id lasts as long as the data. */
async function format(
  java: string,
  classPath: readonly string[],
  properties: string,
  home: string,
  scram: readonly string[],
): Promise<void> {
  if (existsSync(join(home, "data/meta.properties"))) return;
  const id = crypto.getRandomValues(new Uint8Array(16)).toBase64({ alphabet: "base64url", omitPadding: true });
  // An id that begins with a dash would be read as an option.
  const clusterId = `L${id.slice(1)}`;
  try {
    await promisify(execFile)(java, [
      "-Xmx128m",
      ...classPath,
      "kafka.tools.StorageTool",
      "format",
      "-t",
      clusterId,
      "-c",
      properties,
      ...scram.flatMap((user) => ["--add-scram", user]),
    ]);
  } catch (error) {
    throw new StartError(`Kafka's storage could not be formatted in ${home}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
