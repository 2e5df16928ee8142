import type { AcceptedEvent } from "../src/events/event.ts";
import { KEYWORD_FIELDS } from "../src/events/keywords.ts";
import type { Visit } from "../src/events/visit.ts";

/**
 * Splits a list, in order, into chunks of at most `max` items and `maxBytes`. An item larger than
 * that gets a chunk of its own. An empty list has no chunks.
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

/** Approximate size of an event without its texts. */
const EVENT_BYTES = 300;

/** Approximate size of a deletion. */
export const DELETION_BYTES = 200;

/** Estimates the size of an event in memory and on the wire: UTF-16 units plus a constant. */
export function eventSize_bytes(event: AcceptedEvent): number {
  let units = event.text.length + (event.data?.length ?? 0) + (event.attributes?.length ?? 0);
  for (const name of KEYWORD_FIELDS) units += event[name].length;
  for (const tag of event.tags) units += tag.length;
  return EVENT_BYTES + units;
}

/** Estimates the size of a visit in the same way. */
export function visitSize_bytes({ user, email, page }: Visit): number {
  return EVENT_BYTES + user.length + email.length + page.length;
}
