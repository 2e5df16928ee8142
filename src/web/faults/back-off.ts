const MOST_S = 30;

/** How long to wait after so many failures, in seconds: 1, 2, 4, 8 and so on, and what the service asks for. */
export function delayAfter(failures: number, retryAfter_s: number | null): number {
  return Math.max(Math.min(2 ** (failures - 1), MOST_S), retryAfter_s ?? 0);
}
