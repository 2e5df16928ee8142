import type { EventId } from "./id.ts";
import type { Keywords } from "./keywords.ts";

/** The key of a log, checked and in lower case. Only {@link parseLogKey} makes one from text. */
export type LogKey = string & { readonly brand: "LogKey" };

/**
 * The opaque, permanent id of an account: 16 lower-case hex digits. `bookmarks` and `alerts` of an
 * event contain it.
 */
export type UserId = string & { readonly brand: "UserId" };

/**
 * Where an event happened, in degrees (WGS 84). `ip` is used if no GeoIP database could locate the
 * address.
 */
export type Geo = { readonly lat: number; readonly lon: number } | { readonly ip: string };

/**
 * An accepted event: the validated post with the `id` and time assigned by the service. Absent
 * texts are "", absent `value`, `geo` and `data` are null.
 */
export type AcceptedEvent = Keywords & {
  readonly id: EventId;
  readonly log: LogKey;
  /** Milliseconds since the Unix epoch, UTC. */
  readonly created: number;
  readonly text: string;
  /** Tags contain no white space. */
  readonly tags: readonly string[];
  readonly value: number | null;
  readonly geo: Geo | null;
  readonly data: string | null;
  /** The producer's own fields, as `encodeAttributes` writes them; null if there are none. */
  readonly attributes: string | null;
};

/** An event as the pipeline writes it to the store. */
export type StoredEvent = AcceptedEvent & {
  /** See `pattern.ts`. */
  readonly pattern: string;
  /** The key of the class filter that matched with the highest weight. */
  readonly class: string | null;
};

/** A validated post, before acceptance. */
export type PostedEvent = Omit<AcceptedEvent, "id" | "log" | "created">;

/** An event as the store lists it, with a flag in place of `data`. */
export type EventRow = Omit<StoredEvent, "data"> & {
  /** See {@link hashText}. */
  readonly hash: string;
  readonly data: boolean;
};

const LOG_KEY = /^[a-z0-9][a-z0-9-]{0,62}$/;
const RESERVED_LOG_KEYS: ReadonlySet<string> = new Set(["bookmarks", "alerts", "classfilters"]);

/**
 * Parses a log key, in lower case. Returns null if it is invalid or reserved for a path of the API.
 */
export function parseLogKey(text: string): LogKey | null {
  const key = text.toLowerCase();
  return LOG_KEY.test(key) && !RESERVED_LOG_KEYS.has(key) ? (key as LogKey) : null;
}
