import { isGone, isRunning, launch, signal, stop, waitUntilReady } from "./processes.ts";
import type { Detached } from "./processes.ts";

export type EngineName = "kafka" | "elasticsearch";

/**
 * One running engine and the hand on it that a test of faults needs. Its address and its data stay
 * the same through restarts.
 */
export type Engine = AsyncDisposable & {
  readonly name: EngineName;
  /** `host:port` */
  readonly address: string;
  /** Of the process that runs now; null in a container. */
  readonly pid: number | null;
  /** Sends a signal and does not wait: SIGSTOP freezes the engine, SIGCONT wakes it. */
  signal(name: NodeJS.Signals): Promise<void>;
  /** Ends the engine at once (or as `name` does it) and waits until it is gone. */
  kill(name?: NodeJS.Signals): Promise<void>;
  /** Ends what still runs, politely, and starts it again; resolves when it answers requests. */
  restart(): Promise<void>;
  /** Ends it politely. */
  stop(): Promise<void>;
};

/** How to run an engine as a local process. */
export type ProcessPlan = {
  readonly name: EngineName;
  readonly address: string;
  readonly command: string;
  readonly args: readonly string[];
  /** A part of `args` that no other process has: so the process is known again by its pid. */
  readonly mark: string;
  readonly log: string;
  /** Throws as long as the engine does not answer. */
  readonly ask: () => Promise<void>;
  /** Hears of each new process, first when it was launched and again when it is ready. */
  readonly onProcess: (pid: number, ready: boolean) => void;
  /** Gives up a start that has not come to its end. */
  readonly signal?: AbortSignal | undefined;
  /** Called after `stop`. */
  readonly onStopped?: (() => Promise<void>) | undefined;
};

export const TITLES = { kafka: "Kafka", elasticsearch: "Elasticsearch" } as const;

/**
 * Starts the engine of `plan` and waits until it answers.
 * @throws StartError with the end of its log, where it does not; then nothing is left running
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
