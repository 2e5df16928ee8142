import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const LOOK_MS = 500;
/** Maximum total load of a machine at rest, in cores. */
const BUSY = 0.2;
const PATIENCE_MS = 60_000;

/** Whether the machine failed to come to rest, so that waiting again is useless. */
let isRestless = false;

/**
 * Waits until the machine has been at rest for `calm_ms`: engines have started, merged and
 * checkpointed. Waits at most a minute, and gives up for good after that, since a shared machine
 * may never be at rest.
 */
export async function atRest(calm_ms = 1_000): Promise<void> {
  const deadline_ms = performance.now() + PATIENCE_MS;
  for (let calm = 0; calm < calm_ms && !isRestless;) {
    const [before, before_ms] = [work_ms(), performance.now()];
    await sleep(LOOK_MS);
    const busy = (work_ms() - before) / (performance.now() - before_ms);
    calm = busy < BUSY ? calm + LOOK_MS : 0;
    if (calm > 0 || performance.now() < deadline_ms) continue;
    isRestless = true;
    console.log("  the machine does not become idle: other processes are busy, measuring continues without waiting");
  }
}

/** Returns the total processor time so far. */
function work_ms(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}
