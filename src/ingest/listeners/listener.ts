import type { Logger } from "pino";

import type { Catalog } from "../../catalog/catalog.ts";
import type { RateLimiter } from "../../ratelimit/rate-limiter.ts";
import type { BodyRoom } from "../protocols/room.ts";
import type { StoreOptions } from "../protocols/store.ts";
import type { ListenerName, ListenerTally } from "./tally.ts";

/** What all listeners of a process share. */
export type ListenerContext = StoreOptions & {
  readonly catalog: Catalog;
  readonly limiter: RateLimiter;
  /** Memory of what is read and not yet stored, for all sockets together. */
  readonly room: BodyRoom;
  readonly log: Logger;
  readonly limits: StoreOptions["limits"];
  readonly tallyOf: (listener: ListenerName) => ListenerTally;
  /** Connections of one listener, and the descriptor from which on the process is short of them. */
  readonly connections: { readonly connections: number; readonly descriptors: number };
  /** Datagrams a second from one address. */
  readonly datagrams_s: number;
  /** Aborts what still waits for the bus when the service has to end. */
  readonly abandoned: AbortSignal;
};

/** A socket that listens. */
export type Listening = {
  readonly host: string;
  readonly port: number;
  /** Takes no more, stores what was read, and closes. */
  close(): Promise<void>;
};
