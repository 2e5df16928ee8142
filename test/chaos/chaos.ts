import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../infra/engines/engine.ts";
import { runAfterExit } from "../../infra/engines/guard.ts";
import { askElasticsearch, askKafka } from "../../infra/engines/ready.ts";
import { startElasticsearch, startKafka } from "../../infra/engines/start.ts";

/** Figures of one test, by name, as the report shows them. */
export type Figures = Readonly<Record<string, string | number>>;

/** A kind of fault, the condition to pass, and its test. */
export type Fault = {
  readonly name: string;
  /** What is done, and when the test passes. */
  readonly passes: string;
  /** Whether it needs Kafka and Elasticsearch. */
  readonly cluster: boolean;
  /** Whether it stops the engines themselves, so that no other test may use them meanwhile. */
  readonly alone?: true;
  /**
   * Runs the test.
   * @throws AssertionError if anything was lost, invented, duplicated or changed, or did not
   * recover
   */
  run(chaos: Chaos): Promise<Figures>;
};

/** The context of a fault test. */
export type Chaos = {
  /** Short forms take seconds each and run with `make test-long`. */
  readonly full: boolean;
  readonly engines: EnginePool;
  /** An empty folder, removed after the test. */
  readonly folder: string;
  /** Disposed of after the test. */
  readonly stack: AsyncDisposableStack;
  /** Duration of the soak, in seconds. */
  readonly soak_s: number;
  say(line: string): void;
};

/** Engines for this run alone, started on demand and shared by its tests, one after the other. */
export type EnginePool = AsyncDisposable & {
  kafka(): Promise<Engine>;
  elasticsearch(): Promise<Engine>;
  /** Restarts engines that a test left dead. */
  revive(): Promise<void>;
};

export function createEnginePool(say: (line: string) => void): EnginePool {
  let kafka: Promise<Engine> | null = null;
  let elasticsearch: Promise<Engine> | null = null;
  return {
    kafka: () => (kafka ??= startKafka({ say })),
    elasticsearch: () => (elasticsearch ??= startElasticsearch({ say })),
    async revive() {
      await revive(kafka, askKafka);
      await revive(elasticsearch, (address) => askElasticsearch(`http://${address}`));
    },
    async [Symbol.asyncDispose]() {
      const started = [kafka, elasticsearch];
      [kafka, elasticsearch] = [null, null];
      await Promise.all(started.map(async (engine) => (await engine?.catch(() => null))?.stop()));
    },
  };
}

async function revive(started: Promise<Engine> | null, ask: (address: string) => Promise<void>): Promise<void> {
  const engine = await started?.catch(() => null);
  if (engine) await ask(engine.address).catch(() => engine.restart());
}

/**
 * Runs one test and releases everything it set up, so that a failure does not affect the next one.
 */
export async function runFault(fault: Fault, chaos: Omit<Chaos, "stack" | "folder">): Promise<Figures> {
  try {
    await using stack = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), "loggia-chaos-"));
    stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
    stack.use(runAfterExit("rm", ["-rf", folder]));
    return await fault.run({ ...chaos, folder, stack });
  } catch (error) {
    if (fault.cluster) await chaos.engines.revive();
    throw error;
  }
}

/** Returns a random number between the two. */
export function between(least: number, most: number): number {
  return least + Math.random() * (most - least);
}
