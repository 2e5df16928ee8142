const MOST_S = 30;

/** Returns the delay in seconds: 1, 2, 4 and so on up to a limit, and at least `retryAfter_s`. */
export function delayAfter(failures: number, retryAfter_s: number | null): number {
  return Math.max(Math.min(2 ** (failures - 1), MOST_S), retryAfter_s ?? 0);
}
