import type { Logger } from "pino";

import type { Catalog } from "../../catalog/catalog.ts";
import type { RateLimiter } from "../../ratelimit/rate-limiter.ts";
import type { GuessLimiter } from "../../auth/requests/guess-limiter.ts";
import type { IngestMemory } from "../kit/ingest-memory.ts";
import type { StoreOptions } from "../append/store-events.ts";
import type { ListenerTally } from "./tally.ts";

/** State shared by all listeners of a process. */
export type ListenerContext = StoreOptions & {
  readonly catalog: Catalog;
  readonly limiter: RateLimiter;
  readonly guesses: GuessLimiter;
  /** Memory of frames and events that are received and not yet stored, across all sockets. */
  readonly memory: IngestMemory;
  readonly log: Logger;
  readonly limits: StoreOptions["limits"];
  /** Returns the counts of a listener by its name in metrics. */
  readonly tallyOf: (listener: string) => ListenerTally;
  /** Connection limit per listener, and the descriptor from which connections are evicted. */
  readonly connections: { readonly connections: number; readonly descriptors: number };
  /** Rate limit of datagrams per second from one address. */
  readonly datagrams_s: number;
  /** Aborts waits for the bus when the service has to stop. */
  readonly abandoned: AbortSignal;
};

/** A listening socket. */
export type Listening = {
  readonly host: string;
  readonly port: number;
  /** Stops accepting, stores what was read, and closes. */
  close(): Promise<void>;
};
