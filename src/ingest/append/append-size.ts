/**
 * Bounds of one append. They are large enough to be cheap per event, and small enough that
 * concurrent appends never fill the bus's own queue, which would refuse the second one.
 */
const APPEND_MAX_EVENTS = 2_000;
const APPEND_MAX_BYTES = 8 * 1024 * 1024;

/** Returns how many queued posts share the next append: at least one, whatever its size. */
export function countForAppend(
  queue: readonly { readonly lines: { readonly length: number }; readonly size_bytes: number }[],
): number {
  let events = 0;
  let taken_bytes = 0;
  for (const [i, { lines, size_bytes }] of queue.entries()) {
    events += lines.length;
    taken_bytes += size_bytes;
    if (i > 0 && (events > APPEND_MAX_EVENTS || taken_bytes > APPEND_MAX_BYTES)) return i;
  }
  return queue.length;
}
