import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 500;
/** Maximum total load of an idle machine, in cores. */
const BUSY = 0.2;
const TIMEOUT_MS = 60_000;

/** Whether the machine did not become idle, so that waiting again is useless. */
let hasGivenUp = false;

/**
 * Waits until the machine has been idle for `idle_ms`: engines have started, merged and
 * checkpointed. Waits at most a minute, and gives up for good after that, since a shared machine
 * may never be idle.
 */
export async function waitUntilIdle(idle_ms = 1_000): Promise<void> {
  const deadline_ms = performance.now() + TIMEOUT_MS;
  for (let idle = 0; idle < idle_ms && !hasGivenUp;) {
    const [before, before_ms] = [work_ms(), performance.now()];
    await sleep(POLL_MS);
    const busy = (work_ms() - before) / (performance.now() - before_ms);
    idle = busy < BUSY ? idle + POLL_MS : 0;
    if (idle > 0 || performance.now() < deadline_ms) continue;
    hasGivenUp = true;
    console.log("  the machine does not become idle: other processes are busy, measuring continues without waiting");
  }
}

/** Returns the total processor time so far. */
function work_ms(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}
