import { StartError } from "../../src/errors.ts";
import { chooseWay } from "./choose.ts";
import { startElasticsearchContainer, startKafkaContainer } from "./containers.ts";
import { startElasticsearchProcess } from "./elasticsearch.ts";
import { TITLES } from "./engine.ts";
import type { Engine } from "./engine.ts";
import { startKafkaProcess } from "./kafka.ts";
import type { KafkaExtras, ProcessOptions } from "./kafka.ts";
import { freePorts } from "./ports.ts";
import { askElasticsearch, askKafka } from "./ready.ts";
import { DEFAULT_RELEASE, type ElasticsearchRelease } from "./releases.ts";
import { readSettings } from "./settings.ts";
import type { Say } from "./settings.ts";
import { guardEngineFolder, removeEngineFolder, removeOrphanedEngines, temporaryEngineFolder } from "./temporary.ts";

/** A running pair of Kafka and Elasticsearch. */
export type Engines = AsyncDisposable & {
  readonly kafkaBrokers: string[];
  readonly elasticsearchUrl: string;
  /** Stops engines that were started. Engines given by their addresses keep running. */
  close(): Promise<void>;
};

export type StartOptions = {
  /** Receives progress messages. */
  readonly say?: Say;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Aborts the start, and stops what was started so far. */
  readonly signal?: AbortSignal;
};

/**
 * Starts a pair of engines for the caller, with empty data and on free ports. They are those of
 * TEST_KAFKA_BROKERS and TEST_ELASTICSEARCH_URL if both are set, otherwise containers if a
 * container engine is available, otherwise local processes.
 * @throws StartError that says what to install or to set
 */
export async function startEngines(options: StartOptions = {}): Promise<Engines> {
  const { say = () => {}, env = process.env } = options;
  const given = await enginesOfEnvironment(env, say);
  if (given) return given;
  const started = await Promise.allSettled([startKafka(options), startElasticsearch(options)]);
  const engines = started.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
  const close = async (): Promise<void> => {
    await Promise.all(engines.map((engine) => engine.stop()));
  };
  const failed = started.find((start) => start.status === "rejected");
  if (failed) {
    await close();
    throw failed.reason;
  }
  const [kafka, elasticsearch] = engines;
  return {
    kafkaBrokers: [kafka!.address],
    elasticsearchUrl: `http://${elasticsearch!.address}`,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Starts a Kafka for the caller on a free port. It can be frozen, killed and restarted on the same
 * port and data. It is removed with its data by `stop`, or when its owner ends in any way.
 * @param options.extras - guarded listeners, which require a local process even if a container
 * engine is available
 * @throws StartError
 */
export function startKafka(options: StartOptions & { readonly extras?: KafkaExtras } = {}): Promise<Engine> {
  const { extras } = options;
  if (extras === undefined) return startAlone(options, startKafkaContainer, startKafkaProcess);
  return startAsProcess(options, (process) => startKafkaProcess({ ...process, extras }));
}

/**
 * Starts an Elasticsearch for the caller; otherwise like `startKafka`.
 * @throws StartError
 */
export function startElasticsearch(options: StartOptions = {}): Promise<Engine> {
  return startAlone(options, startElasticsearchContainer, startElasticsearchProcess);
}

async function startAlone(
  options: StartOptions,
  startContainer: (release: ElasticsearchRelease) => Promise<Engine>,
  startProcess: (options: ProcessOptions) => Promise<Engine>,
): Promise<Engine> {
  const { say = () => {}, env = process.env } = options;
  const { way, release } = readSettings(env);
  if ((await chooseWay(way)) !== "containers") return startAsProcess(options, startProcess);
  const engine = await startContainer(release ?? DEFAULT_RELEASE);
  say(`${TITLES[engine.name]} in a container at ${engine.address}`);
  return engine;
}

async function startAsProcess(
  { say = () => {}, env = process.env, signal }: StartOptions,
  startProcess: (options: ProcessOptions) => Promise<Engine>,
): Promise<Engine> {
  const { jars, jvmOptions, release: wanted } = readSettings(env);
  const release = wanted ?? DEFAULT_RELEASE;
  await removeOrphanedEngines();
  const folder = temporaryEngineFolder();
  const guard = guardEngineFolder(folder);
  const remove = async (): Promise<void> => {
    await removeEngineFolder(folder);
    guard[Symbol.dispose]();
  };
  try {
    const [port] = await freePorts(1);
    const engine = await startProcess({
      folder,
      jars,
      release,
      port: port!,
      jvmOptions,
      say,
      signal,
      onStopped: remove,
    });
    say(`${TITLES[engine.name]} as a local process at ${engine.address}`);
    return engine;
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Leaves engines of the environment running. */
async function keepRunning(): Promise<void> {}

async function enginesOfEnvironment(env: NonNullable<StartOptions["env"]>, say: Say): Promise<Engines | null> {
  const brokers = env["TEST_KAFKA_BROKERS"];
  const url = env["TEST_ELASTICSEARCH_URL"];
  if (!brokers && !url) return null;
  if (!brokers || !url) throw new StartError("Set both TEST_KAFKA_BROKERS and TEST_ELASTICSEARCH_URL, or neither.");
  const kafkaBrokers = brokers.split(",");
  await Promise.all([
    requireAnswer("Kafka", "TEST_KAFKA_BROKERS", brokers, askKafka(kafkaBrokers[0]!)),
    requireAnswer("Elasticsearch", "TEST_ELASTICSEARCH_URL", url, askElasticsearch(url)),
  ]);
  say(`Kafka at ${brokers} and Elasticsearch at ${url}, from the environment`);
  return { kafkaBrokers, elasticsearchUrl: url, close: keepRunning, [Symbol.asyncDispose]: keepRunning };
}

async function requireAnswer(engine: string, variable: string, address: string, asked: Promise<void>): Promise<void> {
  await asked.catch((cause: Error) => {
    throw new StartError(`${variable} names ${address}, but no ${engine} answers there: ${cause.message}`, { cause });
  });
}
