import { join } from "node:path";
import { startElasticsearchProcess } from "./elasticsearch.ts";
import { startKafkaProcess } from "./kafka.ts";
import { withLock } from "./lock.ts";
import type { Detached } from "./processes.ts";
import { isRunning, stop } from "./processes.ts";
import { askElasticsearch, askKafka } from "./ready.ts";
import type { EngineSettings, Say } from "./settings.ts";
import { readState, removeState } from "./state.ts";
import type { State } from "./state.ts";

/** The longest that one start may hold up another of the same folder: a first resolution on a slow line. */
const LOCK_TIMEOUT_MS = 20 * 60_000;

/** Starts what does not run yet in the folder of `settings`, and returns once both engines answer. */
export function up(settings: EngineSettings, say: Say): Promise<State> {
  const { folder, jars } = settings;
  return withLock(join(folder, "lock"), LOCK_TIMEOUT_MS, async () => {
    const running = runningIn(folder);
    const starts = [];
    if (!running.kafka) starts.push(startKafkaProcess({ folder, jars, port: settings.kafkaPort, say }));
    if (!running.elasticsearch)
      starts.push(startElasticsearchProcess({ folder, jars, port: settings.elasticsearchPort, say }));
    const failed = (await Promise.allSettled(starts)).find((start) => start.status === "rejected");
    if (failed) throw failed.reason;
    return readState(folder)!;
  });
}

/** Stops what was started in the folder; its data stay. */
export function down(settings: EngineSettings): Promise<void> {
  return withLock(join(settings.folder, "lock"), LOCK_TIMEOUT_MS, () => stopEnginesIn(settings.folder));
}

/** Stops the processes that the state of `folder` names and that still are ours. */
export async function stopEnginesIn(folder: string): Promise<void> {
  await Promise.all(Object.values(runningIn(folder)).map((engine) => stop(engine)));
  removeState(folder);
}

/** Of each engine of `folder`, whether it runs and answers. */
export async function health(folder: string): Promise<{ kafka: string; elasticsearch: string }> {
  const state = readState(folder);
  const running = runningIn(folder);
  const told = async (
    engine: Detached | undefined,
    address: string | undefined,
    ask: (address: string) => Promise<void>,
  ) => {
    if (!engine || !address) return "stopped";
    return ask(address).then(
      () => address,
      () => `${address} does not answer (process ${engine.pid})`,
    );
  };
  return {
    kafka: await told(running.kafka, state?.kafka?.brokers[0], askKafka),
    elasticsearch: await told(running.elasticsearch, state?.elasticsearch?.url, askElasticsearch),
  };
}

function runningIn(folder: string): { kafka?: Detached; elasticsearch?: Detached } {
  const state = readState(folder);
  const running: { kafka?: Detached; elasticsearch?: Detached } = {};
  for (const name of ["kafka", "elasticsearch"] as const) {
    const pid = state?.[name]?.pid;
    if (!pid) continue;
    const engine = { pid, mark: `-Dloggia.engine=${join(folder, name)}` };
    if (isRunning(engine)) running[name] = engine;
  }
  return running;
}
