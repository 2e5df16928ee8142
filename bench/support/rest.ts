import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const LOOK_MS = 500;
/** Where a machine is at rest, its processors have nothing to do for this part of the time. */
const IDLE = 0.9;
const PATIENCE_MS = 60_000;

/**
 * Waits until the machine was at rest for so long: until engines have started, merged what was written, folded their logs in. A minute at most, for on a machine that others
 * share that may never be.
 */
export async function atRest(calm_ms = 1_000): Promise<void> {
  const deadline_ms = performance.now() + PATIENCE_MS;
  for (let calm = 0; calm < calm_ms && performance.now() < deadline_ms;) {
    const before = processorTime();
    await sleep(LOOK_MS);
    const after = processorTime();
    const isCalm = after.idle - before.idle >= IDLE * (after.all - before.all);
    calm = isCalm ? calm + LOOK_MS : 0;
  }
}

function processorTime(): { readonly idle: number; readonly all: number } {
  const sum = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sum.idle += times.idle;
    sum.all += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return sum;
}
