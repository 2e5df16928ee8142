import type { EventId } from "./id.ts";

/** The key of a log, checked and in lower case. Only {@link parseLogKey} makes one from text. */
export type LogKey = string & { readonly brand: "LogKey" };

/**
 * The opaque, permanent id of an account: 16 lower-case hex digits. It is what `bookmarks` and
 * `alerts` of an event hold.
 */
export type UserId = string & { readonly brand: "UserId" };

/** Where an event happened. `ip` stands alone where no GeoIP database could place the address. Degrees, WGS 84. */
export type Geo = { readonly lat: number; readonly lon: number } | { readonly ip: string };

/**
 * An event as acceptance made it: what the producer posted, checked, with the `id` and the moment
 * that the service gave it. Absent texts are "", absent `value`, `geo` and `data` are null.
 */
export type AcceptedEvent = {
  readonly id: EventId;
  readonly log: LogKey;
  /** Milliseconds since the Unix epoch, UTC. */
  readonly created: number;
  readonly text: string;
  readonly link: string;
  /** None holds white space. */
  readonly tags: readonly string[];
  readonly source: string;
  readonly user: string;
  readonly value: number | null;
  readonly geo: Geo | null;
  readonly data: string | null;
  /** Fields of the producer's own, as `encodeAttributes` writes them; null where there are none. */
  readonly attributes: string | null;
};

/** An event as the pipeline hands it to the store. */
export type StoredEvent = AcceptedEvent & {
  /** See `pattern.ts`. */
  readonly pattern: string;
  /** The key of the class filter that matched with the highest weight. */
  readonly class: string | null;
};

/** An event as the store lists it: of `data` only whether there is any. */
export type EventRow = Omit<StoredEvent, "data"> & {
  /** See {@link hashText}. */
  readonly hash: string;
  readonly data: boolean;
};

const LOG_KEY = /^[a-z0-9][a-z0-9-]{0,62}$/;
const RESERVED_LOG_KEYS: ReadonlySet<string> = new Set(["bookmarks", "alerts", "classfilters"]);

/** The log key that `text` spells, in lower case, or null where it is none or is reserved for a path of the API. */
export function parseLogKey(text: string): LogKey | null {
  const key = text.toLowerCase();
  return LOG_KEY.test(key) && !RESERVED_LOG_KEYS.has(key) ? (key as LogKey) : null;
}
