import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../infra/engines/engine.ts";
import { runAfterExit } from "../../infra/engines/guard.ts";
import { askElasticsearch, askKafka } from "../../infra/engines/ready.ts";
import { startElasticsearch, startKafka } from "../../infra/engines/start.ts";

/** Figures of one test, by name, as they stand in the report. */
export type Figures = Readonly<Record<string, string | number>>;

/** One kind of fault, what must hold all the same, and the test of it. */
export type Fault = {
  readonly name: string;
  /** What is done, and when it counts as passed. */
  readonly passes: string;
  /** Whether it needs Kafka and Elasticsearch. */
  readonly cluster: boolean;
  /** Whether it takes the engines themselves away, so that no other test may use them meanwhile. */
  readonly alone?: true;
  /** @throws AssertionError where something was lost, invented, doubled or changed, or did not go on */
  run(chaos: Chaos): Promise<Figures>;
};

/** What a test of faults is given. */
export type Chaos = {
  /** Short forms take seconds each and run with every `make test`. */
  readonly full: boolean;
  readonly engines: EnginePool;
  /** Empty, and removed when the test is over. */
  readonly folder: string;
  /** Disposed of when the test is over. */
  readonly stack: AsyncDisposableStack;
  /** How long the soak lasts. */
  readonly soak_s: number;
  say(line: string): void;
};

/** Engines of this run alone, started when first asked for, and shared by its tests, one after the other. */
export type EnginePool = AsyncDisposable & {
  kafka(): Promise<Engine>;
  elasticsearch(): Promise<Engine>;
  /** Starts again what a test left dead. */
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

/** Runs one test, and takes down all that it set up. One that fails spoils nothing for the next. */
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

/** A number between the two, drawn at random. */
export function between(least: number, most: number): number {
  return least + Math.random() * (most - least);
}
