import { setTimeout as sleep } from "node:timers/promises";

/**
 * Polls `condition` until it returns a truthy value, and returns that value.
 * A condition that throws counts as unmet; its last error becomes the cause of the failure.
 * @throws Error naming `what` after `timeout_ms` (90 s, for busy machines)
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: { what: string; timeout_ms?: number; interval_ms?: number },
): Promise<NonNullable<T>> {
  const { what, timeout_ms = 90_000, interval_ms = 25 } = options;
  const deadline = performance.now() + timeout_ms;
  let cause: unknown;
  for (;;) {
    try {
      const answer = await condition();
      if (answer) return answer;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= deadline) {
      throw new Error(`Waited ${timeout_ms} ms in vain for: ${what}`, cause === undefined ? undefined : { cause });
    }
    await sleep(interval_ms);
  }
}
