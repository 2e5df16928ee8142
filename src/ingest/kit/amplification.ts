import type { AttributeValue } from "../../events/attributes.ts";
import type { FieldLimits } from "../../events/limits.ts";

/**
 * Limit of events in a request: this many, and one more for each byte sent. Compression makes
 * millions of events out of a few kilobytes, which cost the log far more than the sender.
 */
export const FREE_EVENTS = 100;

/** Returns how many events a request of this size as sent may hold. */
export function maxEvents(sent_bytes: number): number {
  return FREE_EVENTS + sent_bytes;
}

/** Bytes of shared parts that the events of a request may get for each byte sent. */
const SHARED_RATIO = 100;
/** Bytes of shared parts that the events of any request may get: small ones may repeat a lot. */
const FREE_SHARED_BYTES = 1024 * 1024;
/** Size of an attribute besides its name and value, so that empty ones count. */
const ATTRIBUTE_BYTES = 16;

type Attributes = ReadonlyMap<string, AttributeValue | readonly AttributeValue[]>;

/** What several events of a request have in common: as much as one event may carry. */
export type SharedPart = {
  readonly attributes: Attributes;
  readonly tags: readonly string[];
  readonly size_bytes: number;
  /** Whether something was left out. */
  readonly isCut: boolean;
};

const NOTHING: SharedPart = Object.freeze({ attributes: new Map(), tags: [], size_bytes: 0, isCut: false });
const NOTHING_LEFT: SharedPart = Object.freeze({ ...NOTHING, isCut: true });

/**
 * Bounds what the events of a request have in common. Each event gets a copy of it, so that a
 * request of a few kilobytes could otherwise become gigabytes.
 */
export class SharedParts {
  readonly #limits: FieldLimits;
  #left_bytes: number;

  constructor({ sent_bytes, limits }: { readonly sent_bytes: number; readonly limits: FieldLimits }) {
    this.#limits = limits;
    this.#left_bytes = Math.max(FREE_SHARED_BYTES, SHARED_RATIO * sent_bytes);
  }

  /** Creates a part of as many attributes and tags as one event may carry. */
  part(given: Attributes, givenTags: readonly string[] = []): SharedPart {
    if (given.size === 0 && givenTags.length === 0) return NOTHING;
    const limits = this.#limits;
    const attributes = new Map<string, AttributeValue | readonly AttributeValue[]>();
    let size_bytes = 0;
    for (const [name, value] of given) {
      const fitted = fit(value, limits.attributeValue);
      const more_bytes = ATTRIBUTE_BYTES + name.length + lengthOf(fitted);
      if (attributes.size === limits.attributes || size_bytes + more_bytes > 2 * limits.attributesBytes) break;
      attributes.set(name, fitted);
      size_bytes += more_bytes;
    }
    const tags: string[] = [];
    let tagged = 0;
    for (const tag of givenTags) {
      if (tagged + tag.length + 1 > limits.tags) break;
      tags.push(tag);
      tagged += tag.length + 1;
    }
    const isCut = attributes.size < given.size || tags.length < givenTags.length;
    return { attributes, tags, size_bytes: size_bytes + tagged, isCut };
  }

  /** Returns a part for one more event; a cut one without content once the request has used up its share. */
  take(part: SharedPart): SharedPart {
    return this.allows(part.size_bytes) ? part : NOTHING_LEFT;
  }

  /** Counts bytes for one more event. Returns false if the request has used up its share. */
  allows(size_bytes: number): boolean {
    if (size_bytes > this.#left_bytes) return false;
    this.#left_bytes -= size_bytes;
    return true;
  }
}

/** Cuts a text to about what an attribute may hold; the rest is cut by the exact limits. */
function fit(
  value: AttributeValue | readonly AttributeValue[],
  limit: number,
): AttributeValue | readonly AttributeValue[] {
  // A character has at most two units. The exact limits mark the event if they cut the rest.
  return typeof value === "string" && value.length > 2 * limit + 1 ? value.slice(0, 2 * limit + 1) : value;
}

function lengthOf(value: AttributeValue | readonly AttributeValue[]): number {
  if (typeof value === "string") return value.length;
  return Array.isArray(value) ? value.reduce<number>((sum, one) => sum + 8 + String(one).length, 0) : 8;
}
