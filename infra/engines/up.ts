import { join } from "node:path";
import { chooseWay } from "./choose.ts";
import { composeDown, composeUp } from "./containers.ts";
import { startElasticsearchProcess } from "./elasticsearch.ts";
import { startKafkaProcess } from "./kafka.ts";
import { withLock } from "./lock.ts";
import { processesOf, stopProcessesOf } from "./processes-of.ts";
import { requireFreePort } from "./ports.ts";
import { askElasticsearch, askKafka } from "./ready.ts";
import { DEFAULT_RELEASE, type ElasticsearchRelease } from "./releases.ts";
import type { EngineSettings, Say } from "./settings.ts";
import { StartError } from "../../src/errors.ts";
import { readState, removeState } from "./state.ts";
import type { State } from "./state.ts";

/** Longest wait for another start in the same folder: a first resolution on a slow connection. */
const LOCK_TIMEOUT_MS = 20 * 60_000;

/**
 * Starts the engines that do not run yet, and returns once both answer.
 * @throws StartError
 */
export function up(settings: EngineSettings, say: Say): Promise<State> {
  const { folder, jars } = settings;
  return withLock(join(folder, "lock"), LOCK_TIMEOUT_MS, async () => {
    const running = processesOf(folder);
    const none = !running.kafka && !running.elasticsearch;
    const current = readState(folder)?.elasticsearch?.release ?? DEFAULT_RELEASE;
    const release = settings.release ?? current;
    if (none && (await chooseWay(settings.way)) === "containers") return composeUp(settings, release);

    if (running.elasticsearch && release !== current) throw runsAlready(current, release);
    const { kafkaPort, elasticsearchPort, jvmOptions } = settings;
    if (!running.kafka) await requireFreePort(kafkaPort, "Kafka", "ENGINES_KAFKA_PORT");
    if (!running.elasticsearch) {
      await requireFreePort(elasticsearchPort, "Elasticsearch", "ENGINES_ELASTICSEARCH_PORT");
    }
    const starts = [];
    if (!running.kafka) starts.push(startKafkaProcess({ folder, jars, release, port: kafkaPort, jvmOptions, say }));
    if (!running.elasticsearch)
      starts.push(startElasticsearchProcess({ folder, jars, release, port: elasticsearchPort, jvmOptions, say }));
    const failed = (await Promise.allSettled(starts)).find((start) => start.status === "rejected");
    if (failed) throw failed.reason;
    return readState(folder)!;
  });
}

function runsAlready(current: ElasticsearchRelease, wanted: ElasticsearchRelease): StartError {
  return new StartError(`Elasticsearch ${current} is running: stop it with \`make down\` before you start ${wanted}.`);
}

/**
 * Stops the engines that were started in the folder. Their data remains.
 * @throws StartError
 */
export function down(settings: EngineSettings): Promise<void> {
  return withLock(join(settings.folder, "lock"), LOCK_TIMEOUT_MS, async () => {
    if (readState(settings.folder)?.way === "containers") await composeDown(settings);
    await stopProcessesOf(settings.folder);
    removeState(settings.folder);
  });
}

/** Returns the address of each engine and whether it answers. */
export async function status(folder: string): Promise<{ kafka: string; elasticsearch: string }> {
  const state = readState(folder);
  const running = processesOf(folder);
  const contained = state?.way === "containers";
  const [kafka, elasticsearch] = await Promise.all([
    addressOrFault(contained || running.kafka ? state?.kafka?.brokers[0] : undefined, askKafka),
    addressOrFault(contained || running.elasticsearch ? state?.elasticsearch?.url : undefined, askElasticsearch),
  ]);
  return { kafka, elasticsearch };
}

async function addressOrFault(address: string | undefined, ask: (address: string) => Promise<void>): Promise<string> {
  if (!address) return "stopped";
  return ask(address).then(
    () => address,
    (error: Error) => `${address} does not answer: ${error.message}`,
  );
}
