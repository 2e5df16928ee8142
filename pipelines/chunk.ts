import type { AcceptedEvent } from "../src/events/event.ts";
import type { Visit } from "../src/events/visit.ts";

/**
 * Cuts a list into runs of at most `max` items and `maxBytes` (one larger item stands alone), in
 * order. Nothing gives no run.
 */
export function chunk<T>(
  items: readonly T[],
  { max, maxBytes, sizeOf }: { max: number; maxBytes: number; sizeOf: (item: T) => number },
): T[][] {
  const chunks: T[][] = [];
  let current: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (current.length > 0 && (current.length >= max || bytes + size > maxBytes)) {
      chunks.push(current);
      current = [];
      bytes = 0;
    }
    current.push(item);
    bytes += size;
  }
  if (current.length > 0) chunks.push(current);
  return chunks;
}

/** What an event without its texts takes, near enough. */
const EVENT_BYTES = 300;

/** What a deletion takes. */
export const DELETION_BYTES = 200;

/** About what an event takes in memory and on the way to a store: its strings in UTF-16 units, and a fixed part. */
export function eventSize_bytes({ text, link, source, user, tags, data }: AcceptedEvent): number {
  let units = text.length + link.length + source.length + user.length + (data?.length ?? 0);
  for (const tag of tags) units += tag.length;
  return EVENT_BYTES + units;
}

/** The same of a visit. */
export function visitSize_bytes({ user, email, page }: Visit): number {
  return EVENT_BYTES + user.length + email.length + page.length;
}
