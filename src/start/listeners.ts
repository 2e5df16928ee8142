import type { Logger } from "pino";

import type { Catalog } from "../catalog/catalog.ts";
import { StartError } from "../errors.ts";
import type { PostClock } from "../events/clock.ts";
import type { LogKey } from "../events/event.ts";
import type { RateLimiter } from "../ratelimit/rate-limiter.ts";
import type { GuessLimiter } from "../auth/requests/guess-limiter.ts";
import type { ConnectionLimits } from "../http/limits/connection-limits.ts";
import type { ListenerContext } from "../ingest/listeners/listener.ts";
import type { SocketProtocol } from "../ingest/listeners/socket-protocol.ts";
import { PROTOCOLS } from "../ingest/protocols/list.ts";
import { RecentIds } from "../ingest/append/recent-ids.ts";
import type { Metrics } from "../monitoring/metrics.ts";
import type { IngestMemory } from "../ingest/kit/ingest-memory.ts";
import type { WriteCoalescer } from "../ingest/append/write-coalescer.ts";
import type { Idempotency } from "../ingest/idempotency/idempotency.ts";
import type { Settings } from "../settings.ts";
import type { ListenerSettings, SocketSettings, Transport } from "../settings/listeners.ts";
import type { Address } from "../settings/values.ts";

export type ListenersOptions = {
  readonly catalog: Catalog;
  readonly coalescer: WriteCoalescer;
  readonly idempotency: Idempotency;
  readonly clock: PostClock;
  readonly limiter: RateLimiter;
  readonly guesses: GuessLimiter;
  readonly memory: IngestMemory;
  readonly metrics: Pick<Metrics, "listener" | "posts">;
  /** Limits for all listeners together. */
  readonly connections: ConnectionLimits;
  readonly log: Logger;
};

/** Address of a listener. */
export type ListenerAddress = Address & {
  /** Name of its protocol. */
  readonly protocol: string;
  readonly transport: Transport;
};

/** Longest wait at shutdown for received events to be stored on the bus. */
const CLOSE_MS = 5_000;
const CONNECTIONS = 1_000;

/** Returns the connection limit of all listeners of these settings together. */
export function maxConnections({ listeners }: Settings): number {
  return CONNECTIONS * streamsOf(listeners);
}

function streamsOf(listeners: ListenerSettings): number {
  return Object.values(listeners)
    .flat()
    .filter(({ transport }) => transport === "tcp").length;
}

/** Opens the listeners of other protocols. @throws StartError if one cannot listen */
export async function startListeners(
  { listeners, limits, rates }: Settings,
  options: ListenersOptions,
  closing: AsyncDisposableStack,
): Promise<readonly ListenerAddress[]> {
  requireLogs(listeners, options.catalog);
  const ending = new AbortController();
  const { connections, metrics, ...shared } = options;
  const context: ListenerContext = {
    ...shared,
    limits,
    recent: new RecentIds(),
    tallyOf: metrics.listener,
    onTimes: (counts) => metrics.posts.times?.(counts),
    connections: {
      connections: Math.floor(connections.connections / Math.max(1, streamsOf(listeners))),
      descriptors: connections.descriptors,
    },
    datagrams_s: rates.address,
    abandoned: ending.signal,
  };
  const opened: ListenerAddress[] = [];
  for (const { name, protocol, sockets } of protocolSockets(listeners)) {
    for (const socket of sockets) {
      const listening = await protocol.listen(socket, context);
      closing.defer(() => closeWithTimeout(listening, ending));
      opened.push({ protocol: name, transport: socket.transport, host: listening.host, port: listening.port });
    }
  }
  return opened;
}

async function closeWithTimeout(listening: { close(): Promise<void> }, ending: AbortController): Promise<void> {
  const timer = setTimeout(() => ending.abort(), CLOSE_MS);
  await listening.close();
  clearTimeout(timer);
}

/**
 * Checks the logs of all routes. It is done once, as logs are never deleted.
 * @param coming log that is about to be created
 * @throws StartError if one is missing
 */
export function requireLogs(listeners: ListenerSettings, catalog: Pick<Catalog, "log">, coming?: LogKey): void {
  for (const { protocol, sockets } of protocolSockets(listeners)) {
    const logs = sockets.flatMap(({ routes }) => routes.map(({ log }) => log));
    const missing = logs.find((log) => log !== null && log !== coming && catalog.log(log) === null);
    if (missing === undefined) continue;
    const { name } = protocol.setting;
    throw new StartError(`${name} names the log ${missing}, which does not exist: create it before you set this`);
  }
}

/** The sockets of one protocol. */
type ProtocolSockets = {
  readonly name: string;
  readonly protocol: SocketProtocol;
  readonly sockets: readonly SocketSettings[];
};

/** Returns the sockets of all protocols. */
export function protocolSockets(listeners: ListenerSettings): readonly ProtocolSockets[] {
  return PROTOCOLS.flatMap(({ name, sockets: protocol }) =>
    protocol === undefined ? [] : [{ name, protocol, sockets: listeners[name] ?? [] }],
  );
}
