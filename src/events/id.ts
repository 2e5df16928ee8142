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
/** Clocks that differ by no more show the same time. */
const SAME_MS = 1_000;

/** The id that `text` spells (in lower or upper case), or null where it is not 24 hex digits. */
export function parseEventId(text: string): EventId | null {
  const id = text.toLowerCase();
  return isEventId(id) ? id : null;
}

/** Whether `text` is an id as they are given, in lower case. */
export function isEventId(text: string): text is EventId {
  return EVENT_ID.test(text);
}

/** The moment of acceptance that an id carries, in milliseconds since the Unix epoch. */
export function acceptedAt(id: EventId): number {
  // An id of a stranger's making may carry more than 999 ms; clamping keeps the order of ids and of times the same.
  return parseInt(id.slice(0, 8), 16) * 1000 + Math.min(parseInt(id.slice(8, 11), 16), 999);
}

/** The smallest id that acceptance at `ms` (milliseconds since the Unix epoch) can give. */
export function firstIdAt(ms: number): EventId {
  return (hex(Math.floor(ms / 1000), 8) + hex(ms % 1000, 3) + "0".repeat(13)) as EventId;
}

/**
 * Gives the next id and its moment, or with `count` (below a million) the first of so many ids of
 * one moment: {@link nthId} tells the others.
 */
export type IdSource = (count?: number) => { readonly id: EventId; readonly created: number };

/** The `n`-th id (from 0) of those that were given at once, of which `first` is the first. */
export function nthId(first: EventId, n: number): EventId {
  return n === 0 ? first : idsFrom(first)(n);
}

/** The same of many of them: gives the one at each place from 0 on. */
export function idsFrom(first: EventId): (n: number) => EventId {
  const [moment, process] = [first.slice(0, 11), first.slice(16)];
  const counter = parseInt(first.slice(11, 16), 16);
  return (n) => (moment + hex(counter + n, 5) + process) as EventId;
}

/**
 * A source of ids that rise strictly for the life of the process, also where the clock is set back:
 * its own runs on then, and a clock that was given by `now` is waited for, at the last moment it
 * told.
 *
 * @param options.host the host's clock: `created` is what it shows where ids are of another moment,
 *   since ids can never go back
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
    return { id: id as EventId, created: Math.abs(host_ms - last_ms) > SAME_MS ? host_ms : last_ms };
  };
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}
