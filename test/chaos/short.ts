import test, { type ExecutionContext } from "ava";
import { realEngines } from "../support/engine-kinds.ts";
import { createEnginePool, type Fault, runFault } from "./chaos.ts";
import { seconds } from "./measure.ts";

/** Longer than all waits of a fault together, so that what fails is reported and not the time. */
const TIMEOUT_MS = 1_200_000;
const SOAK_S = 8;
/**
 * Faults of a cluster spend most of their time waiting: for processes to start, for sessions to
 * expire, for watermarks.
 */
const AT_ONCE = 2;

/**
 * Declares the short forms of fault tests. Those of one file share a Kafka and an Elasticsearch:
 * faults that kill these run first, one after the other, and then the others, some at a time.
 * Faults on embedded engines keep the machine busy, so they run one after the other.
 */
export function declareShort(faults: readonly Fault[]): void {
  const engines = createEnginePool(() => {});
  const inTurn = createTurns(AT_ONCE);
  test.after.always("stops the engines", () => engines[Symbol.asyncDispose]());
  for (const fault of faults) {
    const title = `${fault.name}: ${fault.passes}`;
    const run = async (t: ExecutionContext): Promise<void> => {
      t.timeout(TIMEOUT_MS);
      const say = (line: string): void => t.log(line);
      const start_ms = performance.now();
      await t.notThrowsAsync(async () => {
        const figures = await runFault(fault, { full: false, engines, soak_s: SOAK_S, say });
        // The runner's own time includes the wait for its turn.
        t.log({ took: seconds(performance.now() - start_ms), ...figures });
      });
    };
    if (fault.cluster && !realEngines) test.skip(title, run);
    else if (fault.alone || !fault.cluster) test.serial(title, run);
    else test(title, (t) => inTurn(() => run(t)));
  }
}

/** Runs at most this many pieces of work at a time, in order of arrival. */
function createTurns(atOnce: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
