import { DEFAULT_LIMITS } from "../../src/events/limits.ts";
import type { Received } from "../../src/ingest/kit/endpoint.ts";

/** Returns a request as decoders receive it, uncompressed and without options unless given. */
export function receivedOf(body: Buffer | string, more: Partial<Omit<Received, "body">> = {}): Received {
  const bytes = Buffer.from(body);
  return {
    body: bytes,
    sent_bytes: bytes.length,
    limits: DEFAULT_LIMITS,
    headers: {},
    query: new URLSearchParams(),
    choice: { text: [], time: [], source: [], tags: [] },
    hook: null,
    ...more,
  };
}
