import { createSteadyClock } from "./clock.ts";

/**
 * An event's id: 24 lower-case hex digits that sort, as text, by the time of acceptance.
 *
 *     8 digits  second of acceptance since the Unix epoch
 *     3 digits  millisecond within that second
 *     5 digits  counter within that millisecond
 *     8 digits  the process that accepted it, drawn at random when it started
 *
 * The first 16 digits are unique within one process and fit an unsigned 64-bit integer.
 */
export type EventId = string & { readonly brand: "EventId" };

const EVENT_ID = /^[0-9a-f]{24}$/;
const COUNTER_LIMIT = 0x100000;
/** Clocks that differ by no more than this count as equal. */
const CLOCK_TOLERANCE_MS = 1_000;

/** Parses an id in lower or upper case. Returns null if `text` is not 24 hex digits. */
export function parseEventId(text: string): EventId | null {
  const id = text.toLowerCase();
  return isEventId(id) ? id : null;
}

/** Whether `text` is an id in the form in which ids are assigned: in lower case. */
export function isEventId(text: string): text is EventId {
  return EVENT_ID.test(text);
}

/** Returns the acceptance time that an id carries, in milliseconds since the Unix epoch. */
export function acceptedAt(id: EventId): number {
  // A foreign id may carry more than 999 ms. Clamping keeps ids and times in the same order.
  return parseInt(id.slice(0, 8), 16) * 1000 + Math.min(parseInt(id.slice(8, 11), 16), 999);
}

/** Returns the smallest id that can be assigned at `ms` (milliseconds since the Unix epoch). */
export function firstIdAt(ms: number): EventId {
  return (hex(Math.floor(ms / 1000), 8) + hex(ms % 1000, 3) + "0".repeat(13)) as EventId;
}

/**
 * Assigns the next id and its time. With `count` (below a million) it assigns that many ids of one
 * millisecond and returns the first; {@link nthId} returns the others.
 */
export type IdSource = (count?: number) => { readonly id: EventId; readonly created: number };

/** Returns the `n`-th id (from 0) of a group assigned in one call, given the first. */
export function nthId(first: EventId, n: number): EventId {
  return n === 0 ? first : idsFrom(first)(n);
}

/** Returns a function from `n` to the `n`-th id of a group, given the first. */
export function idsFrom(first: EventId): (n: number) => EventId {
  const [moment, process] = [first.slice(0, 11), first.slice(16)];
  const counter = parseInt(first.slice(11, 16), 16);
  return (n) => (moment + hex(counter + n, 5) + process) as EventId;
}

/**
 * Creates a source of strictly rising ids for the life of the process, even if the clock is set
 * back: the default clock never goes back, and while a clock passed as `now` is behind, ids
 * continue at its latest time.
 *
 * @param options.host the host's clock. `created` is its time if that differs from the time in
 *   the id, which can never go back
 */
export function createIdSource({
  now = createSteadyClock(),
  host,
}: { now?: () => number; host?: () => number } = {}): IdSource {
  const process = hex(crypto.getRandomValues(new Uint32Array(1))[0]!, 8);
  let last_ms = 0;
  let counter = 0;
  let prefix = "";
  let prefix_ms = -1;
  return (count = 1) => {
    const now_ms = now();
    if (now_ms > last_ms) {
      last_ms = now_ms;
      counter = 0;
    } else if (counter + count > COUNTER_LIMIT) {
      last_ms += 1;
      counter = 0;
    }
    if (prefix_ms !== last_ms) {
      prefix = hex(Math.floor(last_ms / 1000), 8) + hex(last_ms % 1000, 3);
      prefix_ms = last_ms;
    }
    const id = prefix + hex(counter, 5) + process;
    counter += count;
    const host_ms = host === undefined ? last_ms : host();
    return { id: id as EventId, created: Math.abs(host_ms - last_ms) > CLOCK_TOLERANCE_MS ? host_ms : last_ms };
  };
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}
