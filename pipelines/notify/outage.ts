/** Back-off of an unavailable mail server: the wait doubles with each failure in a row. */
export type Outage = {
  /** Number of failures in a row. Unless it is 0, one mail at a time is tried. */
  readonly failures: number;
  /** No mail is tried before this time. */
  readonly until_ms: number;
};

export const NO_OUTAGE: Outage = { failures: 0, until_ms: 0 };

/** Returns the state after one more failure. Failures of concurrent mails count once. */
export function prolong(
  outage: Outage,
  now_ms: number,
  { first_ms, last_ms }: { first_ms: number; last_ms: number },
): Outage {
  if (now_ms < outage.until_ms) return outage;
  const wait_ms = Math.min(first_ms * 2 ** Math.min(outage.failures, 30), last_ms);
  return { failures: outage.failures + 1, until_ms: now_ms + wait_ms };
}
