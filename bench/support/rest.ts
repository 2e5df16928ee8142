import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const LOOK_MS = 500;
/** Where a machine is at rest, all that is at work takes no more than this part of one core. */
const BUSY = 0.2;
const PATIENCE_MS = 60_000;

/** Whether the machine did not come to rest: then there is no use in waiting for it again. */
let isRestless = false;

/**
 * Waits until the machine was at rest for so long: until engines have started, merged what was
 * written, folded their logs in. A minute at most, and once, for on a machine that others share
 * that may never be.
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
    console.log("  the machine does not come to rest: others are at work, which is not waited for any more");
  }
}

/** What all processors have worked. */
function work_ms(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}
