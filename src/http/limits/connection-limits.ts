import type { SheddingLimits } from "./connections.ts";

/** Limits for the connections of a listener. */
export type ConnectionLimits = SheddingLimits & {
  /** Maximum number of headers of a request. */
  readonly headers: number;
  readonly headersSize_bytes: number;
  readonly headersTimeout_ms: number;
  /** Longest time a whole request with its body may take to arrive. */
  readonly requestTimeout_ms: number;
  /** Longest time a connection may be idle between two requests. */
  readonly keepAlive_ms: number;
  /**
   * Longest silence on a connection while the client sends or reads. Not while a request that has
   * arrived is handled: its client would repeat what may already be stored.
   */
  readonly stalled_ms: number;
  /** How long requests in flight may continue when the listener closes. */
  readonly drain_ms: number;
};

export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = Object.freeze({
  connections: 10_000,
  descriptors: Number.POSITIVE_INFINITY,
  unread_bytes: 256 * 1024 * 1024,
  slow_ms: 30_000,
  headers: 100,
  // A query has at most 4,096 characters, each of up to nine bytes in a URL.
  headersSize_bytes: 64 * 1024,
  headersTimeout_ms: 20_000,
  requestTimeout_ms: 60_000,
  // Longer than the minute after which most proxies close idle connections, so that none sends into
  // a closing one.
  keepAlive_ms: 65_000,
  stalled_ms: 60_000,
  drain_ms: 10_000,
});
