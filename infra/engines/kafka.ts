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
import type { Say } from "./settings.ts";
import { JVM_FOLDER } from "./settings.ts";
import { updateState } from "./state.ts";

export type ProcessOptions = {
  /** Keeps `state.json`, the logs, and the data from one start to the next. */
  readonly folder: string;
  readonly jars: string;
  readonly port: number;
  readonly say: Say;
  /** Gives up the start. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the engine was ended by its `stop`. */
  readonly onStopped?: () => Promise<void>;
};

/** What a Kafka gets beside its open listener: guarded ones, which tests of credentials and certificates talk to. */
export type KafkaExtras = {
  /** On the loopback and under their names; a name is in capitals, and neither PLAINTEXT nor CONTROLLER. */
  readonly listeners: readonly { readonly name: string; readonly protocol: string; readonly port: number }[];
  /** Further properties of the server: keys and certificates, mechanisms, JAAS. */
  readonly properties: Readonly<Record<string, string>>;
  /** SCRAM users, as `--add-scram` takes them when the storage is formatted: `SCRAM-SHA-256=[name=…,password=…]`. */
  readonly scram: readonly string[];
};

const NO_EXTRAS: KafkaExtras = { listeners: [], properties: {}, scram: [] };

/**
 * Runs Kafka as one local process that is broker and controller at once.
 * @throws StartError
 */
export async function startKafkaProcess(
  options: ProcessOptions & { readonly extras?: KafkaExtras | undefined },
): Promise<Engine> {
  const { folder, jars, port, say, signal, onStopped, extras = NO_EXTRAS } = options;
  const jdk = await findJdk();
  const { kafka } = await resolveJars({ cache: jars, jdk, say, signal });
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
    args: ["-Xms256m", "-Xmx384m", mark, ...classPath, "kafka.Kafka", properties],
    mark,
    log: resolve(folder, "logs/kafka.log"),
    ask: () => askKafka(address),
    onProcess: (pid, ready) => updateState(folder, { way: "processes", kafka: { brokers: [address], pid, ready } }),
    signal,
    onStopped,
  });
}

/**
 * One broker, so every topic of Kafka's own has one replica. Topics are made by who owns them, with
 * the partitions and the retention they mean, never by a first use. The broker's session is shorter
 * than Kafka's own 9 s: one that was killed cannot join again before its last session has ended.
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

/** Kafka starts on formatted folders only; the id is the cluster's for as long as its data lives. */
async function format(
  java: string,
  classPath: readonly string[],
  properties: string,
  home: string,
  scram: readonly string[],
): Promise<void> {
  if (existsSync(join(home, "data/meta.properties"))) return;
  const id = crypto.getRandomValues(new Uint8Array(16)).toBase64({ alphabet: "base64url", omitPadding: true });
  // An id that began with a dash would be read as an option.
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
