import { isGone, isRunning, launch, signal, stop, waitUntilReady } from "./processes.ts";
import type { Detached } from "./processes.ts";

export type EngineName = "kafka" | "elasticsearch";

/**
 * A running engine, with the controls that fault-injection tests need. Its address and data stay
 * the same across restarts.
 */
export type Engine = AsyncDisposable & {
  readonly name: EngineName;
  /** `host:port` */
  readonly address: string;
  /** Id of the current process; null in a container. */
  readonly pid: number | null;
  /** Sends a signal without waiting: SIGSTOP freezes the engine, SIGCONT resumes it. */
  signal(name: NodeJS.Signals): Promise<void>;
  /** Kills the engine, by SIGKILL or the given signal, and waits until it is gone. */
  kill(name?: NodeJS.Signals): Promise<void>;
  /** Stops the engine gracefully if it runs, and starts it. Resolves when it answers requests. */
  restart(): Promise<void>;
  /** Stops the engine gracefully. */
  stop(): Promise<void>;
};

/** Describes how to run an engine as a local process. */
export type ProcessPlan = {
  readonly name: EngineName;
  readonly address: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Part of `args` that is unique to this process and identifies it besides its pid. */
  readonly mark: string;
  readonly log: string;
  /** Rejects while the engine does not answer. */
  readonly ask: () => Promise<void>;
  /** Called for each new process: when it was launched, and when it is ready. */
  readonly onProcess: (pid: number, ready: boolean) => void;
  /** Aborts a start. */
  readonly signal?: AbortSignal | undefined;
  /** Called after `stop`. */
  readonly onStopped?: (() => Promise<void>) | undefined;
};

export const TITLES = { kafka: "Kafka", elasticsearch: "Elasticsearch" } as const;

/**
 * Starts an engine and waits until it answers.
 * @throws StartError with the end of its log if it does not. The process is stopped then
 */
export async function startProcess(plan: ProcessPlan): Promise<Engine> {
  const { name, address } = plan;
  let current = await begin(plan);
  const end = async (): Promise<void> => {
    await stop(current);
    await plan.onStopped?.();
  };
  return {
    name,
    address,
    get pid() {
      return current.pid;
    },
    async signal(name) {
      signal(current, name);
    },
    async kill(name = "SIGKILL") {
      signal(current, name);
      if (!(await isGone(current, 30_000))) throw new Error(`${TITLES[plan.name]} outlived ${name} for 30 s.`);
    },
    async restart() {
      if (isRunning(current)) await stop(current);
      current = await begin(plan);
    },
    stop: end,
    [Symbol.asyncDispose]: end,
  };
}

async function begin(plan: ProcessPlan): Promise<Detached> {
  plan.signal?.throwIfAborted();
  const detached = await launch(plan.command, plan.args, plan.mark, plan.log);
  plan.onProcess(detached.pid, false);
  try {
    await waitUntilReady(TITLES[plan.name], detached, plan.log, plan.ask, { signal: plan.signal });
  } catch (error) {
    await stop(detached, 0);
    throw error;
  }
  plan.onProcess(detached.pid, true);
  return detached;
}
