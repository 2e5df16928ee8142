import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { StartedTestContainer } from "testcontainers";
import { StartError } from "../../src/errors.ts";
import type { Engine, EngineName } from "./engine.ts";
import { freePorts } from "./ports.ts";
import { askElasticsearch, askKafka } from "./ready.ts";
import { dataNameOf, DEFAULT_RELEASE, ELASTICSEARCH_RELEASES, type ElasticsearchRelease } from "./releases.ts";
import type { EngineSettings } from "./settings.ts";
import { COMPOSE_FILE } from "./settings.ts";
import type { State } from "./state.ts";
import { updateState } from "./state.ts";

const run = promisify(execFile);

/** Same releases as infra/compose.yaml and infra/jvm; `test/infra/versions.test.ts` checks it. */
export const KAFKA_IMAGE = "apache/kafka:4.3.1";
export const ELASTICSEARCH_IMAGE = "docker.elastic.co/elasticsearch/elasticsearch";

/** A first start pulls some 1.5 GB of images. */
const START_TIMEOUT_MS = 15 * 60_000;

let answered: Promise<boolean> | undefined;

/** Returns whether a container engine responds within a few seconds. Checked once per process. */
export function containerEngineAnswers(): Promise<boolean> {
  answered ??= run("docker", ["info", "--format", "{{.ServerVersion}}"], { timeout: 5_000 }).then(
    ({ stdout }) => stdout.trim() !== "",
    () => false,
  );
  return answered;
}

/** Starts both services of the compose file and waits until they are healthy. */
export async function composeUp(settings: EngineSettings, release: ElasticsearchRelease): Promise<State> {
  await compose(settings, release, "up", "--detach", "--wait");
  const state: State = {
    way: "containers",
    kafka: { brokers: [`127.0.0.1:${settings.kafkaPort}`], pid: null, ready: true },
    elasticsearch: { url: `http://127.0.0.1:${settings.elasticsearchPort}`, release, pid: null, ready: true },
  };
  updateState(settings.folder, state);
  return state;
}

/** Stops the services. Their volumes remain. */
export async function composeDown(settings: EngineSettings): Promise<void> {
  await compose(settings, settings.release ?? DEFAULT_RELEASE, "down");
}

async function compose(settings: EngineSettings, release: ElasticsearchRelease, ...args: string[]): Promise<void> {
  const env = {
    ...process.env,
    ENGINES_KAFKA_PORT: String(settings.kafkaPort),
    ENGINES_ELASTICSEARCH_PORT: String(settings.elasticsearchPort),
    ENGINES_ELASTICSEARCH_VERSION: ELASTICSEARCH_RELEASES[release],
    ENGINES_ELASTICSEARCH_DATA: dataNameOf(release),
  };
  try {
    await run("docker", ["compose", "--file", COMPOSE_FILE, ...args], { env, timeout: START_TIMEOUT_MS });
  } catch (error) {
    const stderr = ((error as { stderr?: string }).stderr ?? "").trim().split("\n").slice(-10).join("\n");
    throw new StartError(
      `docker compose ${args[0]} failed (ENGINES_WAY=processes runs the engines without containers):\n` +
        (stderr || (error as Error).message),
      { cause: error },
    );
  }
}

/**
 * Runs Kafka in a container that is removed when this process ends.
 * @throws StartError
 */
export async function startKafkaContainer(): Promise<Engine> {
  const { host, port } = await chooseAddress();
  return startContainer({
    name: "kafka",
    image: KAFKA_IMAGE,
    host,
    port,
    containerPort: 9092,
    environment: {
      KAFKA_NODE_ID: "1",
      KAFKA_PROCESS_ROLES: "broker,controller",
      KAFKA_CONTROLLER_QUORUM_VOTERS: "1@localhost:9093",
      KAFKA_CONTROLLER_LISTENER_NAMES: "CONTROLLER",
      KAFKA_LISTENERS: "HOST://:9092,INSIDE://:19092,CONTROLLER://:9093",
      KAFKA_ADVERTISED_LISTENERS: `HOST://${host}:${port},INSIDE://localhost:19092`,
      KAFKA_INTER_BROKER_LISTENER_NAME: "INSIDE",
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: "HOST:PLAINTEXT,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: "false",
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: "1",
      KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS: "4",
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: "1",
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: "1",
      KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR: "1",
      KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR: "1",
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: "0",
      KAFKA_HEAP_OPTS: "-Xms256m -Xmx384m",
    },
    ask: () => askKafka(`${host}:${port}`),
  });
}

/**
 * Runs Elasticsearch in a container that is removed when this process ends.
 * @throws StartError
 */
export async function startElasticsearchContainer(release: ElasticsearchRelease): Promise<Engine> {
  const { host, port } = await chooseAddress();
  return startContainer({
    name: "elasticsearch",
    image: `${ELASTICSEARCH_IMAGE}:${ELASTICSEARCH_RELEASES[release]}`,
    host,
    port,
    containerPort: 9200,
    environment: {
      "discovery.type": "single-node",
      "xpack.security.enabled": "false",
      "xpack.ml.enabled": "false",
      "cluster.routing.allocation.disk.threshold_enabled": "false",
      "cluster.max_shards_per_node": "5000",
      ES_JAVA_OPTS: "-Xms1g -Xmx1g",
    },
    ask: () => askElasticsearch(`http://${host}:${port}`),
  });
}

/**
 * Chooses host and port before the start. Kafka needs to know the address that it gives to clients,
 * and the port must survive a restart.
 */
async function chooseAddress(): Promise<{ host: string; port: number }> {
  const { getContainerRuntimeClient } = await import("testcontainers");
  const { info } = await getContainerRuntimeClient().catch((cause: Error) => {
    throw new StartError(
      `No container engine can be used (ENGINES_WAY=processes runs the engines without one): ${cause.message}`,
      {
        cause,
      },
    );
  });
  const [port] = await freePorts(1);
  const { host } = info.containerRuntime;
  return { host: host === "localhost" ? "127.0.0.1" : host, port: port! };
}

type ContainerPlan = {
  readonly name: EngineName;
  readonly image: string;
  readonly host: string;
  readonly port: number;
  readonly containerPort: number;
  readonly environment: Record<string, string>;
  readonly ask: () => Promise<void>;
};

async function startContainer(plan: ContainerPlan): Promise<Engine> {
  const { GenericContainer, getContainerRuntimeClient } = await import("testcontainers");
  let container: StartedTestContainer;
  try {
    container = await new GenericContainer(plan.image)
      .withExposedPorts({ container: plan.containerPort, host: plan.port })
      .withEnvironment(plan.environment)
      .withStartupTimeout(START_TIMEOUT_MS)
      .start();
  } catch (error) {
    throw new StartError(
      `The container ${plan.image} did not start (ENGINES_WAY=processes runs the engines without containers): ` +
        (error as Error).message,
      { cause: error },
    );
  }
  const { container: client } = await getContainerRuntimeClient();
  const handle = client.getById(container.getId());
  const stop = async (): Promise<void> => {
    await container.stop();
  };
  await askUntilReady(plan);
  return {
    name: plan.name,
    address: `${plan.host}:${plan.port}`,
    pid: null,
    async signal(name) {
      await handle.kill({ signal: name });
    },
    async kill(name = "SIGKILL") {
      const gone = handle.wait();
      await handle.kill({ signal: name });
      await gone;
    },
    async restart() {
      await handle.restart();
      await askUntilReady(plan);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function askUntilReady(plan: ContainerPlan): Promise<void> {
  const deadline = performance.now() + 120_000;
  for (;;) {
    try {
      return await plan.ask();
    } catch (cause) {
      if (performance.now() > deadline) {
        throw new StartError(`${plan.image} did not answer at ${plan.host}:${plan.port} within 120 s.`, { cause });
      }
    }
    await sleep(100);
  }
}
