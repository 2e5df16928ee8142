/** Keeps from asking a mail server that is away again and again: the wait doubles with each failure in a row. */
export type Outage = {
  /** 0 while all is well; otherwise one mail at a time is tried. */
  readonly failures: number;
  /** Nothing is tried before then. */
  readonly until_ms: number;
};

export const NO_OUTAGE: Outage = { failures: 0, until_ms: 0 };

/** The state after one more failure. Failures of mails that were on their way together count once. */
export function prolong(
  outage: Outage,
  now_ms: number,
  { first_ms, last_ms }: { first_ms: number; last_ms: number },
): Outage {
  if (now_ms < outage.until_ms) return outage;
  const wait_ms = Math.min(first_ms * 2 ** Math.min(outage.failures, 30), last_ms);
  return { failures: outage.failures + 1, until_ms: now_ms + wait_ms };
}
