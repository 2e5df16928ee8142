import { setTimeout as sleep } from "node:timers/promises";

/**
 * Delays until an index that was made a moment ago can be read, in milliseconds: 3 s in all. A
 * cluster that has much to do takes more than one of them to make its shard ready.
 */
export const NEW_INDEX_DELAYS_MS = [50, 100, 200, 400, 750, 1500] as const;

/**
 * Repeats a request that fails for a reason that passes by itself, after each of the delays.
 * @throws what the request throws for another reason, or after the last delay
 */
export async function retryWhile<T>(
  isPassing: (error: unknown) => boolean,
  delays_ms: readonly number[],
  request: () => Promise<T>,
): Promise<T> {
  for (const delay_ms of delays_ms) {
    try {
      return await request();
    } catch (error) {
      if (!isPassing(error)) throw error;
      await sleep(delay_ms);
    }
  }
  return request();
}
