import { setTimeout as sleep } from "node:timers/promises";

/**
 * Delays of retries while a new index cannot be read yet, in milliseconds: 6 s in total. A cluster
 * under load needs several of them to allocate the shard.
 */
export const NEW_INDEX_DELAYS_MS = [50, 100, 200, 400, 750, 1500, 3000] as const;

/**
 * Retries a request after each of the delays while it fails with a transient error.
 * @throws the request's error if it is not transient, or after the last delay
 */
export async function retryWhile<T>(
  isTransient: (error: unknown) => boolean,
  delays_ms: readonly number[],
  request: () => Promise<T>,
): Promise<T> {
  for (const delay_ms of delays_ms) {
    try {
      return await request();
    } catch (error) {
      if (!isTransient(error)) throw error;
      await sleep(delay_ms);
    }
  }
  return request();
}
