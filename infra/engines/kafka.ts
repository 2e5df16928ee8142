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

/**
 * Runs Kafka as one local process that is broker and controller at once.
 * @throws StartError
 */
export async function startKafkaProcess(options: ProcessOptions): Promise<Engine> {
  const { folder, jars, port, say, signal, onStopped } = options;
  const jdk = await findJdk();
  const { kafka } = await resolveJars({ cache: jars, jdk, say, signal });
  const home = resolve(folder, "kafka");
  const [controllerPort] = await freePorts(1);
  const properties = join(home, "server.properties");
  await mkdir(home, { recursive: true });
  await writeFile(properties, serverProperties(join(home, "data"), port, controllerPort!));

  const command = join(jdk.home, "bin/java");
  const logging = `-Dlog4j2.configurationFile=${join(JVM_FOLDER, "kafka/log4j2.properties")}`;
  const classPath = ["-cp", join(kafka, "*"), logging];
  await format(command, classPath, properties, home);

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
 * One broker, so every topic of Kafka's own has one replica. Topics are made by who owns them, with the partitions and the
 * retention they mean, never by a first use.
 */
function serverProperties(data: string, port: number, controllerPort: number): string {
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controllerPort}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=PLAINTEXT://127.0.0.1:${port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
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
`;
}

/** Kafka starts on formatted folders only; the id is the cluster's for as long as its data lives. */
async function format(java: string, classPath: readonly string[], properties: string, home: string): Promise<void> {
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
    ]);
  } catch (error) {
    throw new StartError(`Kafka's storage could not be formatted in ${home}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
